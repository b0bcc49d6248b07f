# Compiles the cluster's programs and helm from one Go module, so that what they share is compiled once, runc, which needs C,
# from another, and the oldest API server from a third. Sourced by ../cluster.

build() { # [MODULE...]
  local module modules=("$@")
  [ ${#modules[@]} -gt 0 ] || modules=(programs runc)
  for module in "${modules[@]}"; do [ -e "$here/$module/go.mod" ] || fail "no module $module"; done
  for module in "${modules[@]}"; do
    built "$module" || { build_from_nothing "${modules[@]}"; return; }
  done
}

module_key() { find "$here/$1" \( -name go.mod -o -name go.sum -o -name '*.go' \) -print | LC_ALL=C sort | xargs cat | sha256sum | cut -c1-16; } # what a module is compiled from
built() { [ "$(cat "$bin/.$1" 2> /dev/null)" = "$(module_key "$1")" ]; }

build_from_nothing() {
  local go k=k8s.io/kubernetes/cmd c=github.com/containerd/containerd/v2/cmd module
  local linked="-s -w -X k8s.io/component-base/version.gitVersion"
  go=${GO:-$("$project/scripts/find-go")}
  mkdir -p "$bin"
  began=$SECONDS
  export CGO_ENABLED=0 GOFLAGS=-mod=readonly GOTOOLCHAIN=local
  export GOMODCACHE=${GOMODCACHE:-$cache/go/mod} GOCACHE=${GOCACHE:-$cache/go/build}
  export GOGC=off GOMEMLIMIT=1GiB # the compiler's own garbage collector takes a fifth of its CPU time
  say "compiling once: $* (about 8 minutes on 2 cores for Kubernetes, one for runc)"
  for module; do
    built "$module" && continue
    rm -f "$bin/.$module" # an interrupted build leaves programs of two versions
    case $module in
      programs)
        compile programs -tags no_btrfs,no_zfs,no_devmapper -ldflags "$linked=$kube_version" \
          -- $k/kube-apiserver $k/kube-controller-manager $k/kube-scheduler $k/kubelet $k/kube-proxy $k/kubeadm $k/kubectl \
          go.etcd.io/etcd/server/v3 $c/containerd $c/containerd-shim-runc-v2 $c/ctr ./coredns helm.sh/helm/v4/cmd/helm
        mv "$bin/server" "$bin/etcd" # the name that go makes of .../server/v3
        ;;
      runc) # Debian 12 and 13 have 1.1, which makes no container with volumes in a user namespace (hostUsers: false)
        CGO_ENABLED=1 compile runc -tags seccomp -- github.com/opencontainers/runc
        ;;
      kubernetes-oldest) # the oldest supported release, whose API server alone is tested
        mkdir -p "$bin/oldest"
        out=$bin/oldest/ compile kubernetes-oldest -ldflags "$linked=$oldest_kube_version" -- $k/kube-apiserver
        ;;
    esac
    module_key "$module" > "$bin/.$module"
  done
  if [ "$GOMODCACHE" = "$cache/go/mod" ]; then # gigabytes that nothing needs any more
    chmod -R u+w "$cache/go"
    rm -rf "$cache/go"
  fi
  say "compiled in $(clock)"
}

# Packages in which the servers spend their time. The compiler inlines functions only there, and writes no debugging
# information: both together save it a third of its CPU time.
inlined=(std golang.org/x/... google.golang.org/{grpc,protobuf}/... github.com/{gogo/protobuf,json-iterator,fxamacker/cbor}/... go.etcd.io/...
  k8s.io/{apimachinery,klog}/... sigs.k8s.io/{json,structured-merge-diff}/...)

compile() { # MODULE FLAG... -- PACKAGE...
  local module=$1 flags=(-gcflags 'all=-dwarf=false -l') list package
  for package in "${inlined[@]}"; do flags+=(-gcflags "$package=-dwarf=false"); done
  shift
  while [ "$1" != -- ]; do
    flags+=("$1")
    shift
  done
  shift
  list=$(mktemp)
  (
    cd "$here/$module" || exit
    "$go" list -deps "${flags[@]}" "$@" 2>&1 > "$list" | progress "$module: sources" 0
    "$go" build -v -trimpath "${flags[@]}" -o "${out:-$bin/}" "$@" 2>&1 | progress "$module: packages" "$(wc -l < "$list")"
  )
  rm -f "$list"
}

began=0
clock() { printf '%d:%02d' $(((SECONDS - began) / 60)) $(((SECONDS - began) % 60)); } # since the work at hand began

progress() { # reads what go says; shows how far it is: a live line on a terminal, else a line each 20 s
  local what=$1 total=$2 line count=0 shown=$SECONDS status message=""
  while true; do
    status=0
    IFS= read -r -t 5 line || status=$?
    if [ $status -eq 0 ]; then
      case $line in
        "go: downloading "*) count=$((count + 1)) ;;
        *[[:space:]]*) echo "$line" >&2 ;;
        *) count=$((count + 1)) ;;
      esac
    elif [ $status -le 128 ]; then
      break
    fi
    message="$what $count"
    [ "$total" -eq 0 ] || message+=" of $total"
    if [ -t 2 ]; then
      printf '\r\033[Kcluster: %s, %s' "$message" "$(clock)" >&2
    elif [ $((SECONDS - shown)) -ge 20 ]; then
      shown=$SECONDS
      say "$message, $(clock)"
    fi
  done
  [ ! -t 2 ] || printf '\r\033[K' >&2
  [ $count -eq 0 ] || say "$message, $(clock)"
}
