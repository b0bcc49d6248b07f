"""Requests of the tests to an API server."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar

import pytest
from api_requests import ApiRequests

TIMES = 2


class Busy(BaseHTTPRequestHandler):
    """Says twice to ask again, and then answers with the body of the request."""

    asked: ClassVar[list[bytes]] = []

    def do_POST(self) -> None:
        """Answer a request."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.asked.append(body)
        self.send_response(429 if len(self.asked) <= TIMES else 200)
        self.send_header("Retry-After", "0")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[Path]:
    """Run such a server."""
    with HTTPServer(("127.0.0.1", 0), Busy) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        config = {
            "clusters": [{"name": "busy", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}],
            "users": [{"name": "any", "user": {"token": "any"}}],
            "contexts": [{"name": "busy", "context": {"cluster": "busy", "user": "any"}}],
            "current-context": "busy",
        }
        path = tmp_path / "kubeconfig"
        path.write_text(json.dumps(config))
        yield path
        server.shutdown()


def test_a_request_that_is_told_to_come_again_is_sent_again_whole(kubeconfig: Path) -> None:
    answer = ApiRequests(kubeconfig).ask("POST", "/api", {"a": "b"})
    assert (answer.status, answer.body) == (200, {"a": "b"})
    assert list(map(json.loads, Busy.asked)) == [{"a": "b"}] * (TIMES + 1)
