"""Sessions: who logs in, and when. Every iteration takes its connection here, and gives it back."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from sshload_contract.run_config import Timeouts
from sshload_contract.vocabulary import Step, measured_step

from sshload_worker.clients.interface import Connection
from sshload_worker.clients.libraries import new_connection
from sshload_worker.login.login import Login
from sshload_worker.outcomes import StepFailure
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.step_clock import StepClock
from sshload_worker.scenario.time_limit import TimeLimit


class Sessions(Protocol):
    """Where iterations get their connections from."""

    def take(self, clock: StepClock, user: int | None) -> Connection:
        """Return a logged-in connection for an iteration, which may be that of a user; raises StepFailure or OSError.

        The time that a login takes within it is the iteration's.
        """

    def give_back(self, connection: Connection, user: int | None, *, usable: bool) -> None:
        """Take back the connection of an iteration that has ended; after a failure it is not usable. Never waits."""


@dataclass(frozen=True, slots=True)
class SessionPerIteration:
    """Every iteration logs in for itself."""

    login: Login
    recorder: Recorder

    def take(self, clock: StepClock, user: int | None) -> Connection:  # noqa: ARG002 - whoever it is
        """Return a connection that is logged in just now."""
        return logged_in(self.login, clock, self.recorder)

    def give_back(self, connection: Connection, user: int | None, *, usable: bool) -> None:  # noqa: ARG002 - likewise
        """Close the connection."""
        connection.close()


def logged_in(login: Login, clock: StepClock, recorder: Recorder) -> Connection:
    """Return a new connection after connect to auth, each timed and within its limit; raises StepFailure or OSError.

    The logins of jump hosts come first, and are timed as `via1.connect` to `via1.login` and so on.
    """
    connection = None
    try:
        for number, jump in enumerate(login.via, start=1):
            connection = new_connection(jump, connection)
            _log_in_to_jump(connection, f"via{number}", jump, clock)
        connection = new_connection(login, connection)
        clock.timed(str(Step.LOGIN), partial(_log_in, connection, "", login.client.timeouts, clock))
        recorder.login(connection.negotiated())
    except BaseException:  # a kill too
        if connection is not None:
            connection.close()
        raise
    return connection


def _log_in_to_jump(connection: Connection, name: str, jump: Login, clock: StepClock) -> None:
    try:
        clock.timed(measured_step(name, Step.LOGIN), partial(_log_in, connection, name, jump.client.timeouts, clock))
    except StepFailure as failure:
        raise StepFailure(failure.outcome, f"jump host {jump.host}: {failure.message}") from None


def _log_in(connection: Connection, name: str, timeouts: Timeouts, clock: StepClock) -> None:
    for step, limit_s, call in (
        (Step.CONNECT, timeouts.connect_s, connection.connect),
        (Step.BANNER, timeouts.banner_s, connection.banner),
        (Step.KEX, timeouts.kex_s, connection.kex),
        (Step.AUTH, timeouts.auth_s, connection.auth),
    ):
        clock.timed(measured_step(name, step), partial(_limited, step, limit_s, call))


def _limited(step: Step, limit_s: float, call: Callable[[], None]) -> None:
    with TimeLimit(limit_s, step):
        call()
