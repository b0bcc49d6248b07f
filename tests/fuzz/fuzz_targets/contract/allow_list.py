"""Hosts of specs and entries of the allow-list, as `allow_list` holds the ones against the others.

Input: a host, and after a line end each an entry; a line that begins with `!` denies a range.
Oracle: nothing is raised, neither for what is wrong with an entry nor for a host beside entries that are good. The
widest list that names nothing by itself lets no host through that the C library takes for a reserved address. How a
host's letters are written, and a dot at its end, change nothing. What is looked up is allowed if the host is.
"""

import socket
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, ip_network

from attempts import ATTEMPTS, MAPPED_ATTEMPTS, all_but_explicit
from sshload_contract.addresses import forms, read_address
from sshload_contract.allow_list import (
    RESERVED_RANGES,
    AllowedTarget,
    AllowList,
    DeniedRange,
    closed_networks,
    entry_problem,
    forward_refusal,
    host_refusal,
    lookup_name,
    range_problem,
    reopened_networks,
)

_PORT = 22
_WIDEST = all_but_explicit(_PORT)
_RESERVED = tuple(ip_network(denied.cidr) for denied in RESERVED_RANGES)
_ENTRIES = ("*.example.com", "10.1.*", "192.0.2.0/24", "2001:db8::/32", "git.forge.svc", "0x7f.1", "1?.[a-z]*")


def seeds() -> Iterator[bytes]:
    """Yield every attempt that the unit tests know, beside entries of each kind."""
    entries = "\n".join((*_ENTRIES, "!10.96.0.0/12", "!fd00::/8"))
    for host in (*ATTEMPTS.values(), *MAPPED_ATTEMPTS.values(), "a.example.com", "10.1.2.3", "2001:db8::7"):
        yield f"{host}\n{entries}".encode()


def check(data: bytes) -> None:
    """Hold the host against the entries that are good, and against the widest list."""
    host, *lines = data.decode("utf-8", "replace").split("\n")
    for line in lines:
        assert isinstance(entry_problem(line), str)
        assert isinstance(range_problem(line), str)
    entries = tuple(AllowedTarget(line, (_PORT,)) for line in lines if not entry_problem(line))
    ranges = tuple(DeniedRange(line[1:], "denied") for line in lines if line[:1] == "!" and not range_problem(line[1:]))
    allow_list = AllowList(entries, ranges)
    closed_networks(allow_list, _PORT)
    reopened_networks(allow_list, _PORT)
    forward_refusal(allow_list, host, _PORT, managed=True)
    _assert_spelling_does_not_matter(allow_list, host)
    if not host_refusal(_WIDEST, host, _PORT):
        found = _as_c_reads(host)
        assert found is None or not any(form in network for form in forms(found) for network in _RESERVED)


def _assert_spelling_does_not_matter(allow_list: AllowList, host: str) -> None:
    refused = bool(host_refusal(allow_list, host, _PORT))
    if host.isascii():
        assert bool(host_refusal(allow_list, host.upper(), _PORT)) == refused
    if not refused:
        asked = lookup_name(host)
        assert not host_refusal(allow_list, asked, _PORT)
        assert (read_address(asked) is None) == (read_address(host) is None)


def _as_c_reads(host: str) -> IPv4Address | IPv6Address | None:
    if "\0" in host or not host.isascii():
        return None
    for family, kind in ((socket.AF_INET, IPv4Address), (socket.AF_INET6, IPv6Address)):
        try:
            packed = socket.inet_aton(host) if family is socket.AF_INET else socket.inet_pton(family, host)
        except OSError:
            continue
        return kind(packed)
    return None
