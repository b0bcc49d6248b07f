"""HeldSessions: sessions that are logged in, then idle, and timed until they end, without a greenlet for each.

Held sessions are to load the server, not the worker, so each is only a connection and a clock. A RestingConnection is
served by the loop whenever its server sends something, so an idle session costs nothing. Connections of other libraries
are served by their own readers: each session is checked once a second, and a greenlet waits for the reply to a
keep-alive request.
"""

from functools import partial
from itertools import islice
from time import monotonic, monotonic_ns

from gevent import GreenletExit, sleep
from gevent.event import Event
from gevent.pool import Group
from sshload_contract.client import Timeouts
from sshload_contract.vocabulary import Outcome, Timing, measured_step

from sshload_worker.clients.interface import Connection, RestingConnection
from sshload_worker.outcomes import StepFailure
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.sessions import Connecting
from sshload_worker.scenario.step_clock import Deadline, Due, StepClock, TimeLimit, classify_error

NAME = "held"
_HOLD = measured_step(NAME, Timing.HOLD)
_KEEP_ALIVE = measured_step(NAME, Timing.KEEP_ALIVE)
_CHECK_INTERVAL_S = 1.0
"""How often a session that does not rest is checked: a loss is noticed at most this much later."""

_CHECKS_AT_ONCE = 64
_ENDS_AT_ONCE = 16
"""How many sessions are checked (2 us each), or ended, before other greenlets get their turn of the loop."""


class _Held:
    """One held session. `resting` is the connection if it is a RestingConnection, and None otherwise.

    `awaits_reply` is true while the reply to a keep-alive request is missing. Then, if the connection rests,
    `requested_ns` is when the request was sent, and `deadline` limits the wait.
    """

    __slots__ = ("awaits_reply", "clock", "connection", "deadline", "requested_ns", "resting", "since_ns")

    def __init__(self, connection: Connection, clock: StepClock) -> None:
        self.connection = connection
        self.clock = clock
        self.since_ns = monotonic_ns()
        self.resting = connection if isinstance(connection, RestingConnection) else None
        self.awaits_reply = False
        self.requested_ns = 0
        self.deadline: Deadline | None = None


