"""Before the load: wait until the server answers, and log in once to find out whether that works. Nothing is counted.

A server or a network may need a moment, so TCP connections are tried until they succeed, in attempts short enough that
one lost packet costs no minutes, and a login that may succeed later is tried until the connect timeout is over.
"""

import logging
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from time import monotonic, monotonic_ns
from typing import TypeVar

import gevent
from sshload_contract.client import Timeouts
from sshload_contract.vocabulary import Outcome, Window, jump_host_of
from sshload_contract.wire.report import LoginFailure
from sshload_contract.wire.run_config import Endpoint, GatewayEndpoint

from sshload_worker.login.login import Address, Login
from sshload_worker.outcomes import MESSAGE_LIMIT_CHARACTERS, StepFailure
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.sessions import Connector
from sshload_worker.scenario.step_clock import Due, StepClock, classify_error

_FIRST_DIAL_ATTEMPT_S = 0.2  # a Service that is being made loses the first packet now and then
_DIAL_ATTEMPT_S = 1.0
_DIAL_PAUSE_S = 0.1
_GREETING_S = 5.0
_REFUSED_PAUSE_S = 0.5
_VERSION_START = b"SSH-"
_GREETING_LIMIT_BYTES = 8_192
_REPORTED_CHARACTERS = 100

_FINAL_OUTCOMES = frozenset(
    {Outcome.AUTH_REJECTED, Outcome.HOST_KEY_MISMATCH, Outcome.KEX_FAILED, Outcome.NOT_SSH, Outcome.GENERATOR_FAULT}
)
"""Outcomes that another attempt would not change; servers punish repeated refused logins."""

OVERLOAD_OUTCOMES = frozenset({Outcome.THROTTLED, Outcome.PENALISED, Outcome.DROPPED_UNKNOWN})
"""Refusals that only say that there are too many connections, which does not prevent the load."""

_FIRST_RETRY_PAUSE_S = 0.2
_LONGEST_RETRY_PAUSE_S = 2.0
_LEAST_PATIENCE_S = 3.0
_ADDRESSES_LIMIT_CHARACTERS = 500
_LEAST_SHARE = 0.02
"""The least share of one address's time that each of several has."""

_LEAST_LIMIT_S = 0.001
"""The shortest limit that a spec can set: its share is not shorter, because with 0 nothing can succeed."""

log = logging.getLogger(__name__)

T = TypeVar("T")
OnProblem = Callable[[str], None]
"""Gets the reason why it does not work yet."""


def dial_until_accepted(host: str, port: int, on_problem: OnProblem) -> None:
    """Return once `host` takes a TCP connection at `port`, which is closed at once; tell each problem meanwhile.

    The first attempt has 0.2 s, and each that is not answered in time is followed by one with twice as much, up to 1 s.
    """
    limit_s = min(_FIRST_DIAL_ATTEMPT_S, _DIAL_ATTEMPT_S)
    while True:
        try:
            socket.create_connection((host, port), timeout=limit_s).close()
        except OSError as error:
            if isinstance(error, TimeoutError):
                limit_s = min(2 * limit_s, _DIAL_ATTEMPT_S)
            on_problem(f"{host}:{port}: {error.strerror or error}")
            gevent.sleep(_DIAL_PAUSE_S)
        else:
            return


def dial_until_banner(host: str, port: int, on_problem: OnProblem) -> None:
    """Return once the server at `port` greets with its SSH version (RFC 4253 section 4.2); tell each problem meanwhile.

    A server that is still full of connections, or that punishes this source for having given some up, closes them with
    other words or with none (sshd: MaxStartups, PerSourcePenalties).
    """
    while True:
        try:
            received = _greeting(host, port)
        except OSError as error:
            on_problem(f"{host}:{port}: {error.strerror or error}")
        else:
            if received.startswith(_VERSION_START) or b"\n" + _VERSION_START in received:
                return
            words = received.decode("ascii", "replace").strip()[:_REPORTED_CHARACTERS]
            on_problem(
                f"{host}:{port}: no SSH version, but {words!r}" if words else f"{host}:{port}: it closed unasked"
            )
        gevent.sleep(_REFUSED_PAUSE_S)


def _greeting(host: str, port: int) -> bytes:
    """Return the server's bytes up to the begin of its version, to its close, or to the limit."""
    received = b""
    with socket.create_connection((host, port), timeout=_DIAL_ATTEMPT_S) as connection:
        connection.settimeout(_GREETING_S)
        while _VERSION_START not in received and len(received) < _GREETING_LIMIT_BYTES:
            data = connection.recv(_GREETING_LIMIT_BYTES)
            if not data:
                break
            received += data
    return received


class UnreachableError(Exception):
    """The server was not reached in time; the message is the last problem that was reported."""


def wait_within(limit_s: float, wait: Callable[[OnProblem], T], tell: OnProblem) -> T:
    """Return the result of `wait`, which reports each problem; raises UnreachableError where it takes longer."""
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
        raise UnreachableError(last) from None


def unreachable_failure(
    worker: int, server: Endpoint | GatewayEndpoint, *, behind: bool, outcome: Outcome | None, why: str
) -> LoginFailure:
    """Return that the first server of the way was not reached; `behind` it is another, which it is the jump host to."""
    message = why[:MESSAGE_LIMIT_CHARACTERS]
    return LoginFailure(worker, 1 if behind else 0, server.host, server.port, outcome, message)


