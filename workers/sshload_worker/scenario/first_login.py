"""Before the load: wait until the server answers, and log in once to check that this works. Nothing is counted.

A server or a network may need a moment. So TCP connections are attempted until one succeeds, with timeouts so short
that one lost packet does not cost minutes. A login that may succeed later is repeated for the connect timeout, and for
at least 3 s.
"""

import logging
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from time import monotonic, monotonic_ns, time
from typing import TypeVar

import gevent
from sshload_contract.client import DEFAULT_TOTP, Timeouts
from sshload_contract.shortened import shortened
from sshload_contract.vocabulary import Outcome, Timing, Trait, Window, jump_host_of
from sshload_contract.wire.report import LoginFailure
from sshload_contract.wire.run_config import TargetEndpoint

from sshload_worker.clients.libraries import known_algorithms
from sshload_worker.clients.offers import NoOfferError, kex_not_offered, nothing_in_common, server_offer
from sshload_worker.login.login import Address, Login
from sshload_worker.outcomes import MESSAGE_LIMIT_CHARACTERS, StepFailure
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.sessions import Connector
from sshload_worker.scenario.step_clock import Due, StepClock, classify_error

_FIRST_DIAL_ATTEMPT_S = 0.2  # the first packet to a new Service is sometimes lost
_DIAL_ATTEMPT_S = 1.0
_DIAL_PAUSE_S = 0.1
_GREETING_S = 5.0
_REFUSED_PAUSE_S = 0.5
_VERSION_START = b"SSH-"
_GREETING_LIMIT_BYTES = 8_192
_REPORTED_CHARACTERS = 100

_KEX_ENDS = frozenset({Outcome.KEX_FAILED, Outcome.DISCONNECTED})
"""How a key exchange ends without a common algorithm: the server may close the connection first."""

_FIRST_RETRY_PAUSE_S = 0.2
_LONGEST_RETRY_PAUSE_S = 2.0
_LEAST_PATIENCE_S = 3.0
_ADDRESSES_LIMIT_CHARACTERS = 500
_LEAST_SHARE = 0.02
"""The smallest share of one address's time that each of several addresses gets."""

_LEAST_LIMIT_S = 0.001
"""The shortest timeout that a spec can set. A share of a timeout is not shorter: nothing succeeds within 0 s."""

_CODE_REFUSED = frozenset({Outcome.AUTH_REJECTED, Outcome.SECOND_FACTOR_REUSED})
"""How a login ends whose code may have been used before."""

log = logging.getLogger(__name__)

T = TypeVar("T")
OnProblem = Callable[[str], None]
"""Is called with the reason why it does not work yet."""


def dial_until_accepted(host: str, port: int, on_problem: OnProblem) -> None:
    """Return once `host` accepts a TCP connection at `port`, and close it. Report each problem until then.

    The timeout of the first attempt is 0.2 s. It doubles after each attempt that times out, up to 1 s.
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
    """Return once the server at `port` sends its SSH version (RFC 4253 section 4.2). Report each problem until then.

    A server that still has too many connections, or penalises this source for abandoned ones, closes new connections
    without a version, with or without another text (sshd: MaxStartups, PerSourcePenalties).
    """
    while True:
        try:
            received = _read_greeting(host, port)
        except OSError as error:
            on_problem(f"{host}:{port}: {error.strerror or error}")
        else:
            if received.startswith(_VERSION_START) or b"\n" + _VERSION_START in received:
                return
            text = shortened(received.decode("ascii", "replace").strip(), _REPORTED_CHARACTERS)
            sent = f"sent {text!r}, which is not an SSH version" if text else "closed the connection"
            on_problem(f"{host}:{port}: the server {sent}")
        gevent.sleep(_REFUSED_PAUSE_S)


def _read_greeting(host: str, port: int) -> bytes:
    """Return what the server sends, until its version begins, it closes, or the limit is reached."""
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
    """The server was not reached in time. The message is the last problem that was reported."""


def wait_within(limit_s: float, wait: Callable[[OnProblem], T], tell: OnProblem) -> T:
    """Return the result of `wait`, which reports each problem; raises UnreachableError if it takes longer."""
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
    worker: int, server: TargetEndpoint, *, behind: bool, outcome: Outcome | None, why: str
) -> LoginFailure:
    """Return the failure to reach the first server on the way. It is a jump host if the target is `behind` it."""
    message = shortened(why, MESSAGE_LIMIT_CHARACTERS)
    return LoginFailure(worker, 1 if behind else 0, server.host, server.port, outcome, message)


def log_in_once(worker: int, login: Login, addresses: tuple[Address, ...], tell: OnProblem) -> LoginFailure | None:
    """Log in to each server on the way and disconnect; return why this failed, or None.

    If a name has several addresses, one successful login is enough, because the load counts what the other addresses
    refuse. All addresses together get the time of one: each gets an equal share of the time that is left. The failure
    then says what happened at each address. Problems that may pass are reported.
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
    overloaded = (failure for _, failure in failures if failure.outcome in Outcome.having(Trait.OVERLOAD))
    first_hop = login.via[0].host if login.via else login.host
    return next(overloaded, None) or _summarize_failures(failures, first_hop)


