"""What routes use, found in the app's state."""

from dataclasses import dataclass

from fastapi import Request
from prometheus_client import Counter

from sshload_gateway.config import RequestLimits
from sshload_gateway.sessions import Sessions
from sshload_gateway.ssh.destinations import Destinations
from sshload_gateway.ssh.pool import Pool


@dataclass(frozen=True, slots=True)
class Gateway:
    """The parts of a running gateway."""

    sessions: Sessions
    destinations: Destinations
    limits: RequestLimits
    commands: Counter

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
