# Further nodes beside the first: each a containerd, kubelet and kube-proxy in a network namespace, with a veth to this
# machine, cgroups and folders of its own. Sourced by ../cluster.

cgroup_of() { echo "sshload-$1"; }

node_add() { # NAME
  local name=$1 place=$run/nodes/$1 number=1
  [ "$family" = ipv4 ] || fail "further nodes are for clusters of IPv4 only"
  [[ $name =~ ^[a-z][a-z0-9]{0,7}$ && $name != node ]] || fail "a node's name has at most 8 letters and digits, and is not node: $name"
  [ ! -e "$place" ] || fail "there is a node $name already"
  while grep -qsx "$number" "$run"/nodes/*/number; do number=$((number + 1)); done
  mkdir -p "$place"/{cni,containerd,kubelet,logs}
  echo "$number" > "$place/number"
  node_network "$name" "10.201.0.$((number + 1))" "10.244.$number.0/24"
  node_cgroup "$name"
  node_files "$name" "10.244.$number.0/24"
  start "$name-containerd" nsenter "--net=/run/netns/sshload-$name" containerd -c "$place/containerd.toml"
  await ctr -a "$place/containerd/containerd.sock" version
  node_images_to "$place/containerd/containerd.sock"
  start "$name-kubelet" nsenter "--net=/run/netns/sshload-$name" kubelet --config="$place/kubelet.yaml" --kubeconfig="$place/kubelet.conf" \
    --hostname-override="$name" --node-ip="10.201.0.$((number + 1))" --root-dir="$place/kubelet" --cert-dir="$place/kubelet-pki"
  start "$name-kube-proxy" nsenter "--net=/run/netns/sshload-$name" kube-proxy --config="$place/kube-proxy.yaml"
  await kube get node "$name"
  kube wait --for=condition=Ready "node/$name" --timeout=120s > /dev/null
}

node_network() { # NAME ADDRESS PODS: the first node routes to it
  local netns=sshload-$1 link=sshload-$1
  ip netns add "$netns"
  ip link add "$link" type veth peer name eth0 netns "$netns"
  ip link set "$link" up
  ip route replace "$2" dev "$link" src "$node_ip"
  ip route replace "$3" via "$2" dev "$link" onlink
  ip -n "$netns" link set lo up
  ip -n "$netns" addr add "$2/32" dev eth0
  ip -n "$netns" link set eth0 up
  ip -n "$netns" route add "$node_ip" dev eth0
  ip -n "$netns" route add default via "$node_ip" dev eth0 onlink
  nsenter "--net=/run/netns/$netns" sysctl -qw net.ipv4.ip_forward=1 net.bridge.bridge-nf-call-iptables=1
}

node_cgroup() { # NAME: kubelets end the pods of each other where they share one
  local cgroups=/sys/fs/cgroup group hierarchy
  group=$(cgroup_of "$1")
  if [ -e $cgroups/cgroup.controllers ]; then
    mkdir -p "$cgroups/$group"
    return
  fi
  for hierarchy in "$cgroups"/*/; do
    [ -w "$hierarchy/cgroup.procs" ] || continue
    mkdir -p "$hierarchy/$group"
    if [ -e "$hierarchy/cpuset.cpus" ]; then
      cat "$hierarchy/cpuset.cpus" > "$hierarchy/$group/cpuset.cpus"
      cat "$hierarchy/cpuset.mems" > "$hierarchy/$group/cpuset.mems"
    fi
    [ ! -e "$hierarchy/cpu.shares" ] || echo 16384 > "$hierarchy/$group/cpu.shares" # as pods_first
  done
}

node_files() { # NAME PODS: those of the first node, with other paths
  local name=$1 place=$run/nodes/$1
  sed "s|$run/|$place/|g; s|$roots/node|$roots/$name|" "$run/containerd.toml" > "$place/containerd.toml"
  sed "s|${node_pods[0]}|$2|" "$run/cni/10-bridge.conflist" > "$place/cni/10-bridge.conflist"
  sed "s|$run/containerd|$place/containerd|" "$run/kubelet.yaml" > "$place/kubelet.yaml"
  printf 'cgroupRoot: /%s\npodLogsDir: %s\n' "$(cgroup_of "$name")" "$place/logs" >> "$place/kubelet.yaml"
  sed "s|^hostnameOverride: .*|hostnameOverride: $name|" "$run/kube-proxy.yaml" > "$place/kube-proxy.yaml"
  kubeadm init phase kubeconfig kubelet --config <(sed "s|name: node,|name: $name,|" "$run/kubeadm.yaml") --kubeconfig-dir "$place" >> "$run/log/kubeadm" 2>&1
}

node_images_to() { # SOCKET
  local archive
  archive=$(mktemp)
  # shellcheck disable=SC2046  # one argument per image
  node_ctr images export "$archive" $(node_images)
  ctr -a "$1" -n k8s.io images import --digests=false "$archive" > /dev/null 2>&1
  rm "$archive"
}

node_pressure() { # NAME SIGNAL: from now on its kubelet finds too little of that (memory.available, nodefs.available, pid.available)
  local name=$1 place=$run/nodes/$1
  [ -e "$place" ] || fail "there is no node $name"
  sed -i "s|^evictionHard: .*|evictionHard: {$2: 99.99%}|" "$place/kubelet.yaml"
  send KILL "$name-kubelet"
  start_again "$name-kubelet"
}

node_lose() { # NAME: as a machine loses power; the API server is not told
  local name=$1
  [ -e "$run/nodes/$name" ] || fail "there is no node $name"
  ip link del "sshload-$name" 2> /dev/null || true
  place=$run/nodes/$name
  end KILL node_daemons
  end KILL node_containers
}

node_daemons() { paths=$place/ ours containerd kubelet kube-proxy; }

node_containers() {
  paths=$place/ ours containerd-shim-runc-v2
  local group tasks
  group=$(cgroup_of "$(basename "$place")")
  for tasks in /sys/fs/cgroup/{pids,}/"$group"; do
    [ ! -e "$tasks" ] || find "$tasks" -name cgroup.procs -exec cat {} + 2> /dev/null || true
  done
}

node_clear() { # NAME: all that it has on this machine
  node_lose "$1"
  unmount_below "$place/" "$roots/$1/"
  rm -rf --one-file-system "${roots:?}/$1"
  ip netns del "sshload-$1" 2> /dev/null || true
  find /sys/fs/cgroup -depth -path "*/$(cgroup_of "$1")*" -type d -exec rmdir {} + 2> /dev/null || true
  rm -f "$run/pids/$1"-* "$run/commands/$1"-*
  local gone
  gone=$(mktemp -d "$run/gone-XXXXXX")
  mv "$place" "$gone"
  setsid nice rm -rf --one-file-system "$gone" > /dev/null 2>&1 < /dev/null 9>&- & # its images take up to a minute
}

node_remove() { # NAME: with its place in the API
  node_clear "$1"
  kube delete node "$1" --ignore-not-found > /dev/null
}
