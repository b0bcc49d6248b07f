"""A connection to a gateway, and what a scenario does over it: commands, and listings of directories."""

import json
from collections.abc import Callable
from dataclasses import replace
from time import monotonic_ns
from typing import Any, NoReturn
from urllib.parse import quote, urlencode

from sshload_contract.vocabulary import Outcome

from sshload_worker.clients.delay import new_descriptor
from sshload_worker.clients.gateway.access import GatewayAccess
from sshload_worker.clients.gateway.answers import read_command, read_names, read_page
from sshload_worker.clients.gateway.exchange import REDACTED, Answer, Exchange
from sshload_worker.clients.gateway.stream import PlainStream, Stream, TlsStream
from sshload_worker.clients.interface import CommandEnd, Course
from sshload_worker.outcomes import StepFailure

_PAGE_ENTRIES = 1_000
_MOST_PAGES = 10_000


def _not_over_http(*_: Any, **__: Any) -> NoReturn:
    """Fail. Specs that would lead here are refused."""
    raise StepFailure(Outcome.GENERATOR_FAULT, "a gateway can only run commands and list directories")


class GatewayConnection:
    """One HTTP connection: call connect and handshake, then send one request after the other, and close it in any case.

    The steps of a scenario use it as a Connection, where each request is a channel that costs nothing to open.
    """

    times_parts = False
    authentication = None
    banner = kex = auth = negotiated = keep_alive = open_forward = scp_read = scp_write = _not_over_http

    def __init__(self, access: GatewayAccess) -> None:
        self._access = access
        family, self._address = next(access.addresses)
        self._descriptor = new_descriptor(access.client, family)
        self._stream: Stream = PlainStream(self._descriptor)
        self._exchange: Exchange | None = None

    def connect(self) -> None:
        self._descriptor.connect(self._address)
        self._exchange = Exchange(self._stream, self._access.authority)

    def handshake(self) -> None:
        """Make the TLS handshake before the first request, if the gateway's URL is https."""
        if self._access.tls is not None:
            stream = TlsStream(PlainStream(self._descriptor), self._access.tls, self._access.endpoint.host)
            stream.handshake()
            self._exchange = Exchange(stream, self._access.authority)

    def is_lost(self) -> bool:
        """Return whether no further request can be sent, without waiting."""
        return self._exchange is None or self._exchange.is_over or self._descriptor.peer_has_closed()

    def credentials(self) -> frozenset[str]:
        """Request the names of the caller's credentials."""
        return read_names(self.ask("GET", "/credentials"))

    def open_channel(self) -> "GatewayChannel":
        """Return a channel that runs a command."""
        return GatewayChannel(self)

    def open_sftp(self) -> "GatewayListing":
        """Return an SFTP client that only lists directories."""
        return GatewayListing(self)

    def close(self) -> None:
        self._exchange = None
        self._descriptor.shut_down()

    def run(self, command: str) -> Answer:
        """Request a command."""
        body = json.dumps({"command": command, "encoding": "base64"}).encode()
        return self.ask("POST", f"/{quote(self._access.endpoint.credential)}", body)

    def list_page(self, path: str, after: str) -> Answer:
        """Request a page of a directory."""
        query = urlencode({"path": path, "limit": _PAGE_ENTRIES, "after": after})
        return self.ask("GET", f"/{quote(self._access.endpoint.credential)}/files?{query}")

    def without_token(self, end: CommandEnd) -> CommandEnd:
        """Return how a command ended, with the token removed from its stderr, which may become a message."""
        return replace(end, stderr=end.stderr.replace(self._access.token.encode(), REDACTED))

    def ask(self, method: str, path: str, body: bytes = b"") -> Answer:
        """Send a request to a path of the API, and return its answer; raises StepFailure if there is none."""
        if self._exchange is None:
            raise StepFailure(Outcome.DISCONNECTED, "the connection to the gateway is closed")
        return self._exchange.ask(method, f"{self._access.api}{path}", self._access.token, body)


class GatewayChannel:
    """One command."""

    request_terminal = start_shell = execute = read = write = send_end = close = _not_over_http

    def __init__(self, connection: GatewayConnection) -> None:
        self._connection = connection

    def run(self, command: str, take: Callable[[bytes], object], course: Course) -> CommandEnd:
        """Run a command, pass its output to `take`, and return how it ended."""
        answer = self._connection.run(command)
        course.closed_ns = monotonic_ns()
        said = read_command(answer)
        course.told_ns = said.told_ns
        take(said.stdout)
        return self._connection.without_token(said.end)


class GatewayListing:
    """Listings of directories."""

    open_to_read = open_to_write = read_file = stat = change = _not_over_http

    def __init__(self, connection: GatewayConnection) -> None:
        self._connection = connection

    def list_directory(self, path: str) -> int:
        entries, after = 0, ""
        for _ in range(_MOST_PAGES):
            page = read_page(self._connection.list_page(path, after), _PAGE_ENTRIES)
            entries, after = entries + page.entries, page.after
            if not after:
                return entries
        raise StepFailure(Outcome.BAD_ANSWER, f"the directory has more than {_MOST_PAGES * _PAGE_ENTRIES:,} entries")

    def close(self) -> None:
        """Do nothing: nothing is open."""
