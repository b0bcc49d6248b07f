"""The master's HTTP port: /healthz, /readyz (all workers are there and started) and /metrics."""

from collections.abc import Callable, Iterable
from typing import Any

from gevent.pywsgi import WSGIServer
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from sshload_worker.coordination.master import Master
from sshload_worker.coordination.metrics import RunCollector

_TEXT = "text/plain; charset=utf-8"


def serve(master: Master, host: str, port: int) -> WSGIServer:
    """Answer from now on, beside the run; return the server, whose port is `server_port`."""
    registry = CollectorRegistry()
    registry.register(RunCollector(master))

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        status, kind, body = _answer(environ["PATH_INFO"], master, registry)
        start_response(status, [("Content-Type", kind), ("Content-Length", str(len(body)))])
        return [body]

    server = WSGIServer(("" if host == "*" else host, port), answer, log=None)
    server.start()
    return server


def _answer(path: str, master: Master, registry: CollectorRegistry) -> tuple[str, str, bytes]:
    match path:
        case "/healthz":
            return "200 OK", _TEXT, b"ok\n"
        case "/readyz" if master.started:
            return "200 OK", _TEXT, b"started\n"
        case "/readyz":
            return "503 Service Unavailable", _TEXT, b"waiting for workers\n"
        case "/metrics":
            return "200 OK", CONTENT_TYPE_LATEST, generate_latest(registry)
        case _:
            return "404 Not Found", _TEXT, b"no such page\n"
