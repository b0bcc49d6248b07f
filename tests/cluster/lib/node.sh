# The node: containerd, kubelet, kube-proxy and CoreDNS. Sourced by ../cluster.

containerd_up() {
  cat > "$run/containerd.toml" << T
version = 3
root = "$run/containerd/root"
state = "$roots/node"
[grpc]
  address = "$run/containerd/containerd.sock"
[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = "localhost/pause:1"
[plugins.'io.containerd.cri.v1.runtime']
  # without CAP_SYS_RESOURCE a container cannot lower its oom score: runc would die with "can't get final child's PID"
  restrict_oom_score_adj = true
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = ["/usr/lib/cni"]
    conf_dir = "$run/cni"
T
  cat > "$run/cni/10-bridge.conflist" << C
{"cniVersion": "1.0.0", "name": "sshload", "plugins": [
  {"type": "bridge", "bridge": "sshload1", "isGateway": true, "hairpinMode": true,
   "ipam": {"type": "host-local", "ranges": [[{"subnet": "$(of_families node_pods '"}], [{"subnet": "')"}]], "routes": [{"dst": "$(of_families any '"}, {"dst": "')"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
C
  start containerd containerd -c "$run/containerd.toml"
}

node_up() {
  cat > "$run/kubelet.yaml" << K
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $run/pki/ca.crt}}
authorization: {mode: Webhook}
cgroupDriver: cgroupfs
failCgroupV1: false
failSwapOn: false
containerRuntimeEndpoint: unix://$run/containerd/containerd.sock
clusterDNS: ["$node_ip"]
clusterDomain: cluster.local
resolvConf: /dev/null
evictionHard: {memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%}
imageGCHighThresholdPercent: 100
K
  cat > "$run/kube-proxy.yaml" << K
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
clientConnection: {kubeconfig: $run/pki/admin.conf}
clusterCIDR: "$(of_families pods ,)"
mode: nftables
hostnameOverride: node
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
K
  cat > "$run/Corefile" << D
cluster.local in-addr.arpa ip6.arpa {
  bind $node_ip
  errors
  kubernetes cluster.local in-addr.arpa ip6.arpa {
    kubeconfig $run/pki/admin.conf
  }
}
D
  if grep -q '^nameserver' /etc/resolv.conf; then # names of servers outside, for tests of one's own
    printf '. {\n  bind %s\n  errors\n  forward . /etc/resolv.conf\n}\n' "$node_ip" >> "$run/Corefile"
  fi
  await ctr -a "$run/containerd/containerd.sock" version
  start kubelet kubelet --config="$run/kubelet.yaml" --kubeconfig="$run/pki/kubelet.conf" --hostname-override=node --node-ip="$(of_families ips ,)" --root-dir="$run/kubelet" --cert-dir="$run/kubelet-pki"
  start kube-proxy kube-proxy --config="$run/kube-proxy.yaml"
  start coredns coredns -conf "$run/Corefile"
  await kube get node node
}

pods_first() { # They measure: CPU goes to them (and to the daemons, see start) before what else runs here, as on a node of its own.
  local cgroups=/sys/fs/cgroup
  if [ -e $cgroups/cpu/kubepods/cpu.shares ]; then
    echo 16384 > $cgroups/cpu/kubepods/cpu.shares
  elif [ -e $cgroups/kubepods/cpu.weight ]; then
    echo 1600 > $cgroups/kubepods/cpu.weight
  fi
}
