"""What routes use, found in the app's state."""

import time
from collections.abc import Mapping
from dataclasses import dataclass

from fastapi import Request
from prometheus_client import Counter

from sshload_gateway.cluster.load_tests import LoadTests
from sshload_gateway.config import RequestLimits
from sshload_gateway.identity.rate_limit import RateLimit
from sshload_gateway.sessions import Sessions
from sshload_gateway.ssh.destinations import Destinations
from sshload_gateway.ssh.pool import Pool


@dataclass(frozen=True, slots=True)
class Loads:
    """How callers start load tests: in the namespace of what their token says, so often, with so large a spec."""

    tests: LoadTests
    namespaces: Mapping[str, str]
    rate: RateLimit
    body_bytes: int
    pages_url: str

    def take(self, caller: str) -> int:
        """Take one start of a caller; return 0, or in how many seconds the caller may try again."""
        return self.rate.take(caller, time.monotonic())


@dataclass(frozen=True, slots=True)
class Gateway:
    """The parts of a running gateway."""

    sessions: Sessions
    destinations: Destinations
    limits: RequestLimits
    commands: Counter
    loads: Loads | None

    @property
    def pool(self) -> Pool:
        """The pool of connections."""
        return self.sessions.pool

    @classmethod
    def of(cls, request: Request) -> "Gateway":
        """Return the gateway that serves a request."""
        found = request.app.state.gateway
        assert isinstance(found, cls)  # noqa: S101 - tells mypy what make_app has set
        return found
