"""HeldSessions: sessions that are logged in, then left idle, and timed until their end, without a greenlet for each.

What a session costs is what is measured here, so a held one is a connection and a clock, and one greenlet watches all.
"""

from functools import partial
from itertools import islice
from time import monotonic_ns

from gevent import GreenletExit, sleep
from sshload_contract.client import Timeouts
from sshload_contract.vocabulary import Outcome, Timing, measured_step

from sshload_worker.clients.interface import Connection
from sshload_worker.outcomes import StepFailure
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.sessions import Connecting
from sshload_worker.scenario.step_clock import Due, StepClock, TimeLimit, classify_error

NAME = "held"
_HOLD = measured_step(NAME, Timing.HOLD)
_KEEP_ALIVE = measured_step(NAME, Timing.KEEP_ALIVE)
_WATCH_INTERVAL_S = 1.0
"""How often each session is looked at: a loss is noticed so much later at most."""

_LOOKS_AT_ONCE = 64
_ENDS_AT_ONCE = 16
"""How many sessions are looked at (2 us each), or ended, before others get their turn of the loop."""


class _Held:
    __slots__ = ("asked", "clock", "connection", "since_ns")

    def __init__(self, connection: Connection, clock: StepClock) -> None:
        self.connection = connection
        self.clock = clock
        self.since_ns = monotonic_ns()
        self.asked = False


class HeldSessions:
    """The sessions that one worker holds, by number. One that is lost is counted as a failure, and not replaced."""

    def __init__(self, connector: Connecting, timeouts: Timeouts, recorder: Recorder) -> None:
        self._connector = connector
        self._timeouts = timeouts
        self._recorder = recorder
        self._held: dict[int, _Held] = {}
        self._closed = False

    def begin(self, number: int, due: Due) -> None:
        """Log in, and hold the session from then on. A login that fails is counted, and not tried again."""
        clock = StepClock(self._recorder, due)
        try:
            connection = self._connector.connect(clock, NAME)
        except BaseException as error:
            failure = classify_error(error)
            clock.failed(failure.outcome, failure.message)
            if not isinstance(error, StepFailure | OSError):
                raise
            return
        if self._closed:
            self._connector.disconnect(connection)
            return
        self._held[number] = _Held(connection, clock)
        self._recorder.held += 1

    def keep_alive(self, number: int) -> None:
        """Ask the server for a sign of life, if the session is held; without an answer it is lost."""
        held = self._held.get(number)
        if held is None or held.asked:
            return
        held.asked = True
        try:
            held.clock.timed(_KEEP_ALIVE, partial(self._ask, held.connection))
        except GreenletExit:
            raise
        except BaseException as error:
            if self._held.get(number) is held:
                self._lose(number, classify_error(error))
            if not isinstance(error, StepFailure):
                raise
        held.asked = False

    def watch(self) -> None:
        """Look at each session once a second, and count the lost ones, until killed."""
        while True:
            numbers = iter(tuple(self._held))
            turns = max(len(self._held) / _LOOKS_AT_ONCE, 1)
            while turn := tuple(islice(numbers, _LOOKS_AT_ONCE)):
                for number in turn:
                    held = self._held.get(number)
                    if held is not None and not held.asked and held.connection.is_lost():
                        self._lose(number, _closed_by_server())
                sleep(_WATCH_INTERVAL_S / turns)
            if not self._held:
                sleep(_WATCH_INTERVAL_S)

    def close(self, outcome: Outcome) -> None:
        """End all sessions, each held until now with this outcome, and hold no more.

        One that the server has closed unseen was not held until now, and one whose sign of life is still awaited gave
        none.
        """
        self._closed = True
        for ended, number in enumerate(tuple(self._held), start=1):
            held = self._held.get(number)
            failure = _failure_at_end(held, outcome) if held is not None else None
            if failure is not None:
                self._lose(number, failure)
            elif held is not None:
                self._end(number, outcome)
            if ended % _ENDS_AT_ONCE == 0:
                sleep(0)

    def _ask(self, connection: Connection) -> None:
        with TimeLimit(self._timeouts.step_s, Timing.KEEP_ALIVE):
            connection.keep_alive()

    def _lose(self, number: int, failure: StepFailure) -> None:
        clock = self._held[number].clock
        self._end(number, failure.outcome)
        clock.failed(failure.outcome, failure.message)

    def _end(self, number: int, outcome: Outcome) -> None:
        held = self._held.pop(number)
        held.clock.record(_HOLD, held.since_ns, outcome)
        self._connector.disconnect(held.connection)
        self._recorder.held -= 1


def _failure_at_end(held: _Held, outcome: Outcome) -> StepFailure | None:
    if outcome is not Outcome.OK:
        return StepFailure(outcome, "held until the run was stopped")
    if held.asked:
        return StepFailure(Outcome.UNFINISHED, "no sign of life by the end of the drain")
    return _closed_by_server() if held.connection.is_lost() else None


def _closed_by_server() -> StepFailure:
    return StepFailure(Outcome.DISCONNECTED, "the server closed a held session")
