"""The master's HTTP port: /healthz, /readyz (all workers were connected and started) and /metrics from the totals."""

from collections.abc import Callable, Iterable
from typing import Any

from gevent.pywsgi import WSGIServer

from sshload_worker.coordination.master import Master

_TEXT = "text/plain; charset=utf-8"


def serve(master: Master, host: str, port: int) -> WSGIServer:
    """Answer from now on, while the run continues; return the server, whose port is `server_port`."""

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        status, kind, body = _answer(environ["PATH_INFO"], master)
        start_response(status, [("Content-Type", kind), ("Content-Length", str(len(body)))])
        return [body]

    server = WSGIServer(("" if host == "*" else host, port), answer, log=None)
    server.start()
    return server


def _answer(path: str, master: Master) -> tuple[str, str, bytes]:
    match path:
        case "/healthz":
            return "200 OK", _TEXT, b"ok\n"
        case "/readyz" if master.started:
            return "200 OK", _TEXT, b"started\n"
        case "/readyz":
            return "503 Service Unavailable", _TEXT, b"waiting for workers\n"
        case "/metrics":
            from sshload_worker.coordination import run_metrics  # noqa: PLC0415 - the metrics of few runs are requested

            return "200 OK", run_metrics.CONTENT_TYPE, run_metrics.metrics(master)
        case _:
            return "404 Not Found", _TEXT, b"no such page\n"
