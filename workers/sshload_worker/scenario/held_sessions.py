"""HeldSessions: sessions that are logged in, then left idle, and timed until their end, without a greenlet for each.

What a session costs is what is measured here, so a held one is a connection and a clock. One watcher of the loop
reports events on all of their sockets, so an idle session costs nothing. If the library's connections lack
NonBlockingKeepAlive, each session is checked once a second, and a greenlet waits for the reply to a keep-alive request.
"""

from functools import partial
from itertools import islice
from time import monotonic, monotonic_ns

from gevent import GreenletExit, get_hub, sleep
from gevent.event import Event
from gevent.pool import Group
from sshload_contract.client import Timeouts
from sshload_contract.vocabulary import Outcome, Timing, measured_step

from sshload_worker.clients.idle_sockets import IdleSockets
from sshload_worker.clients.interface import Connection, NonBlockingKeepAlive
from sshload_worker.outcomes import StepFailure
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.sessions import Connecting
from sshload_worker.scenario.step_clock import Deadline, Due, StepClock, TimeLimit, classify_error

NAME = "held"
_HOLD = measured_step(NAME, Timing.HOLD)
_KEEP_ALIVE = measured_step(NAME, Timing.KEEP_ALIVE)
_LOOK_INTERVAL_S = 1.0
"""How often a session without events on its socket is checked: a loss is noticed at most this much later."""

_LOOKS_AT_ONCE = 64
_ENDS_AT_ONCE = 16
"""How many sessions are looked at (2 us each), or ended, before others get their turn of the loop."""


class _Held:
    """`signs` is the connection, and `socket` the number of its socket, where that tells all of it; else None.

    `asked` tells whether a sign of life is awaited, since `asked_ns` and until `deadline` where the socket tells of it.
    """

    __slots__ = ("asked", "asked_ns", "clock", "connection", "deadline", "signs", "since_ns", "socket")

    def __init__(self, connection: Connection, clock: StepClock) -> None:
        self.connection = connection
        self.clock = clock
        self.since_ns = monotonic_ns()
        self.signs = connection if isinstance(connection, NonBlockingKeepAlive) else None
        self.socket = self.signs.fileno() if self.signs is not None else None
        self.asked = False
        self.asked_ns = 0
        self.deadline: Deadline | None = None


