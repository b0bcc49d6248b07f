"""An HTTP server in place of a gateway, which answers as it is told to, and knows when what passed the wire."""

import base64
import json
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from sshload_contract.wire.run_config import GatewayEndpoint

TOKEN = "a-token"
CREDENTIAL = "server"


@dataclass(frozen=True)
class Reply:
    """An answer: `body` is sent as it is, or as JSON where it is none. With a `raw` reply that alone is sent.

    After `after_s`; and then the connection is closed where `closes`.
    """

    status: int = 200
    body: Any = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    after_s: float = 0.0
    raw: bytes | None = None
    closes: bool = False


def command_reply(stdout: bytes = b"", after_s: float = 0.0, **changes: object) -> Reply:
    """Return the answer to a command that ended well, but for what `changes` say."""
    said = {
        "outcome": "exited",
        "exitCode": 0,
        "signal": None,
        "hasEnded": True,
        "stdout": base64.b64encode(stdout).decode(),
        "stderr": "",
        "encoding": "base64",
        "timings": {"waitSeconds": 0.0, "loginSeconds": None, "commandSeconds": after_s},
    }
    return Reply(body={**said, **changes}, after_s=after_s)


@dataclass
class StandIn:
    """A running server. `heard` has each request as (method, path, body); the times are those of the wire.

    `spans` has of each connection when the head of each request had come, and when its answer was about to be sent, in
    seconds: neither is before the one, nor after the other, however late the server has its turn on a busy machine.
    """

    port: int
    tls: bool = False
    heard: list[tuple[str, str, Any]] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)
    spans: list[list[tuple[float, float]]] = field(default_factory=list)

    def endpoint(self, folder: Path, ca_path: str = "") -> GatewayEndpoint:
        """Return it as a run's target, with a file for the token in a folder."""
        token_path = folder / "token"
        token_path.write_text(f"{TOKEN}\n")
        return GatewayEndpoint(self.tls, "127.0.0.1", self.port, "", CREDENTIAL, str(token_path), ca_path)


@contextmanager
def stand_in(answer: Callable[[str, str], Reply], certificate: tuple[Path, Path] | None = None) -> Iterator[StandIn]:
    """Serve until the block ends. `answer` makes the reply to a method and path; a certificate comes with its key."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def setup(self) -> None:
            super().setup()
            self.spans: list[tuple[float, float]] = []
            known.spans.append(self.spans)

        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in http.server
            """Say nothing."""

        def _answer(self) -> None:
            came_s = time.monotonic()
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            known.heard.append((self.command, self.path, json.loads(body) if body else None))
            known.tokens.add(self.headers.get("Authorization", ""))
            reply = answer(self.command, self.path)
            time.sleep(reply.after_s)
            self.spans.append((came_s, time.monotonic()))
            if reply.raw is not None:
                self.wfile.write(reply.raw)
            else:
                content = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
            self.close_connection = self.close_connection or reply.closes

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    known = StandIn(server.server_address[1], tls=certificate is not None)
    serving = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    serving.start()
    try:
        yield known
    finally:
        server.shutdown()
        server.server_close()
        serving.join()
