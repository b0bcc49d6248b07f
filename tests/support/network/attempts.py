"""The table of attempts: hosts that no entry for other hosts may let through, however they are written."""

from sshload_contract.allow_list import AllowedTarget, AllowList


def all_but_explicit(*ports: int) -> AllowList:
    """Return the widest list that names nothing by itself: all names, all addresses."""
    return AllowList(tuple(AllowedTarget(host, ports) for host in ("*", "*.*", "0.0.0.0/0", "::/0")), ())


ATTEMPTS = {
    "loopback": "127.0.0.1",
    "loopback by another address": "127.9.9.9",
    "loopback in two numbers": "127.1",
    "loopback in hexadecimal": "0x7f.1",
    "loopback as one number": "2130706433",
    "loopback as one hexadecimal number": "0x7F000001",
    "loopback in octal": "0177.0.0.1",
    "loopback with a dot at its end": "127.0.0.1.",
    "loopback of IPv6": "::1",
    "loopback in NAT64": "64:ff9b::7f00:1",
    "loopback in 6to4": "2002:7f00:1::",
    "loopback by its name": "localhost",
    "all addresses": "0.0.0.0",  # noqa: S104 - to be refused
    "all addresses as a number": "0",
    "all addresses of IPv6": "::",
    "cloud metadata": "169.254.169.254",
    "cloud metadata as one number": "2852039166",
    "cloud metadata in hexadecimal": "0xa9.0xfe.0xa9fe",
    "cloud metadata in NAT64": "64:ff9b::169.254.169.254",
    "cloud metadata in 6to4": "2002:a9fe:a9fe::1",
    "cloud metadata of IPv6": "fd00:ec2::254",
    "link-local": "169.254.1.1",
    "link-local of IPv6": "fe80::1",
    "multicast": "224.0.0.1",
    "multicast of IPv6": "ff02::1",
    "broadcast": "255.255.255.255",
    "a Service": "kubernetes.default.svc",
    "a Service by its whole name": "kubernetes.default.svc.cluster.local",
    "a Service of a cluster with a domain of its own": "kubernetes.default.svc.example.com",
    "a Service of the same namespace": "kubernetes",
    "a number that is no address": "999.1",
    "too many numbers": "1.2.3.4.5",
    "a name with an empty label": "example..com",
    "brackets": "[::1]",
    "a name that ends in a space": "example.com ",
    "digits of another script": "\uff11\uff12\uff17.0.0.1",
    "a letter that is an ASCII one in lower case": "\u212aubernetes.example.com",
    "nothing": "",
}
"""What is attempted, and how it is written."""

MAPPED_ATTEMPTS = {
    "loopback in IPv6": "::ffff:127.0.0.1",
    "loopback in IPv6, in hexadecimal": "::ffff:7f00:1",
    "loopback in the old form of IPv6": "::127.0.0.1",
    "cloud metadata in IPv6": "::ffff:169.254.169.254",
}
"""The same by addresses that the API takes for no host at all, and a resolver may answer with."""