class HeldSessions:
    """The sessions that one worker holds, by number. One that is lost is counted as a failure, and not replaced."""

    def __init__(self, connector: Connecting, timeouts: Timeouts, recorder: Recorder) -> None:
        self._connector = connector
        self._timeouts = timeouts
        self._recorder = recorder
        self._held: dict[int, _Held] = {}
        self._looked_at: dict[int, _Held] = {}
        self._numbers: dict[int, int] = {}
        self._sockets: IdleSockets | None = None
        self._asking = Group()
        self._awaited = 0
        self._none_awaited = Event()
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
        try:
            self._add_watch(number, held)
        except OSError as error:  # the kernel watches no more sockets: a session without a watcher is not held
            failure = classify_error(error)
            clock.record(_HOLD, held.since_ns, failure.outcome)
            clock.failed(failure.outcome, failure.message)
            self._connector.disconnect(connection)
            return
        self._held[number] = held
        self._recorder.held += 1

    def ask(self, number: int) -> None:
        """Ask the server for a sign of life, if the session is held; without an answer it is lost. Never waits."""
        held = self._held.get(number)
        if held is None or held.asked:
            return
        held.asked = True
        if held.signs is None:
            self._asking.spawn(self._ask_and_wait, number, held)
            return
        self._awaited += 1
        held.asked_ns = monotonic_ns()
        held.deadline = Deadline(self._timeouts.step_s, Timing.KEEP_ALIVE, partial(self._on_deadline, number, held))
        self._go_on(number, held, held.signs)

    def await_signs(self, timeout_s: float) -> None:
        """Wait until no sign of life is awaited any more, but no longer than that."""
        end_s = monotonic() + timeout_s
        self._asking.join(timeout=timeout_s)
        self._none_awaited.clear()
        if self._awaited:
            self._none_awaited.wait(max(end_s - monotonic(), 0))

    def stop_asking(self) -> None:
        """Stop waiting for signs of life: those that are still awaited did not come."""
        self._asking.kill()
        for held in self._held.values():
            if held.deadline is not None:
                self._sign_ended(held, Outcome.UNFINISHED)

    def watch(self) -> None:
        """Check once a second each session without events on its socket, and count the lost ones, until killed."""
        while True:
            numbers = iter(tuple(self._looked_at))
            turns = max(len(self._looked_at) / _LOOKS_AT_ONCE, 1)
            while turn := tuple(islice(numbers, _LOOKS_AT_ONCE)):
                for number in turn:
                    held = self._looked_at.get(number)
                    if held is not None and not held.asked:
                        self._lose_if_closed(number, held)
                sleep(_LOOK_INTERVAL_S / turns)
            if not self._looked_at:
                sleep(_LOOK_INTERVAL_S)

    def close(self, outcome: Outcome) -> None:
        """End all sessions, each held until now with this outcome, and hold no more.

        One that the server has closed unseen was not held until now, and one whose sign of life is still awaited gave
        none.
        """
        self._closed = True
        sockets, self._sockets = self._sockets, None
        if sockets is not None:
            sockets.close()
        for ended, number in enumerate(tuple(self._held), start=1):
            held = self._held.get(number)
            failure = _failure_at_end(held, outcome) if held is not None else None
            if failure is not None:
                self._lose(number, failure)
            elif held is not None:
                self._end(number, outcome)
            if ended % _ENDS_AT_ONCE == 0:
                sleep(0)

    def _add_watch(self, number: int, held: _Held) -> None:
        """Watch the socket, or have the session checked; raises OSError if the kernel cannot."""
        if held.socket is None:
            self._looked_at[number] = held
            return
        self._sockets = self._sockets or IdleSockets(self._on_change)
        self._sockets.add(held.socket)
        self._numbers[held.socket] = number

    def _on_change(self, socket: int, closed: bool) -> None:  # noqa: FBT001 - as IdleSockets calls it
        number = self._numbers[socket]
        held = self._held[number]
        if held.asked and held.signs is not None:
            self._go_on(number, held, held.signs)
        if closed and not held.asked and number in self._held:
            self._lose_if_closed(number, held)

    def _go_on(self, number: int, held: _Held, signs: NonBlockingKeepAlive) -> None:
        """Go on with a sign of life as far as that takes no waiting."""
        try:
            if signs.try_keep_alive():
                self._sign_ended(held, Outcome.OK)
        except BaseException as error:  # noqa: BLE001 - neither whoever asks nor the loop is to end by it
            failure = classify_error(error)
            self._sign_ended(held, failure.outcome)
            self._lose(number, failure)
            if not isinstance(error, StepFailure):
                get_hub().handle_error(self, type(error), error, error.__traceback__)

    def _on_deadline(self, number: int, held: _Held, failure: StepFailure) -> None:
        self._sign_ended(held, failure.outcome)
        self._lose(number, failure)

    def _sign_ended(self, held: _Held, outcome: Outcome) -> None:
        """Count the sign of life that is awaited as ended now."""
        held.clock.record(_KEEP_ALIVE, held.asked_ns, outcome)
        held.asked = False
        if held.deadline is not None:
            held.deadline.cancel()
            held.deadline = None
        self._awaited -= 1
        if not self._awaited:
            self._none_awaited.set()

    def _ask_and_wait(self, number: int, held: _Held) -> None:
        try:
            held.clock.timed(_KEEP_ALIVE, partial(self._keep_alive, held.connection))
        except GreenletExit:
            raise
        except BaseException as error:
            if self._held.get(number) is held:
                self._lose(number, classify_error(error))
            if not isinstance(error, StepFailure):
                raise
        held.asked = False

    def _keep_alive(self, connection: Connection) -> None:
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
        if held.socket is None:
            del self._looked_at[number]
        else:
            del self._numbers[held.socket]
            if self._sockets is not None:
                self._sockets.remove(held.socket)
        if held.deadline is not None:
            self._sign_ended(held, Outcome.UNFINISHED)
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
