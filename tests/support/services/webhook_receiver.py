"""A receiver of webhooks that takes events, refuses them, keeps them waiting, or is not there."""

import json
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from free_ports import free_port
from running_target import wait_until

KEY = b"an HMAC key of the tests, of 40 bytes ..."
PATH = "/hooks/T0KEN-IN-THE-PATH"
_HUNG_AT_MOST_S = 60


@dataclass(frozen=True, slots=True)
class Received:
    """One request. `answered` is the status of the answer, 0 where there was none."""

    path: str
    headers: Mapping[str, str]
    body: bytes
    answered: int

    @property
    def event(self) -> dict[str, Any]:
        """The event in the body."""
        found: dict[str, Any] = json.loads(self.body)
        return found


@dataclass(slots=True)
class Receiver:
    """A receiver on a port of its own, which listens from `open` to `shut`.

    `answers` are the statuses of the next answers, then `answer`; 0 lets the request hang, and so does each event
    about an object that `hangs` names. `location` is where redirects lead to. Each answer takes `delay_s`, and has
    `content` of the type `content_type`. With `tls` it speaks HTTPS. A request is in `received` before its answer is on
    its way.
    """

    port: int = field(default_factory=free_port)
    received: list[Received] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    answer: int = 204
    hangs: frozenset[str] = frozenset()
    location: str = ""
    delay_s: float = 0.0
    content: bytes = b""
    content_type: str = "application/octet-stream"
    tls: ssl.SSLContext | None = None
    _released: threading.Event = field(default_factory=threading.Event)
    _server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}{PATH}"

    def open(self) -> None:
        """Listen."""
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                receiver._take(self)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._released.clear()
        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        if self.tls is not None:
            self._server.socket = self.tls.wrap_socket(self._server.socket, server_side=True)
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def shut(self) -> None:
        """Refuse connections."""
        self._released.set()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def taken(self, name: str) -> list[Received]:
        """Return the deliveries about an object that were answered with 204."""
        return [found for found in self.received if found.answered == 204 and found.event["data"]["name"] == name]

    def wait_until_taken(self, name: str, times: int = 1) -> list[Received]:
        """Return the deliveries about an object once there are so many."""
        wait_until(lambda: len(self.taken(name)) >= times, f"{times} deliveries about {name}: {self.received}")
        return self.taken(name)

    def _take(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers["Content-Length"]))
        status = self.answers.pop(0) if self.answers else self.answer
        headers = {name.lower(): value for name, value in request.headers.items()}
        received = Received(request.path, headers, body, status)
        if self.hangs and received.event["data"]["name"] in self.hangs:
            received, status = replace(received, answered=0), 0
        self.received.append(received)
        if not status:
            self._released.wait(_HUNG_AT_MOST_S)
            return
        self._released.wait(self.delay_s)
        request.send_response(status)
        if self.location:
            request.send_header("Location", self.location)
        if self.content:
            request.send_header("Content-Type", self.content_type)
        request.send_header("Content-Length", str(len(self.content)))
        request.end_headers()
        request.wfile.write(self.content)


@contextmanager
def webhook_receiver(tls: ssl.SSLContext | None = None) -> Iterator[Receiver]:
    """Return a receiver that listens, and shut it at the end."""
    receiver = Receiver(tls=tls)
    receiver.open()
    try:
        yield receiver
    finally:
        receiver.shut()


def own_certificate(folder: Path) -> tuple[ssl.SSLContext, bytes]:
    """Return what a receiver on loopback serves with, and its certificate, which is its own authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "receiver")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
        .public_bytes(Encoding.PEM)
    )
    path = folder / "receiver.pem"
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) + certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context, certificate


def key_folder(folder: Path) -> Path:
    """Return the folder `webhook` with KEY, as the operator's pod mounts its Secret."""
    found = folder / "webhook"
    found.mkdir()
    (found / "key").write_bytes(KEY + b"\n")
    return found
