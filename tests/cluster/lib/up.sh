# Up, down and what lies between: the cluster as a whole. Sourced by ../cluster.

processes=(containerd etcd kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy coredns)

healthy() {
  local name
  [ "$(cat "$run/up" 2> /dev/null)" = "$family" ] && [ -e "$audit" ] || return 1
  for name in "${processes[@]}"; do started "$name" || return 1; done
  [ "$(kube --request-timeout=5s get node node -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}' 2> /dev/null)" = True ]
}

up() {
  began=$SECONDS
  if healthy; then
    say "already up"
    echo "$kubeconfig"
    return
  fi
  if [ -e "$run" ]; then say "found a broken or stopped cluster: starting afresh"; fi
  down
  ports_free
  say "starting etcd, the control plane, containerd and the kubelet"
  mkdir -p "$run"/{pki,pids,commands,log,cni,etcd,containerd,kubelet}
  network
  certificates
  containerd_up
  control_plane_up
  node_up
  load_image localhost/pause:1
  kube wait --for=condition=Ready node/node --timeout=120s > /dev/null
  pods_first
  await kube -n default get serviceaccount default
  [ -z "${SUDO_UID:-}" ] || chown "$SUDO_UID" "$kubeconfig"
  echo "$family" > "$run/up"
  say "up after $(clock)"
  echo "$kubeconfig"
}

ports_free() {
  local port used
  used=$(ss -Hltn | awk '{sub(/.*:/, "", $4); print $4}')
  for port in 2379 2380 6443 10248 10249 10250 10256 10257 10259; do
    if grep -qx $port <<< "$used"; then fail "port $port is in use: another Kubernetes runs here? Stop it, or name its context in DEMO_CONTEXT"; fi
  done
}

network() {
  # A bridge without ports stands for the node's address, and swallows service and pod addresses that nothing serves.
  ip link del sshload0 2> /dev/null || true
  touch "$run/network"
  ip link add sshload0 type bridge
  ip link set sshload0 up
  local number nft=(ip ip6) length=(32 128)
  for number in "${families[@]}"; do
    ip addr replace "${ips[number]}/${length[number]}" dev sshload0 $([ "$number" = 0 ] || echo nodad)
    ip route replace "${services[number]}" dev sshload0
    ip route replace "${pods[number]}" dev sshload0
    # Pods reach servers outside as this machine would.
    nft -f - << N
table ${nft[number]} sshload
delete table ${nft[number]} sshload
table ${nft[number]} sshload {
  chain postrouting {
    type nat hook postrouting priority srcnat
    ${nft[number]} saddr ${pods[number]} ${nft[number]} daddr != { ${pods[number]}, ${services[number]} } masquerade
  }
}
N
  done
  [ -e /proc/sys/net/bridge ] || modprobe br_netfilter
  sysctl -qw net.ipv4.ip_forward=1 net.bridge.bridge-nf-call-iptables=1
  [ "$family" = ipv4 ] || sysctl -qw net.ipv6.conf.all.forwarding=1 net.bridge.bridge-nf-call-ip6tables=1
}

load() { # OCI archives
  local archive
  for archive; do node_ctr images import --digests=false "$archive" > /dev/null; done
}

load_image() { # from the storage of base images
  local tmp
  tmp=$(mktemp -d)
  cluster_buildah push -q --disable-compression "$1" "oci-archive:$tmp/image.tar:$1"
  load "$tmp/image.tar"
  rm -rf "$tmp"
}

tag() { # NEW OLD: another name for each of our images that has the tag OLD
  local image
  for image in $(node_images | grep "^localhost/.*:$2\$"); do node_ctr images tag --force "$image" "${image%:*}:$1" > /dev/null; done
}

node_images() { node_ctr images ls -q | grep -v '^sha256:' || true; }

down() {
  local node
  for node in "$run"/nodes/*/; do
    [ ! -e "$node" ] || node_clear "$(basename "$node")"
  done
  end TERM daemons
  end KILL containers
  unmount_below "$run/" "$roots/"
  if [ -e "$run/network" ]; then
    local table
    for table in ip ip6; do
      nft delete table $table kube-proxy 2> /dev/null || true
      nft delete table $table sshload 2> /dev/null || true
    done
    ip link del sshload1 2> /dev/null || true # the CNI's bridge
    ip link del sshload0 2> /dev/null || true
  fi
  rm -rf --one-file-system "$run" "$roots"
}

unmount_below() { # FOLDER/...
  local folder
  for folder; do
    awk -v folder="$folder" 'index($2, folder) == 1 {print $2}' /proc/mounts | sort -r | xargs -r -n1 umount -l 2> /dev/null || true
  done
}

clean() {
  if [ -d "$cache/containers" ]; then
    cluster_buildah rm -a > /dev/null 2>&1 || true
    umount -l "$cache/containers/overlay" 2> /dev/null || true
  fi
  rm -rf --one-file-system "$cache" "$run_root"
}
