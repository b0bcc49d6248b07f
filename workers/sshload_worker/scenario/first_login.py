"""The login before the load: whether a worker can log in at all is found out once, and nothing of it is counted.

A server or a network may need a moment, so that what may pass is tried again until the connect timeout is over.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from time import monotonic, monotonic_ns
from typing import TypeVar

import gevent
from sshload_contract.run_config import Endpoint, Timeouts
from sshload_contract.run_summary import LoginFailure
from sshload_contract.vocabulary import Outcome, Window, jump_host_of

from sshload_worker.login.login import Address, Login
from sshload_worker.outcomes import MESSAGE_LIMIT_CHARACTERS, StepFailure
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.failure import finding
from sshload_worker.scenario.log_in import LogIn
from sshload_worker.scenario.step_clock import Due, StepClock

_SETTLED = frozenset(
    {Outcome.AUTH_REJECTED, Outcome.HOST_KEY_MISMATCH, Outcome.KEX_FAILED, Outcome.NOT_SSH, Outcome.GENERATOR_FAULT}
)
"""What another attempt would not change; a refused login tried again is what servers punish."""

TOO_MANY = frozenset({Outcome.THROTTLED, Outcome.PENALISED, Outcome.DROPPED_UNKNOWN})
"""Refusals that only say that too many connections come, which is no reason against the load."""

_FIRST_PAUSE_S = 0.2
_LONGEST_PAUSE_S = 2.0
_LEAST_PATIENCE_S = 3.0

log = logging.getLogger(__name__)

T = TypeVar("T")
Tell = Callable[[str], None]


class NotReachedError(Exception):
    """The server was not reached in time; the message is the last problem that was told."""


def within(limit_s: float, wait: Callable[[Tell], T], tell: Tell) -> T:
    """Return what `wait` returns, which tells each problem; raises NotReachedError where it takes longer."""
    last = "no answer"

    def on_problem(problem: str) -> None:
        nonlocal last
        last = problem
        tell(problem)

    limit = gevent.Timeout(limit_s)
    try:
        with limit:
            return wait(on_problem)
    except gevent.Timeout as over:
        if over is not limit:
            raise
        raise NotReachedError(last) from None


def not_reached(worker: int, server: Endpoint, *, behind: bool, outcome: Outcome | None, why: str) -> LoginFailure:
    """Return that the first server of the way was not reached; `behind` it is another, which it is the jump host to."""
    message = why[:MESSAGE_LIMIT_CHARACTERS]
    return LoginFailure(worker, 1 if behind else 0, server.host, server.port, outcome, message)


def log_in_once(worker: int, login: Login, addresses: tuple[Address, ...], tell: Tell) -> LoginFailure | None:
    """Log in to each server of the way and go again; return why it cannot be done, None where it can.

    Of a name with several addresses one that lets the worker in suffices, because the load counts what the others
    refuse. Problems that may pass are told meanwhile.
    """
    failures = []
    for address in addresses:
        failure = _log_in_at(worker, _first_hop_at(login, address), tell)
        if failure is None:
            return None
        failures.append(failure)
    crowded = (failure for failure in failures if failure.outcome in TOO_MANY)
    return next(crowded, failures[-1] if failures else None)


def _log_in_at(worker: int, login: Login, tell: Tell) -> LoginFailure | None:
    deadline_s = monotonic() + patience_s(login.client.timeouts)
    failure = _attempt(worker, login)
    for pause_s in _pauses_s():
        if failure is None or failure.outcome in _SETTLED or monotonic() + pause_s >= deadline_s:
            break
        tell(f"{failure.host}:{failure.port}: {failure.message}")
        gevent.sleep(pause_s)
        failure = _attempt(worker, login)
    return failure


def patience_s(timeouts: Timeouts) -> float:
    """Return how long to try what may pass: a short limit of what is measured is no reason to give up at once."""
    return max(timeouts.connect_s, _LEAST_PATIENCE_S)


def _pauses_s() -> Iterator[float]:
    pause_s = _FIRST_PAUSE_S
    while True:
        yield pause_s
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)


def _first_hop_at(login: Login, address: Address) -> Login:
    """Return the Login with the first server of its way at this address alone."""
    if not login.via:
        return replace(login, address=address, turns=None)
    return replace(login, via=(replace(login.via[0], address=address, turns=None), *login.via[1:]))


def _attempt(worker: int, login: Login) -> LoginFailure | None:
    recorder = Recorder("", worker)  # thrown away with all that it counts
    now_ns = monotonic_ns()
    clock = StepClock(recorder, Due(at_ns=now_ns, window=Window.WARM_UP, window_end_ns=now_ns))
    log_in = LogIn(login, recorder)
    try:
        connection = log_in.begin(clock)
    except Exception as error:  # whatever it is, the master is to know at once
        if not isinstance(error, StepFailure | OSError):
            log.exception("the worker met an error of its own")
        return _failure(worker, login, clock, finding(error))
    log_in.end(connection)
    return None


def _failure(worker: int, login: Login, clock: StepClock, failure: StepFailure) -> LoginFailure:
    jump_host = jump_host_of(clock.failed_step)
    server = login.via[jump_host - 1] if jump_host else login
    message = failure.message.removeprefix(f"jump host {server.host}: ")
    return LoginFailure(worker, jump_host, server.host, server.port, failure.outcome, message)
