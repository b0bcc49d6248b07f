"""`target.managed.proxy`: a TCP proxy between the workers, or the last jump host, and the server."""

from dataclasses import dataclass
from enum import StrEnum, unique
from typing import Annotated

from sshload_contract.declared import Default, Whole


@unique
class ProxyKind(StrEnum):
    """Which proxy it is."""

    HAPROXY = "haproxy"


@dataclass(frozen=True, slots=True)
class Proxy:
    """A TCP proxy for the run, right before sshd."""

    kind: Annotated[ProxyKind, "Debian's HAProxy."]
    max_connections: Annotated[
        int,
        Whole(1, 100_000),
        Default(5_000),
        "How many connections it passes on at once. Others wait.",
    ]
