"""Where the gateway may connect to: one rule for the text of a host, and one for each address it leads to.

The rule is the contract's allow-list. The gateway also denies private ranges, so that a name under somebody else's
control leads to no internal address unless an entry lists that address or range.
"""

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Final

from sshload_contract.addresses import Address, forms, read_address
from sshload_contract.allow_list import (
    AllowedTarget,
    AllowList,
    DeniedRange,
    address_refusal,
    host_refusal,
    lookup_name,
)

from sshload_gateway.ssh.failures import LoginError, LoginFailure

_LOG: Final = logging.getLogger(__name__)
PRIVATE_RANGES: Final = (
    DeniedRange("10.0.0.0/8", "private"),
    DeniedRange("100.64.0.0/10", "shared by a provider"),
    DeniedRange("172.16.0.0/12", "private"),
    DeniedRange("192.168.0.0/16", "private"),
    DeniedRange("fc00::/7", "private"),
    DeniedRange("fec0::/10", "private"),
)

_LOOKUPS: Final = ThreadPoolExecutor(16, "lookup")
"""Threads of their own, so that names that hang keep nothing else waiting."""

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""From a name and a port to addresses as text; raises OSError if there is none."""


async def resolve(name: str, port: int) -> Sequence[str]:
    """Return the addresses of a name by the system's resolver; raises OSError if it has none."""
    try:
        found = await asyncio.get_running_loop().run_in_executor(_LOOKUPS, _addresses, name, port)
    except UnicodeError as error:  # what can be no name at all
        raise OSError(str(error)) from None
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in found))


def _addresses(name: str, port: int) -> "list[tuple[Any, ...]]":
    return socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)


def canonical_host(host: str) -> str:
    """Return the one spelling of a host that stands for all of them, so that each has the same limits."""
    address = read_address(host)
    return lookup_name(host) if address is None else str(forms(address)[0])


@dataclass(frozen=True, slots=True)
class Destinations:
    """The servers that this gateway may connect to."""

    allow_list: AllowList
    resolver: Resolver = resolve

    def refusal(self, host: str, port: int) -> str:
        """Return why no credential may name this host and port, empty if one may."""
        why = host_refusal(self.allow_list, host, port)
        return f"{host} port {port} {_of_this_gateway(why)}" if why else ""

    async def addresses(self, host: str, port: int) -> tuple[Address, ...]:
        """Resolve a host once and return its addresses, of which each may be connected to.

        Raises LoginError if the host or any of its addresses may not be connected to, or if it has no address.
        """
        why = self.refusal(host, port)
        if why:
            raise LoginError(LoginFailure.NOT_ALLOWED, why)
        try:
            found = [ip_address(text) for text in await self.resolver(lookup_name(host), port)]
        except (OSError, ValueError):
            raise LoginError(LoginFailure.UNRESOLVED, f"the name {host} has no address") from None
        for address in found:
            why = address_refusal(self.allow_list, address, port)
            if why:
                _LOG.warning("%s resolves to %s, which %s", host, address, why)
                what = f"{host} resolves to an address that this gateway does not connect to"
                raise LoginError(LoginFailure.NOT_ALLOWED, what)
        if not found:
            raise LoginError(LoginFailure.UNRESOLVED, f"the name {host} has no address")
        return tuple(found)


def destinations(allowed: Sequence[AllowedTarget], denied: Sequence[DeniedRange]) -> Destinations:
    """Return the destinations that these entries allow, with PRIVATE_RANGES denied on top of `denied`."""
    return Destinations(AllowList(tuple(allowed), (*PRIVATE_RANGES, *denied)))


def _of_this_gateway(why: str) -> str:
    return why.replace("external targets that this installation allows", "destinations that this gateway allows")