def log_in_once_by_code(
    worker: int, login: Login, addresses: tuple[Address, ...], tell: OnProblem
) -> LoginFailure | None:
    """Do what `log_in_once` does where a server takes a code once: so one worker logs in as each user.

    A refusal may be of a code that was used before this run, so the next one is tried too. Then it waits until nobody
    has used the code of now.
    """
    if worker >= (1 if login.population is None else len(login.population)):
        return None
    failure = log_in_once(worker, login, addresses, tell)
    if failure is not None and failure.outcome in _CODE_REFUSED:
        tell(f"{failure.host}:{failure.port}: {failure.message}; the next code is tried")
        gevent.sleep(_until_next_code_s(login))
        failure = log_in_once(worker, login, addresses, tell)
    if failure is None:
        gevent.sleep(_until_next_code_s(login))
    return failure


def _until_next_code_s(login: Login) -> float:
    period_s = (login.client.totp or DEFAULT_TOTP).period_s
    return period_s - time() % period_s


def better_kex(login: Login, addresses: tuple[Address, ...]) -> str | None:
    """Return what RunSummary.better_kex is. Behind a jump host the server is not asked."""
    if login.via or not addresses:
        return None
    try:
        return kex_not_offered(login, known_algorithms(login.client.library), server_offer(addresses[0]))
    except NoOfferError:
        return None


def _summarize_failures(failures: list[tuple[str, LoginFailure]], first_hop: str) -> LoginFailure | None:
    """Return the last failure. Its message says how each address of the first hop's name failed."""
    if not failures:
        return None
    if len(failures) == 1 and (failures[0][0] == first_hop or failures[0][1].host != first_hop):
        return failures[0][1]
    alike: dict[Outcome | None, list[str]] = {}
    for address, failure in failures:
        alike.setdefault(failure.outcome, []).append(address)
    messages = {failure.outcome: failure.message for _, failure in failures}
    said = "; ".join(f"{', '.join(where)}: {messages[outcome]}" for outcome, where in alike.items())
    return replace(failures[-1][1], message=shortened(said, _ADDRESSES_LIMIT_CHARACTERS))


def _longest_s(login: Login) -> float:
    """Return the longest time of a login at one address: the last attempt may begin just before the deadline."""
    timeouts = login.client.timeouts
    attempt_s = timeouts.connect_s + timeouts.banner_s + timeouts.kex_s + timeouts.auth_s
    return patience_s(timeouts) + attempt_s * (len(login.via) + 1)


def _with_shorter_timeouts(login: Login, share: float) -> Login:
    """Return the Login with its timeouts, and those of its jump hosts, multiplied by `share`."""
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
        if failure is None or failure.outcome in Outcome.having(Trait.FINAL) or monotonic() + pause_s >= deadline_s:
            break
        tell(f"{failure.host}:{failure.port}: {failure.message}")
        gevent.sleep(pause_s)
        failure = _attempt(worker, shortened)
    return failure


def patience_s(timeouts: Timeouts) -> float:
    """Return for how long to retry after problems that may pass: the connect timeout, but at least 3 s."""
    return max(timeouts.connect_s, _LEAST_PATIENCE_S)


def pauses_s() -> Iterator[float]:
    """Yield the pauses between attempts, without end."""
    pause_s = _FIRST_RETRY_PAUSE_S
    while True:
        yield pause_s
        pause_s = min(2 * pause_s, _LONGEST_RETRY_PAUSE_S)


def _first_hop_at(login: Login, address: Address) -> Login:
    """Return the Login with only this address for the first server on the way."""
    if not login.via:
        return replace(login, address=address, turns=None)
    return replace(login, via=(replace(login.via[0], address=address, turns=None), *login.via[1:]))


def _attempt(worker: int, login: Login) -> LoginFailure | None:
    recorder = Recorder("", worker)  # discarded, with all that it counts
    clock = StepClock(recorder, Due(at_ns=monotonic_ns(), window=Window.WARM_UP, turn=worker))
    connector = Connector(login, recorder)
    try:
        connection = connector.connect(clock)
    except Exception as error:  # the master must know of any error at once
        if not isinstance(error, StepFailure | OSError):
            log.exception("internal error of the worker")
        return _failure(worker, login, clock, classify_error(error))
    connector.disconnect(connection)
    return None


def _failure(worker: int, login: Login, clock: StepClock, failure: StepFailure) -> LoginFailure:
    jump_host = jump_host_of(clock.failed_step)
    server = login.via[jump_host - 1] if jump_host else login
    message = failure.message.removeprefix(f"jump host {server.host}: ")
    outcome = failure.outcome
    if outcome in _KEX_ENDS and clock.failed_step.endswith(Timing.KEX) and (lacking := _lacking(server)):
        outcome, message = Outcome.KEX_FAILED, lacking
    if not jump_host and login.population is not None and clock.login is not None and clock.login.place is not None:
        message = f"{login.population.described(clock.login.place)}: {message}"
    return LoginFailure(worker, jump_host, server.host, server.port, outcome, message)


def _lacking(server: Login) -> str:
    """Return which algorithms a server and the client do not share, "" if that is not known or not the reason."""
    if server.address is None:
        return ""
    try:
        return nothing_in_common(server, known_algorithms(server.client.library), server_offer(server.address))
    except NoOfferError:
        return ""
