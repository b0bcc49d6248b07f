# The two images that a registry would serve: the base of the project's images, and the pause container. Sourced by ../cluster.

# Debian trixie from its packages. It takes the place of the image that the Dockerfile names by digest, and never its name.
own_base=localhost/debian:trixie

# The run root lives where a reboot forgets it; one for each cache.
run_root=/run/sshload-cluster/$(cksum <<< "$cache" | cut -d ' ' -f 1)

cluster_buildah() { # chroot isolation needs no more rights than the cluster itself
  BUILDAH_ISOLATION=chroot buildah --root "$cache/containers" --runroot "$run_root" "$@"
}

base_images() {
  local lock
  mkdir -p "$cache"
  exec {lock}> "$cache/base-images.lock" # the images of the project may be built while the cluster starts
  flock "$lock"
  cluster_buildah inspect --type image localhost/pause:1 > /dev/null 2>&1 || pause_image
  cluster_buildah inspect --type image "$own_base" > /dev/null 2>&1 || debian_image
  exec {lock}>&-
}

pause_image() {
  local tmp
  tmp=$(mktemp -d)
  cat > "$tmp/pause.c" << 'C'
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
static void leave(int s) { (void)s; _exit(0); }
static void reap(int s) { (void)s; while (waitpid(-1, 0, WNOHANG) > 0); }
int main(void) { signal(SIGINT, leave); signal(SIGTERM, leave); signal(SIGCHLD, reap); for (;;) pause(); }
C
  gcc -static -O2 -o "$tmp/pause" "$tmp/pause.c"
  printf 'FROM scratch\nCOPY pause /pause\nUSER 65535:65535\nENTRYPOINT ["/pause"]\n' > "$tmp/Containerfile"
  cluster_buildah bud -q -f "$tmp/Containerfile" -t localhost/pause:1 "$tmp" > /dev/null
  rm -rf "$tmp"
}

debian_image() {
  local tmp epoch mirror=''
  epoch=$("$project/scripts/images" epoch)
  began=$SECONDS
  tmp=$(mktemp -d)
  say "making the base image $own_base with debootstrap (about a minute)"
  if grep -qx 'ID=debian' /etc/os-release; then # the mirror that this machine uses
    mirror=$(awk '/^URIs:/{print $2; exit} /^deb /{for (i = 2; i <= NF; i++) if ($i ~ "://") {print $i; exit}}' /etc/apt/sources.list.d/*.sources /etc/apt/sources.list 2> /dev/null || true)
  fi
  # The script named sid is the one that every release of debootstrap knows, and what its trixie is a link to.
  SOURCE_DATE_EPOCH=$epoch debootstrap --variant=minbase --keyring=/usr/share/keyrings/debian-archive-keyring.gpg trixie "$tmp/root" "$mirror" \
    /usr/share/debootstrap/scripts/sid > "$cache/debootstrap.log" 2>&1 || {
    tail -n 5 "$cache/debootstrap.log" >&2
    rm -rf "$tmp"
    fail "debootstrap failed; the whole log is $cache/debootstrap.log"
  }
  slim "$tmp/root"
  tar -C "$tmp/root" --exclude='./dev/*' --sort=name --numeric-owner -cf "$tmp/root.tar" .
  printf 'FROM scratch\nADD root.tar /\nCMD ["bash"]\n' > "$tmp/Containerfile"
  cluster_buildah bud -q --timestamp "$epoch" -f "$tmp/Containerfile" -t "$own_base" "$tmp" > /dev/null
  rm -rf --one-file-system "$tmp"
  say "base image made in $(clock)"
}

slim() { # what Debian's own slim images leave out, now and at every later install, and what is this machine's or this moment's
  local root=$1
  printf 'path-exclude %s\n' '/usr/share/doc/*' '/usr/share/man/*' '/usr/share/locale/*' '/usr/share/info/*' '/usr/share/lintian/*' '/usr/share/groff/*' \
    > "$root/etc/dpkg/dpkg.cfg.d/slim"
  printf 'path-include /usr/share/doc/*/copyright\n' >> "$root/etc/dpkg/dpkg.cfg.d/slim"
  printf 'APT::Install-Recommends "false";\n' > "$root/etc/apt/apt.conf.d/slim"
  find "$root/usr/share/doc" -type f ! -name copyright -delete
  find "$root/usr/share/doc" -type l -delete
  find "$root/usr/share/doc" -mindepth 1 -type d -empty -delete
  rm -rf "$root"/usr/share/{man,locale,info,lintian,groff}/* "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/* "$root"/var/log/* \
    "$root"/var/cache/apt/*.bin "$root"/var/cache/debconf/*-old "$root"/var/cache/ldconfig/aux-cache "$root"/var/lib/dpkg/*-old
  rm -f "$root"/etc/{hostname,resolv.conf}
}
