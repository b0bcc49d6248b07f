# Certificates, etcd, kube-apiserver, controller manager and scheduler. Sourced by ../cluster.

certificates() {
  cat > "$run/kubeadm.yaml" << Y
apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
localAPIEndpoint: {advertiseAddress: "$node_ip", bindPort: 6443}
nodeRegistration: {name: node, criSocket: "unix://$run/containerd/containerd.sock"}
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: $kube_version
certificatesDir: $run/pki
controlPlaneEndpoint: 127.0.0.1:6443
networking: {podSubnet: "$(of_families pods ,)", serviceSubnet: "$(of_families services ,)"}
apiServer: {certSANs: [127.0.0.1, localhost, "$node_ip"]}
Y
  kubeadm init phase certs all --config "$run/kubeadm.yaml" > "$run/log/kubeadm" 2>&1
  kubeadm init phase kubeconfig all --config "$run/kubeadm.yaml" --kubeconfig-dir "$run/pki" >> "$run/log/kubeadm" 2>&1
}

audit_log() { # of what pods ask with the tokens of their service accounts; those of kube-system are controllers
  cat > "$run/audit-policy.yaml" << Y
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - {level: None, userGroups: ["system:serviceaccounts:kube-system"]}
  - {level: Metadata, userGroups: ["system:serviceaccounts"]}
  - {level: None}
Y
  touch "$audit"
  [ -z "${SUDO_UID:-}" ] || chown "$SUDO_UID" "$audit"
}

control_plane_up() {
  local pki=$run/pki c args
  start etcd etcd --data-dir "$run/etcd" --unsafe-no-fsync --listen-client-urls https://127.0.0.1:2379 --advertise-client-urls https://127.0.0.1:2379 \
    --listen-peer-urls http://127.0.0.1:2380 --cert-file "$pki/etcd/server.crt" --key-file "$pki/etcd/server.key" --client-cert-auth --trusted-ca-file "$pki/etcd/ca.crt"
  audit_log
  start kube-apiserver kube-apiserver --audit-policy-file="$run/audit-policy.yaml" --audit-log-path="$audit" --audit-log-maxsize=1000 --advertise-address=$node_ip --bind-address=:: --secure-port=6443 --allow-privileged --authorization-mode=Node,RBAC \
    --enable-admission-plugins=NodeRestriction --service-cluster-ip-range="$(of_families services ,)" --service-account-issuer=https://kubernetes.default.svc --shutdown-delay-duration=0s \
    --etcd-servers=https://127.0.0.1:2379 --etcd-cafile="$pki/etcd/ca.crt" --etcd-certfile="$pki/apiserver-etcd-client.crt" --etcd-keyfile="$pki/apiserver-etcd-client.key" \
    --client-ca-file="$pki/ca.crt" --tls-cert-file="$pki/apiserver.crt" --tls-private-key-file="$pki/apiserver.key" \
    --kubelet-client-certificate="$pki/apiserver-kubelet-client.crt" --kubelet-client-key="$pki/apiserver-kubelet-client.key" --kubelet-preferred-address-types=InternalIP \
    --service-account-key-file="$pki/sa.pub" --service-account-signing-key-file="$pki/sa.key" \
    --proxy-client-cert-file="$pki/front-proxy-client.crt" --proxy-client-key-file="$pki/front-proxy-client.key" --requestheader-client-ca-file="$pki/front-proxy-ca.crt" \
    --requestheader-allowed-names=front-proxy-client --requestheader-extra-headers-prefix=X-Remote-Extra- --requestheader-group-headers=X-Remote-Group --requestheader-username-headers=X-Remote-User
  await kubectl --kubeconfig "$pki/super-admin.conf" get --raw /readyz
  kubectl --kubeconfig "$pki/super-admin.conf" create clusterrolebinding kubeadm:cluster-admins --clusterrole=cluster-admin --group=kubeadm:cluster-admins > /dev/null
  kube create clusterrolebinding kubelet-api --clusterrole=system:kubelet-api-admin --user=kube-apiserver-kubelet-client > /dev/null
  for c in controller-manager scheduler; do
    args=(--kubeconfig="$pki/$c.conf" --authentication-kubeconfig="$pki/$c.conf" --authorization-kubeconfig="$pki/$c.conf" --leader-elect=false)
    [ $c = controller-manager ] && args+=(--root-ca-file="$pki/ca.crt" --service-account-private-key-file="$pki/sa.key" --use-service-account-credentials
      --cluster-signing-cert-file="$pki/ca.crt" --cluster-signing-key-file="$pki/ca.key")
    start kube-$c kube-$c "${args[@]}"
  done
}
