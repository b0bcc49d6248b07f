"""A command's scenario by itself: an iteration with a client that answers at once, without a socket or a loop.

`python scenario_alone.py ITERATIONS` runs so many, reports included. What it costs is the code that users do not see:
clock, time limits, recorder and steps. It prints nothing: `instructions` counts it from outside.
"""

import sys
from collections.abc import Callable
from itertools import count
from time import monotonic_ns
from typing import Any, cast

from run_configs import EXEC_TRUE, client
from sshload_contract.vocabulary import Window
from sshload_worker.clients.interface import CommandEnd, Connection, Course
from sshload_worker.recording.health import HealthMonitor
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.iteration import Iteration
from sshload_worker.scenario.sessions import SessionPerUser
from sshload_worker.scenario.step_clock import Due

_ITERATIONS_PER_REPORT = 2_000
_NS_PER_PART = 20_000
_END = CommandEnd(exit_code=0, signal="", stderr=b"")


class _Answering:
    """A connection, and its channel, on which all is done at once."""

    times_parts = True

    def is_lost(self) -> bool:
        return False

    def open_channel(self) -> "_Answering":
        return self

    def run(self, command: str, take: Callable[[bytes], object], course: Course) -> CommandEnd:  # noqa: ARG002 - as a channel has it
        now_ns = monotonic_ns()
        course.started_ns, course.output_end_ns = now_ns, now_ns + _NS_PER_PART
        course.closed_ns = now_ns + 2 * _NS_PER_PART
        return _END


class _Connecting:
    """Makes such connections."""

    def connect(self, clock: Any, name: str = "") -> Connection:  # noqa: ARG002 - as sessions call it
        return cast("Connection", _Answering())

    def disconnect(self, connection: Connection) -> None:
        pass


def _allow(host: str, port: int) -> str:  # noqa: ARG001 - a rule that forbids nothing
    return ""


def main(iterations: int) -> None:
    """Run so many iterations of one user."""
    recorder, health = Recorder("run", 0), HealthMonitor().health(connections=0, overflows=0)
    timeouts = client().timeouts
    iteration = Iteration(0, SessionPerUser(_Connecting()), (EXEC_TRUE,), timeouts, recorder, count(), _allow)
    for number in range(1, iterations + 1):
        iteration.run(Due(monotonic_ns(), Window.MEASURED), 1)
        if number % _ITERATIONS_PER_REPORT == 0:
            recorder.take_report(health, final=False)


if __name__ == "__main__":
    main(int(sys.argv[1]))
