"""Logging in: connect to auth, on every host of the way, each part timed and within its limit."""

from collections.abc import Callable

from sshload_contract.client import Timeouts
from sshload_contract.vocabulary import Step, measured_step

from sshload_worker.clients.interface import Connection
from sshload_worker.clients.libraries import new_connection
from sshload_worker.login.login import Login
from sshload_worker.outcomes import StepFailure
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.step_clock import StepClock
from sshload_worker.scenario.time_limit import TimeLimit


class Connector:
    """Makes logged-in connections to one server, and ends them; the recorder knows how many there are."""

    def __init__(self, login: Login, recorder: Recorder, *, shared: bool = False) -> None:
        self._login = login
        self._recorder = recorder
        self._shared = shared

    def connect(self, clock: StepClock, name: str = "") -> Connection:
        """Return a new connection after connect to auth; raises StepFailure or OSError.

        Its parts are timed as those of the step `name`. The logins of jump hosts come first, and are timed as
        `via1.connect` to `via1.login` and so on.
        """
        connection = None
        self._recorder.connections += 1
        self._recorder.opened += 1
        try:
            for number, jump in enumerate(self._login.via, start=1):
                connection = new_connection(jump.at_next_address(), connection)
                _log_in_to_jump(connection, f"via{number}", jump, clock)
            connection = new_connection(self._login.at_next_address(), connection, shared=self._shared)
            step = measured_step(name, Step.LOGIN)
            made, timeouts = connection, self._login.client.timeouts
            clock.timed(step, lambda: _log_in(made, name, timeouts, clock))
            self._recorder.login(connection.negotiated())
        except BaseException:  # a kill too
            self._recorder.connections -= 1
            if connection is not None:
                connection.close()
            raise
        return connection

    def disconnect(self, connection: Connection) -> None:
        """End a connection that `connect` has made. Never waits."""
        self._recorder.connections -= 1
        connection.close()


def _log_in_to_jump(connection: Connection, name: str, jump: Login, clock: StepClock) -> None:
    try:
        clock.timed(measured_step(name, Step.LOGIN), lambda: _log_in(connection, name, jump.client.timeouts, clock))
    except StepFailure as failure:
        raise StepFailure(failure.outcome, f"jump host {jump.host}: {failure.message}") from None


def _log_in(connection: Connection, name: str, timeouts: Timeouts, clock: StepClock) -> None:
    for step, limit_s, call in (
        (Step.CONNECT, timeouts.connect_s, connection.connect),
        (Step.BANNER, timeouts.banner_s, connection.banner),
        (Step.KEX, timeouts.kex_s, connection.kex),
        (Step.AUTH, timeouts.auth_s, connection.auth),
    ):
        _time_part(clock, name, step, limit_s, call)


def _time_part(clock: StepClock, name: str, step: Step, limit_s: float, call: Callable[[], None]) -> None:
    def limited() -> None:
        with TimeLimit(limit_s, step):
            call()

    clock.timed(measured_step(name, step), limited)
