# The Debian packages that building and running the cluster takes. Sourced by ../cluster.

packages() {
  "$project/scripts/debian-packages" containernetworking-plugins nftables iproute2 conntrack procps util-linux kmod \
    buildah debootstrap debian-archive-keyring gcc libc6-dev libseccomp-dev pkgconf ca-certificates
}
