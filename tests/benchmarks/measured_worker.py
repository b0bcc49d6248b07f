"""A worker process as it is in production, which tells besides what its measured window cost.

`python measured_worker.py FIGURES ARGUMENTS`, with the arguments of `python -m sshload_worker`. FIGURES is written at
the end of the load, as JSON: CPU and wall seconds of the measured window, the memory held at its begin and end, and
for each iteration of the window that had a connection of its own the source port, the monotonic instant at which it was
due, and the recorded latency of its total.
"""

from gevent import monkey

monkey.patch_all()

import json  # noqa: E402 - nothing may be imported before the patch
import resource  # noqa: E402
import sys  # noqa: E402
from pathlib import Path  # noqa: E402
from time import monotonic_ns, process_time  # noqa: E402
from typing import Any  # noqa: E402

import gevent  # noqa: E402
from gevent import getcurrent  # noqa: E402
from sshload_contract.vocabulary import Timing, Window  # noqa: E402
from sshload_worker.__main__ import main  # noqa: E402
from sshload_worker.pacing.generator import Generator  # noqa: E402
from sshload_worker.recording.recorder import Recorder, Spans  # noqa: E402
from sshload_worker.scenario.iteration import Iteration  # noqa: E402
from sshload_worker.scenario.sessions import SessionPerIteration  # noqa: E402

_NS_PER_S = 1_000_000_000
_NS_PER_US = 1_000


class Mark:
    """What the process has used at an instant."""

    def __init__(self, at_ns: int) -> None:
        while (left_ns := at_ns - monotonic_ns()) > 0:
            gevent.sleep(left_ns / _NS_PER_S)
        self.cpu_s = process_time()
        self.wall_s = monotonic_ns() / _NS_PER_S
        self.rss_bytes = resident_bytes()


def resident_bytes() -> int:
    """Return how much memory the process holds now."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()


def measure_load(path: Path, iterations: list[tuple[int, int, int]]) -> None:
    """Take marks at the begin and end of the measured window of the load."""
    run = Generator.run

    def run_measured(self: Any) -> None:
        warm_up_end_ns = self._start_ns + int(self._config.warm_up_s * _NS_PER_S)
        marks = [gevent.spawn(Mark, at_ns) for at_ns in (warm_up_end_ns, self._end_ns)]
        run(self)
        begin, end = (mark.get() for mark in marks)
        figures = {
            "cpu_s": end.cpu_s - begin.cpu_s,
            "wall_s": end.wall_s - begin.wall_s,
            "rss_begin_bytes": begin.rss_bytes,
            "rss_end_bytes": end.rss_bytes,
            "iterations": iterations,
        }
        path.write_text(json.dumps(figures), encoding="ascii")

    Generator.run = run_measured  # type: ignore[method-assign] # around it, and nothing else


def note_ports(iterations: list[tuple[int, int, int]]) -> None:
    """Note the source port of each iteration's connection, when it was due, and what was recorded for its total."""
    run, operation, release = Iteration.run, Recorder.operation, SessionPerIteration.release
    latencies_us: dict[object, int] = {}
    ports: dict[object, int] = {}

    def run_noted(self: Any, due: Any, user: int | None = None) -> bool:
        goes_on = run(self, due, user)
        port, latency_us = ports.pop(getcurrent(), None), latencies_us.pop(getcurrent(), None)
        if port and latency_us and due.window is Window.MEASURED:
            iterations.append((port, due.at_ns, latency_us))
        return goes_on

    def operation_noted(self: Any, spans: Spans, *counted: Any) -> None:
        operation(self, spans, *counted)
        if spans.names == (str(Timing.TOTAL),):
            _, (due_ns, end_ns), _ = counted
            latencies_us[getcurrent()] = (end_ns - due_ns) // _NS_PER_US

    def release_noted(self: Any, connection: Any, user: int | None, *, usable: bool) -> None:
        ports[getcurrent()] = connection._descriptor.socket.getsockname()[1]
        release(self, connection, user, usable=usable)

    Iteration.run = run_noted  # type: ignore[method-assign] # likewise
    Recorder.operation = operation_noted  # type: ignore[assignment,method-assign] # likewise
    SessionPerIteration.release = release_noted  # type: ignore[method-assign] # likewise


if __name__ == "__main__":
    figures_path, *arguments = sys.argv[1:]
    noted: list[tuple[int, int, int]] = []
    measure_load(Path(figures_path), noted)
    if figures_path.endswith(".ports"):
        note_ports(noted)
    sys.exit(main(arguments))