def log_in_once(worker: int, login: Login, addresses: tuple[Address, ...], tell: OnProblem) -> LoginFailure | None:
    """Log in to each server of the way and go again; return why it cannot be done, None where it can.

    Of a name with several addresses one that lets the worker in suffices, because the load counts what the others
    refuse. Together they take no longer than one would: each has an equal share of that time, and of what those before
    it have left of theirs. The failure then says what became of each. Problems that may pass are told meanwhile.
    """
    longest_s = _longest_s(login)
    deadline_s = monotonic() + longest_s
    failures: list[tuple[str, LoginFailure]] = []
    for number, address in enumerate(addresses):
        share_s = (deadline_s - monotonic()) / (len(addresses) - number)
        share = max(share_s / longest_s, _LEAST_SHARE)
        failure = _log_in_at(worker, _first_hop_at(login, address), tell, share)
        if failure is None:
            return None
        failures.append((str(address[1][0]), failure))
    overloaded = (failure for _, failure in failures if failure.outcome in OVERLOAD_OUTCOMES)
    return next(overloaded, None) or _summarize_failures(failures)


def _summarize_failures(failures: list[tuple[str, LoginFailure]]) -> LoginFailure | None:
    """Return the last failure, which says where there are several how each address has failed."""
    if len(failures) < 2:  # noqa: PLR2004 - one address is the server
        return failures[0][1] if failures else None
    alike: dict[Outcome | None, list[str]] = {}
    for address, failure in failures:
        alike.setdefault(failure.outcome, []).append(address)
    messages = {failure.outcome: failure.message for _, failure in failures}
    said = "; ".join(f"{', '.join(where)}: {messages[outcome]}" for outcome, where in alike.items())
    return replace(failures[-1][1], message=said[:_ADDRESSES_LIMIT_CHARACTERS])


def _longest_s(login: Login) -> float:
    """Return the longest time of a login at one address: an attempt may begin when patience is nearly over."""
    timeouts = login.client.timeouts
    attempt_s = timeouts.connect_s + timeouts.banner_s + timeouts.kex_s + timeouts.auth_s
    return patience_s(timeouts) + attempt_s * (len(login.via) + 1)


def _with_shorter_timeouts(login: Login, share: float) -> Login:
    """Return the Login whose parts may take only this share of their time, on the way to it too."""
    limits = login.client.timeouts
    names = ("connect_s", "banner_s", "kex_s", "auth_s")
    timeouts = replace(limits, **{name: max(round(getattr(limits, name) * share, 3), _LEAST_LIMIT_S) for name in names})
    via = tuple(_with_shorter_timeouts(jump, share) for jump in login.via)
    return replace(login, client=replace(login.client, timeouts=timeouts), via=via)


def _log_in_at(worker: int, login: Login, tell: OnProblem, share: float) -> LoginFailure | None:
    deadline_s = monotonic() + patience_s(login.client.timeouts) * share
    shortened = _with_shorter_timeouts(login, share) if share < 1 else login
    failure = _attempt(worker, shortened)
    for pause_s in pauses_s():
        if failure is None or failure.outcome in _FINAL_OUTCOMES or monotonic() + pause_s >= deadline_s:
            break
        tell(f"{failure.host}:{failure.port}: {failure.message}")
        gevent.sleep(pause_s)
        failure = _attempt(worker, shortened)
    return failure


def patience_s(timeouts: Timeouts) -> float:
    """Return the time to retry problems that may pass: a short limit of a measured step does not shorten it."""
    return max(timeouts.connect_s, _LEAST_PATIENCE_S)


def pauses_s() -> Iterator[float]:
    """Yield the pauses between attempts, without end."""
    pause_s = _FIRST_RETRY_PAUSE_S
    while True:
        yield pause_s
        pause_s = min(2 * pause_s, _LONGEST_RETRY_PAUSE_S)


def _first_hop_at(login: Login, address: Address) -> Login:
    """Return the Login with the first server of its way at this address alone."""
    if not login.via:
        return replace(login, address=address, turns=None)
    return replace(login, via=(replace(login.via[0], address=address, turns=None), *login.via[1:]))


def _attempt(worker: int, login: Login) -> LoginFailure | None:
    recorder = Recorder("", worker)  # thrown away with all that it counts
    now_ns = monotonic_ns()
    clock = StepClock(recorder, Due(at_ns=now_ns, window=Window.WARM_UP, window_end_ns=now_ns))
    connector = Connector(login, recorder)
    try:
        connection = connector.connect(clock)
    except Exception as error:  # whatever it is, the master is to know at once
        if not isinstance(error, StepFailure | OSError):
            log.exception("the worker met an error of its own")
        return _failure(worker, login, clock, classify_error(error))
    connector.disconnect(connection)
    return None


def _failure(worker: int, login: Login, clock: StepClock, failure: StepFailure) -> LoginFailure:
    jump_host = jump_host_of(clock.failed_step)
    server = login.via[jump_host - 1] if jump_host else login
    message = failure.message.removeprefix(f"jump host {server.host}: ")
    return LoginFailure(worker, jump_host, server.host, server.port, failure.outcome, message)
