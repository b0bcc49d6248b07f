"""A receiver of webhooks that takes events, refuses them, keeps them waiting, or is not there."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

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

    `answers` are the statuses of the next answers, then `answer`; 0 lets the request hang. `location` is where
    redirects lead to.
    """

    port: int = field(default_factory=free_port)
    received: list[Received] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    answer: int = 204
    location: str = ""
    _released: threading.Event = field(default_factory=threading.Event)
    _server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}{PATH}"

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
        self.received.append(Received(request.path, headers, body, status))
        if not status:
            self._released.wait(_HUNG_AT_MOST_S)
            return
        request.send_response(status)
        if self.location:
            request.send_header("Location", self.location)
        request.send_header("Content-Length", "0")
        request.end_headers()


@contextmanager
def webhook_receiver() -> Iterator[Receiver]:
    """Return a receiver that listens, and shut it at the end."""
    receiver = Receiver()
    receiver.open()
    try:
        yield receiver
    finally:
        receiver.shut()


def key_folder(folder: Path) -> Path:
    """Return a folder with KEY, as the operator's pod mounts its Secret."""
    found = folder / "webhook-secret"
    found.mkdir()
    (found / "key").write_bytes(KEY + b"\n")
    return found
