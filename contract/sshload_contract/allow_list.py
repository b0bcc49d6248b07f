"""The allow-list: which servers may be load-tested, besides those that the operator deploys itself.

It is checked twice. The operator checks the host in the spec before it creates anything. A worker checks the addresses
to which a name resolves, and connects only to these. The text of a spec alone is not enough: an address has many
spellings, and the owner of a name chooses its addresses.

- An entry with an address or a range allows the addresses in it. An entry with a host pattern allows DNS names.
- An address in a denied range is refused, whether it was given or resolved, unless an entry lists that address or a
  range within the denied one.
- A name of the cluster itself (git, git.forge.svc) is allowed only by a pattern that is such a name too: `*` is not.
- A host that is neither an address nor a DNS name is refused.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from ipaddress import IPv6Network, ip_network
from typing import Annotated

from sshload_contract.addresses import Address, Network, ends_in_number, forms, is_within, read_address
from sshload_contract.declared import Check, Items, Text
from sshload_contract.names import Port

_MAPPED = IPv6Network("::ffff:0:0/96")
_WILDCARDS = frozenset("*?[")
_LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_NAME = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_CHOICE_OF_CHARACTERS = re.compile(r"\[[^\]]*\]")
_NUMBER_OR_WILDCARD = re.compile(r"0x[0-9a-f*?]*|[0-9*?]*")
_DIGIT = re.compile(r"[0-9]")
_LEADING_BYTES = re.compile(r"((?:[0-9]{1,3}\.){1,3})\*(\.\*)*")
_BYTES = 4
_LONGEST_HOST = 253  # of a DNS name (RFC 1035), and no address is as long
_NOT_LISTED = "is not among the external targets that this installation allows"


def _problem_of_entry(host: str) -> str:
    """Return what is wrong with an entry of an installation: one that is wrong would silently allow nothing."""
    problem = entry_problem(host)
    return f"must be a host pattern, an address or a CIDR: {problem}" if problem else ""


@dataclass(frozen=True, slots=True)
class AllowedTarget:
    """An entry: a host pattern (fnmatch), an address, leading bytes (10.1.*) or a CIDR, and the ports allowed there.

    Without ports all are allowed. Only a command line can omit them, for its own user; an installation names the ports.
    """

    host: Annotated[
        str,
        Text(shortest=1, longest=253, pattern=r"[A-Za-z0-9.:*?/_\[\]!-]+", wanted="a host pattern or a CIDR"),
        Check(_problem_of_entry),
    ]
    ports: Annotated[tuple[Port, ...], Items(least=1, most=100, distinct=True)]


@dataclass(frozen=True, slots=True)
class DeniedRange:
    """Addresses that are allowed only if an entry lists them: a CIDR, and what it is, for messages."""

    cidr: str
    what: str


@dataclass(frozen=True, slots=True)
class AllowList:
    """The allowed targets, and the ranges that are denied in addition to RESERVED_RANGES."""

    targets: tuple[AllowedTarget, ...]
    denied: tuple[DeniedRange, ...]


RESERVED_RANGES = (
    DeniedRange("0.0.0.0/8", "unspecified"),
    DeniedRange("127.0.0.0/8", "loopback"),
    DeniedRange("169.254.0.0/16", "link-local"),
    DeniedRange("169.254.169.254/32", "cloud metadata"),
    DeniedRange("100.100.100.200/32", "cloud metadata"),
    DeniedRange("168.63.129.16/32", "cloud metadata"),
    DeniedRange("224.0.0.0/4", "multicast"),
    DeniedRange("240.0.0.0/4", "reserved and broadcast"),
    DeniedRange("::/128", "unspecified"),
    DeniedRange("::1/128", "loopback"),
    DeniedRange("::ffff:0:0:0/96", "IPv4 translated by a network's own router"),
    DeniedRange("64:ff9b:1::/48", "NAT64 of a network's own"),
    DeniedRange("2001::/32", "Teredo"),
    DeniedRange("fd00:ec2::254/128", "cloud metadata"),
    DeniedRange("fd20:ce::254/128", "cloud metadata"),
    DeniedRange("fe80::/10", "link-local"),
    DeniedRange("ff00::/8", "multicast"),
)
"""What every installation denies: addresses of IPv6 that stand for IPv4 are also held against the ranges of IPv4."""


def entry_problem(host: str) -> str:
    """Return what is wrong with the host of an entry, empty if it is valid."""
    try:
        network = _network(host)
    except ValueError as error:
        return str(error)
    return _written_as_ipv6(network) if network is not None else ""


def range_problem(cidr: str) -> str:
    """Return what is wrong with a denied range, empty if it is valid."""
    try:
        return _written_as_ipv6(ip_network(cidr))
    except ValueError as error:
        return str(error)


def host_refusal(allow_list: AllowList, host: str, port: int) -> str:
    """Return why `host`, as it is written, is not allowed: a sentence without its subject, the host; empty if it is."""
    address = read_address(host) if len(host) <= _LONGEST_HOST else None
    if address is not None:
        return _address_not_listed(allow_list, address, port) or address_refusal(allow_list, address, port)
    name = _canonical(host)
    if len(host) > _LONGEST_HOST or not host.isascii() or ends_in_number(name) or _NAME.fullmatch(name) is None:
        return "is neither a DNS name nor an address in a form that all resolvers read alike"
    listed = (_canonical(target.host) for target in _at_port(allow_list, port) if _network(target.host) is None)
    matching = [pattern for pattern in listed if fnmatchcase(name, pattern)]
    if not matching:
        return _NOT_LISTED
    if is_of_the_cluster(name) and not any(is_of_the_cluster(pattern) for pattern in matching):
        return "is a name of the cluster's own, which only an entry for such names allows"
    return ""


def allowed_ports(allow_list: AllowList, host: str) -> tuple[int, ...]:
    """Return the ports of entries at which `host`, as it is written, is allowed."""
    ports = {port for target in allow_list.targets for port in target.ports}
    return tuple(port for port in sorted(ports) if not host_refusal(allow_list, host, port))


def address_refusal(allow_list: AllowList, address: Address, port: int) -> str:
    """Return why `address` is denied under any name: a sentence without its subject; empty if it is not denied."""
    networks = _networks(allow_list, port)
    for denied in (*RESERVED_RANGES, *allow_list.denied):
        network = _range(denied.cidr)
        for form in forms(address):
            if form in network and not any(form in listed and is_within(listed, network) for listed in networks):
                return f"is in {denied.cidr} ({denied.what}), where only an entry for that address or range allows it"
    return ""


def forward_refusal(allow_list: AllowList, host: str, port: int, *, managed: bool) -> str:
    """Return why a server may not be asked to connect to `host`: a sentence without its subject; empty if it may.

    A `managed` server may always be asked to connect to itself.
    """
    return "" if managed and is_loopback(host) else host_refusal(allow_list, host, port)


def is_loopback(host: str) -> bool:
    """Return whether a server that is asked to connect to `host` connects to itself."""
    address = read_address(host)
    return _canonical(host) == "localhost" if address is None else all(form.is_loopback for form in forms(address))


def is_of_the_cluster(name: str) -> bool:
    """Return whether a name, or a pattern of names, is short or that of a Service, for any cluster domain."""
    labels = _canonical(name).split(".")
    if len(labels) == 1:
        return not _WILDCARDS.intersection(name)
    return "svc" in labels[1:] or labels[-2:] == ["cluster", "local"]


def lookup_name(host: str) -> str:
    """Return the name to resolve, so that the answer is for the checked host and no other.

    It is absolute (with a final dot). Otherwise the search list would first try the name below the domains of the
    cluster, where other users can create names. Names of the cluster itself need the search list.
    """
    address = read_address(host)
    if address is not None:
        return str(address)
    name = _canonical(host)
    return name if is_of_the_cluster(name) else f"{name}."


def closed_networks(allow_list: AllowList, port: int) -> tuple[Network, ...]:
    """Return the denied ranges at a port, except those that an entry lists as a whole."""
    ranges = {_range(denied.cidr) for denied in (*RESERVED_RANGES, *allow_list.denied)}
    return tuple(sorted(ranges.difference(_networks(allow_list, port)), key=_order))


def reopened_networks(allow_list: AllowList, port: int) -> tuple[Network, ...]:
    """Return the parts of the closed networks that entries list."""
    closed = closed_networks(allow_list, port)
    listed = {network for network in _networks(allow_list, port) if any(is_within(network, one) for one in closed)}
    return tuple(sorted(listed, key=_order))


def _address_not_listed(allow_list: AllowList, address: Address, port: int) -> str:
    networks = _networks(allow_list, port)
    return "" if any(form in network for form in forms(address) for network in networks) else _NOT_LISTED


def _networks(allow_list: AllowList, port: int) -> tuple[Network, ...]:
    found = (_network(target.host) for target in _at_port(allow_list, port))
    return tuple(network for network in found if network is not None)


def _at_port(allow_list: AllowList, port: int) -> Iterator[AllowedTarget]:
    return (target for target in allow_list.targets if not target.ports or port in target.ports)


@lru_cache(maxsize=2_048)
def _network(host: str) -> Network | None:
    """Return the addresses that an entry lists, None for a pattern of names; raises ValueError for anything else."""
    if len(host) > _LONGEST_HOST:
        raise ValueError(f"is longer than {_LONGEST_HOST} characters, and no name or address is")
    if "/" in host:
        return ip_network(host)
    address = read_address(host)
    if address is not None:
        return ip_network(address)
    leading = _LEADING_BYTES.fullmatch(host)
    if leading is not None:
        numbers = leading[1].removesuffix(".").split(".")
        whole = numbers + ["0"] * (_BYTES - len(numbers))
        return ip_network(f"{'.'.join(whole)}/{8 * len(numbers)}")
    if ":" in host or _is_made_of_numbers(host.lower()):
        raise ValueError(f"{host!r} is neither an address nor a CIDR, nor leading bytes of addresses such as 10.1.*")
    return None


def _is_made_of_numbers(pattern: str) -> bool:
    """Return whether a pattern is for addresses: all its labels are numbers or wildcards, or it ends in a number."""
    plain = _CHOICE_OF_CHARACTERS.sub("", pattern)
    numbers = all(_NUMBER_OR_WILDCARD.fullmatch(label) for label in plain.split("."))
    return ends_in_number(pattern) or (numbers and _DIGIT.search(plain) is not None)


def _written_as_ipv6(network: Network) -> str:
    mapped = isinstance(network, IPv6Network) and network.prefixlen >= _MAPPED.prefixlen and network.subnet_of(_MAPPED)
    return f"{network} is IPv4 written as IPv6: write it as IPv4" if mapped else ""


def _canonical(host: str) -> str:
    return host.lower().removesuffix(".")


@lru_cache(maxsize=2_048)
def _range(cidr: str) -> Network:
    return ip_network(cidr)


def _order(network: Network) -> tuple[int, int, int]:
    return network.version, int(network.network_address), network.prefixlen
