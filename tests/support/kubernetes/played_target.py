"""A managed target's HTTP port, played in this process: ready when, and with counts that, a test decides on."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from gevent.pywsgi import WSGIServer
from runs import target_stats
from sshload_contract.wire.codec import to_json
from sshload_contract.wire.target import TargetStats


def quiet(fetch: int) -> TargetStats:
    """Return the counts of an idle target that has accepted more logins at each fetch than any test makes."""
    return target_stats(accepted=fetch * 10_000)


def always(ask: int) -> bool:  # noqa: ARG001 - each time
    """Return that the target is ready."""
    return True


@contextmanager
def played_target(
    stats: Callable[[int], TargetStats] = quiet, is_ready: Callable[[int], bool] = always
) -> Iterator[str]:
    """Answer /readyz and /stats, each by its function of the request's number from 1 on; yield the URL of /stats."""
    fetches = asked = 0

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        nonlocal fetches, asked
        if environ["PATH_INFO"] == "/readyz":
            asked += 1
            start_response("200 OK" if is_ready(asked) else "503 Not Ready", [])
            return [b""]
        start_response("200 OK", [])
        fetches += 1
        return [to_json(stats(fetches)).encode()]

    server = WSGIServer(("127.0.0.1", 0), answer, log=None)
    server.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/stats"
    finally:
        server.stop()
