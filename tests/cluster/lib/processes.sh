# Starting the cluster's processes, telling them from everybody else's, and ending them. Sourced by ../cluster.

start() { # NAME COMMAND...: in a session of its own, so that it outlives this shell
  local name=$1
  shift
  printf '%s\0' "$@" > "$run/commands/$name"
  # Go's collector takes a third of an API server's CPU otherwise, and memory is not what a cluster of one node lacks.
  # shellcheck disable=SC2016  # for the inner shell
  GOGC=${GOGC:-400} setsid sh -c '{ echo -10 > /proc/self/autogroup; } 2> /dev/null; exec "$@"' first "$@" >> "$run/log/$name" 2>&1 < /dev/null 9>&- &
  echo $! > "$run/pids/$name"
}

started() { # NAME: still the process that we started under it
  local pid
  pid=$(cat "$run/pids/$1" 2> /dev/null) && [ "$(readlink "/proc/$pid/exe")" = "$bin/$1" ]
}

start_again() { # NAME: by the command it was started with
  local command
  [ -z "$(pid_of "$1")" ] || fail "$1 runs already"
  [ -e "$run/commands/$1" ] || fail "no process of this cluster is named $1. There are:" "$run"/commands/*
  mapfile -d '' command < "$run/commands/$1"
  start "$1" "${command[@]}"
}

pid_of() { # NAME: of the process that was started under it, if it runs
  local pid
  pid=$(cat "$run/pids/$1" 2> /dev/null) || return 0
  if [[ $(readlink "/proc/$pid/exe") == "$bin"/* ]]; then echo "$pid"; fi
}

send() { # SIGNAL NAME
  local pid
  pid=$(pid_of "$2")
  [ -n "$pid" ] || fail "$2 does not run"
  kill "-$1" "$pid"
  [ "$1" != KILL ] || while [ -e "/proc/$pid/exe" ]; do sleep 0.05; done
}

ours() { # PROGRAM...: told by both the file that a process runs and a path of this cluster, or of $paths, among its arguments
  local name exe
  for exe in $(find /proc/[0-9]*/exe -maxdepth 0 -lname "$bin/*" -printf '%p:%l\n' 2> /dev/null || true); do
    for name; do
      if [ "${exe#*:}" = "$bin/$name" ] && tr '\0' '\n' < "${exe%/exe:*}/cmdline" 2> /dev/null | grep -qF "${paths:-$run/}"; then
        basename "${exe%/exe:*}"
      fi
    done
  done
}

daemons() { ours "${processes[@]}"; }

containers() { # the shims, and whatever has a layer of our containerd for its root
  ours containerd-shim-runc-v2
  awk -v run="$run/" '$5 == "/" && index($0, "upperdir=" run) {split(FILENAME, part, "/"); print part[3]}' /proc/[0-9]*/mountinfo 2> /dev/null || true
}

end() { # SIGNAL LISTING: end what the listing names, by SIGKILL if it takes more than 10 s, and wait until it is gone
  local signal=$1 pids i
  for i in $(seq 150); do
    pids=$("$2")
    [ -n "$pids" ] || return 0
    [ "$i" -ne 100 ] || signal=KILL
    # shellcheck disable=SC2086  # one argument per process
    [ $((i % 50)) -ne 1 ] && [ "$i" -ne 100 ] || kill "-$signal" $pids 2> /dev/null || true
    sleep 0.1
  done
  fail "these processes would not end: $pids"
}

await() { # COMMAND...: until it succeeds, two minutes at most
  local end=$((SECONDS + 120))
  until "$@" > /dev/null 2>&1; do
    if [ $SECONDS -ge $end ]; then
      tail -n 5 "$run"/log/* >&2
      fail "gave up waiting for: $*"
    fi
    sleep 0.1
  done
}

kube() { kubectl --kubeconfig "$kubeconfig" "$@"; }
node_ctr() { ctr -a "$run/containerd/containerd.sock" -n k8s.io "$@" 2> >(grep -v 'DEPRECATION: The support for cgroup v1' >&2 || true); }
