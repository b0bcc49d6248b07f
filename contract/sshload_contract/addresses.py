"""IP addresses in host names: every spelling that resolvers accept as an address, and IPv4 inside IPv6."""

import re
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+")
_BYTES = 4
_LONGEST_NUMBER = 255
"""More characters than a host can have. Python refuses to parse a decimal number of some thousands of digits."""

_IPV4_COMPATIBLE = IPv6Network("::/96")  # RFC 4291 section 2.5.5.1
_IPV4_TRANSLATED = IPv6Network("::ffff:0:0:0/96")  # RFC 2765 section 2.1
_NAT64 = IPv6Network("64:ff9b::/96")  # RFC 6052 section 2.1
_LOCAL_NAT64 = IPv6Network("64:ff9b:1::/48")  # RFC 8215
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)  # RFC 5214 section 6.1: the upper half of the interface identifier
_LOOPBACK = IPv6Address("::1")


def read_address(host: str) -> Address | None:
    """Return the address that `host` is a spelling of, None if it is not an address.

    Besides the usual forms it reads those of inet_aton(3): one to four numbers, decimal or hexadecimal, of which the
    last fills the remaining bytes (0x7f.1, 2130706433). A host with an octal number (0177.1) is not an address, because
    some resolvers read that number as decimal.
    """
    text = host.lower().removesuffix(".")
    try:
        return ip_address(text)
    except ValueError:
        return _from_numbers(text.split("."))


def ends_in_number(host: str) -> bool:
    """Return whether the last label of `host` is a number: then it may be an address, and is never a DNS name.

    This is the rule of browsers too (WHATWG URL, "ends in a number"). No top-level domain is a number.
    """
    return _NUMBER.fullmatch(host.lower().removesuffix(".").rpartition(".")[2]) is not None


def forms(address: Address) -> tuple[Address, ...]:
    """Return all addresses at which a connection to `address` may end, as a firewall would see them.

    For an IPv4-mapped or IPv4-compatible IPv6 address this is only the IPv4 address. For one from which a router or a
    gateway makes IPv4 it is the address itself, and each IPv4 address that it may stand for: one of NAT64,
    IPv4-translated, 6to4 (2002::/16), ISATAP, or Teredo.
    """
    if isinstance(address, IPv4Address):
        return (address,)
    if address.ipv4_mapped is not None:
        return (address.ipv4_mapped,)
    if address in _IPV4_COMPATIBLE and address > _LOOPBACK:
        return (_low_ipv4(address),)
    return (address, *dict.fromkeys(_translated(address)))


def _translated(address: IPv6Address) -> Iterator[IPv4Address]:
    if address in _NAT64 or address in _IPV4_TRANSLATED or int(address) >> 32 & 0xFFFF_FFFF in _ISATAP:
        yield _low_ipv4(address)
    if address in _LOCAL_NAT64:
        yield from _of_local_nat64(address)
    if address.sixtofour is not None:
        yield address.sixtofour
    yield from address.teredo or ()


def _of_local_nat64(address: IPv6Address) -> Iterator[IPv4Address]:
    """Yield what a prefix of a network's own may stand for. It has 48, 56, 64 or 96 bits (RFC 6052 section 2.2).

    With all but the last, the address ends in zeros, and bits 64 to 71 are not part of the IPv4 address.
    """
    bits = int(address)
    if bits & 0xFF_FFFF:
        yield _low_ipv4(address)
        return
    after_prefix = (bits >> 64 & 0xFFFF) << 56 | bits & (1 << 56) - 1
    for longer in (0, 8, 16):
        yield IPv4Address(after_prefix >> 40 - longer & 0xFFFF_FFFF)


def is_within(inner: Network, outer: Network) -> bool:
    """Return whether all addresses of `inner` are in `outer` too."""
    if isinstance(inner, IPv4Network) and isinstance(outer, IPv4Network):
        return inner.subnet_of(outer)
    return isinstance(inner, IPv6Network) and isinstance(outer, IPv6Network) and inner.subnet_of(outer)


def _low_ipv4(address: IPv6Address) -> IPv4Address:
    return IPv4Address(int(address) & 0xFFFF_FFFF)


def _from_numbers(parts: list[str]) -> IPv4Address | None:
    """Return the address that inet_aton(3) reads, None if it reads none or a number is octal."""
    if len(parts) > _BYTES or not all(_NUMBER.fullmatch(part) and len(part) <= _LONGEST_NUMBER for part in parts):
        return None
    if any(part.startswith("0") and part.isdigit() and len(part) > 1 for part in parts):
        return None
    *leading, last = (int(part.removeprefix("0x") or "0", 16 if part.startswith("0x") else 10) for part in parts)
    if any(number > 0xFF for number in leading) or last >= 256 ** (_BYTES - len(leading)):  # noqa: PLR2004 - of a byte
        return None
    return IPv4Address(sum(number << 8 * (_BYTES - 1 - at) for at, number in enumerate(leading)) + last)