class HeldSessions:
    """The sessions that one worker holds, by number. A lost session is counted as a failure, and not replaced."""

    def __init__(self, connector: Connecting, timeouts: Timeouts, recorder: Recorder) -> None:
        self._connector = connector
        self._timeouts = timeouts
        self._recorder = recorder
        self._held: dict[int, _Held] = {}
        self._to_check: dict[int, _Held] = {}
        self._waiting = Group()
        self._missing_replies = 0
        self._no_reply_missing = Event()
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
        held = _Held(connection, clock)
        if held.resting is None:
            self._to_check[number] = held
        else:
            held.resting.rest(partial(self._on_lost, number, held))
        self._held[number] = held
        self._recorder.held += 1

    def keep_alive(self, number: int) -> None:
        """Send a keep-alive request, if the session is held. Without a reply in time it is lost. Never waits."""
        held = self._held.get(number)
        if held is None or held.awaits_reply:
            return
        held.awaits_reply = True
        if held.resting is None:
            self._waiting.spawn(self._request_and_wait, number, held)
            return
        self._missing_replies += 1
        held.requested_ns = monotonic_ns()
        held.deadline = Deadline(self._timeouts.step_s, Timing.KEEP_ALIVE, partial(self._on_lost, number, held))
        held.resting.request_keep_alive(partial(self._keep_alive_ended, held, Outcome.OK))

    def await_replies(self, timeout_s: float) -> None:
        """Wait until no reply to a keep-alive request is missing, for at most `timeout_s`."""
        end_s = monotonic() + timeout_s
        self._waiting.join(timeout=timeout_s)
        self._no_reply_missing.clear()
        if self._missing_replies:
            self._no_reply_missing.wait(max(end_s - monotonic(), 0))

    def stop_waiting(self) -> None:
        """Stop waiting for replies to keep-alive requests, and count the missing ones as unfinished."""
        self._waiting.kill()
        for held in self._held.values():
            if held.deadline is not None:
                self._keep_alive_ended(held, Outcome.UNFINISHED)

    def watch(self) -> None:
        """Check once a second each session that does not rest, and count the lost ones, until killed."""
        while True:
            numbers = iter(tuple(self._to_check))
            turns = max(len(self._to_check) / _CHECKS_AT_ONCE, 1)
            while turn := tuple(islice(numbers, _CHECKS_AT_ONCE)):
                for number in turn:
                    held = self._to_check.get(number)
                    if held is not None and not held.awaits_reply:
                        self._lose_if_closed(number, held)
                sleep(_CHECK_INTERVAL_S / turns)
            if not self._to_check:
                sleep(_CHECK_INTERVAL_S)

    def close(self, outcome: Outcome) -> None:
        """End all sessions, count each as held until now with this outcome, and hold no more.

        With the outcome OK, a session that the server has closed unnoticed, or whose reply to a keep-alive request is
        missing, counts as failed.
        """
        self._closed = True
        self._waiting.kill()  # before their sessions end, which would look as if the server had ended them
        for ended, number in enumerate(tuple(self._held), start=1):
            held = self._held.get(number)
            failure = _failure_at_end(held, outcome) if held is not None else None
            if failure is not None:
                self._lose(number, failure)
            elif held is not None:
                self._end(number, outcome)
            if ended % _ENDS_AT_ONCE == 0:
                sleep(0)

    def _on_lost(self, number: int, held: _Held, failure: StepFailure) -> None:
        if held.awaits_reply:
            self._keep_alive_ended(held, failure.outcome)
        self._lose(number, failure)

    def _keep_alive_ended(self, held: _Held, outcome: Outcome) -> None:
        """Count the session's keep-alive request as ended now."""
        held.clock.record(_KEEP_ALIVE, held.requested_ns, outcome)
        held.awaits_reply = False
        if held.deadline is not None:
            held.deadline.cancel()
            held.deadline = None
        self._missing_replies -= 1
        if not self._missing_replies:
            self._no_reply_missing.set()

    def _request_and_wait(self, number: int, held: _Held) -> None:
        try:
            held.clock.timed(_KEEP_ALIVE, partial(self._await_reply, held.connection))
        except GreenletExit:
            raise
        except BaseException as error:
            if self._held.get(number) is held:
                self._lose(number, classify_error(error))
            if not isinstance(error, StepFailure):
                raise
        held.awaits_reply = False

    def _await_reply(self, connection: Connection) -> None:
        with TimeLimit(self._timeouts.step_s, Timing.KEEP_ALIVE):
            connection.keep_alive()

    def _lose_if_closed(self, number: int, held: _Held) -> None:
        if held.connection.is_lost():
            self._lose(number, _closed_by_server())

    def _lose(self, number: int, failure: StepFailure) -> None:
        clock = self._held[number].clock
        self._end(number, failure.outcome)
        clock.failed(failure.outcome, failure.message)

    def _end(self, number: int, outcome: Outcome) -> None:
        held = self._held.pop(number)
        held.clock.record(_HOLD, held.since_ns, outcome)
        if held.resting is None:
            del self._to_check[number]
        if held.deadline is not None:
            self._keep_alive_ended(held, Outcome.UNFINISHED)
        self._connector.disconnect(held.connection)
        self._recorder.held -= 1


def _failure_at_end(held: _Held, outcome: Outcome) -> StepFailure | None:
    if outcome is not Outcome.OK:
        return StepFailure(outcome, "held until the run was stopped")
    if held.awaits_reply:
        return StepFailure(Outcome.UNFINISHED, "no reply to the keep-alive request by the end of the drain")
    return _closed_by_server() if held.connection.is_lost() else None


def _closed_by_server() -> StepFailure:
    return StepFailure(Outcome.DISCONNECTED, "the server closed a held session")
