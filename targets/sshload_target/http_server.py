"""The HTTP side of a target, and of a program in the path: /healthz, /readyz, /stats, and /metrics of a target."""

import socket
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import ClassVar, NamedTuple, Protocol

from sshload_contract.wire.codec import to_json

from sshload_target.errors import TargetError
from sshload_target.observer import Observer

_REQUEST_TIMEOUT_S = 10


class Observed(Protocol):
    """A server whose state and counts are answered, from any thread."""

    @property
    def ready(self) -> bool:
        """Whether it listens."""
        ...

    def stats(self) -> object:
        """Return its counts by now, a value of the contract."""
        ...


class _Answer(NamedTuple):
    status: HTTPStatus
    content_type: str
    body: bytes


class StatsServer:
    """Serves in threads of its own until `close`. An empty `host` means every address, IPv6 and IPv4.

    Raises TargetError if the port cannot be had.
    """

    def __init__(self, host: str, port: int, observed: Observed) -> None:

        class Handler(_Handler):
            answers = _Answers(observed)

        try:
            self._server = _Server(host, port, Handler)
        except OSError as error:
            raise TargetError(f"HTTP cannot be served on {host or 'any address'} port {port}: {error}") from error
        threading.Thread(target=self._server.serve_forever, name="http", daemon=True).start()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()


class _Answers:
    def __init__(self, observed: Observed) -> None:
        self._observed = observed

    def to(self, path: str) -> _Answer:
        match path.partition("?")[0]:
            case "/healthz":
                return _text(HTTPStatus.OK, "ok\n")
            case "/readyz" if self._observed.ready:
                return _text(HTTPStatus.OK, "ok\n")
            case "/readyz":
                return _text(HTTPStatus.SERVICE_UNAVAILABLE, "it does not listen yet\n")
            case "/stats":
                return _Answer(HTTPStatus.OK, "application/json", to_json(self._observed.stats()).encode())
            case "/metrics" if isinstance(self._observed, Observer):
                from sshload_target import metrics  # noqa: PLC0415 - few targets are asked for them

                return _Answer(HTTPStatus.OK, metrics.CONTENT_TYPE, metrics.metrics(self._observed))
        return _text(HTTPStatus.NOT_FOUND, "the paths are /healthz, /readyz, /stats and /metrics\n")


def _text(status: HTTPStatus, text: str) -> _Answer:
    return _Answer(status, "text/plain; charset=utf-8", text.encode())


class _Handler(BaseHTTPRequestHandler):
    answers: ClassVar[_Answers]
    timeout = _REQUEST_TIMEOUT_S
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        answer = self.answers.to(self.path)
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the name is the base class's
        """Say nothing: probes and scrapes are no news."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, host: str, port: int, handler: type[_Handler]) -> None:
        host = host or ("::" if socket.has_dualstack_ipv6() else "0.0.0.0")  # noqa: S104 -- probes come from the node
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), handler)

    def server_bind(self) -> None:
        """Bind without HTTPServer's own way, which asks DNS for a name that nobody needs."""
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        TCPServer.server_bind(self)
