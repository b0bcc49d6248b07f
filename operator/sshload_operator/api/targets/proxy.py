"""`target.managed.proxy`: a proxy between the workers, or the last jump host, and the server or the gateway."""

from dataclasses import dataclass
from enum import StrEnum, unique
from typing import Annotated, ClassVar

from sshload_contract.declared import Default, Whole

from sshload_operator.api.targets.kind import ProgramInPath


@unique
class ProxyKind(StrEnum):
    """Which proxy it is. How each is run stands in planning/proxy_programs.py."""

    HAPROXY = "haproxy"
    NGINX = "nginx"


@dataclass(frozen=True, slots=True)
class Proxy(ProgramInPath):
    """A proxy for the run, right before sshd: a TCP proxy. Before the run's gateway, nginx is an HTTP proxy."""

    words: ClassVar[str] = "the proxy before it"
    kind: Annotated[ProxyKind, "Debian's HAProxy, or Debian's nginx with its stream module."]
    max_connections: Annotated[
        int,
        Whole(1, 100_000),
        Default(5_000),
        "How many connections it passes on at once. haproxy lets further ones wait; nginx closes them. In front of a"
        " gateway it counts requests, and nginx answers further ones with 503 (proxyError).",
    ]
