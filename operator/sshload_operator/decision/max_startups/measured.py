"""What a run measured about connections to sshd: how they arrived, how many, how long they took, how many were lost."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sshload_contract.client import Library, Timeouts
from sshload_contract.judgement.figures import find_step
from sshload_contract.load import Load
from sshload_contract.vocabulary import Outcome, Timing, Trait, Window, measured_step
from sshload_contract.wire.run_config import SessionReuse
from sshload_contract.wire.run_summary import StepStats, Trial

from sshload_operator.decision.max_startups.arrivals import (
    Arrivals,
    Burst,
    Even,
    Memoryless,
    Users,
)
from sshload_operator.planning.plan import Plan

LEAST_LOGINS = 30
MOST_EVEN = 15.0
"""From this number of unauthenticated connections on, even arrivals are treated as a Poisson process."""
_PARTS = (Timing.BANNER, Timing.KEX, Timing.AUTH)
_MOST_OTHER_FAILURES = 0.1
_SHORTEST_AWAY_S = 0.001
_US_PER_S = 1_000_000
_SYN_AGAIN_US = 1_000_000


class NoFiguresError(Exception):
    """No advice can be given for the run; the text says why, and what to change."""


@dataclass(frozen=True, slots=True)
class Logins:
    """Connections that arrived at sshd by one process within `lasted_s`, or in bursts, each at one instant.

    `dropped` of `attempted` got sshd's message that they were dropped; `unexplained` were closed before the banner
    without a message. Those that were not dropped took on average `time_s` to log in, and at least `alone_s`.
    `overflowed`: a burst was too large for sshd's listen queue, so the rest of it came later, or never. The target's
    CPU allows at least `cpu_allows_per_s` logins per second, None if the target does not report it; with
    `cpu_is_limited` no more than that.
    """

    arrivals: Arrivals
    attempted: int
    dropped: int
    unexplained: int
    lasted_s: float
    alone_s: float
    time_s: float
    overflowed: bool
    cpu_allows_per_s: float | None = None
    cpu_is_limited: bool = False

    @property
    def drop_share(self) -> float:
        """The share of connections that was dropped."""
        return self.dropped / self.attempted


def measured_logins(plan: Plan, trial: Trial) -> tuple[Logins, ...]:
    """Return the logins of the measured window, grouped by their arrival process.

    Raises NoFiguresError if there is nothing to base advice on.
    """
    scenario, load = plan.spec.scenario, plan.spec.load.trial_at(trial.amount)
    if plan.spec.client.library is Library.OPENSSH:
        raise NoFiguresError("the client library openssh does not report how long a login takes by itself")
    if load.held_sessions:
        probes = () if scenario.session_reuse is not SessionReuse.NONE else _of_probes(plan, load, trial)
        return (*_of_held(plan, load, trial), *probes)
    if scenario.session_reuse is not SessionReuse.NONE:
        raise NoFiguresError(
            f"with scenario.sessionReuse {scenario.session_reuse} logins are rare, and it is their rate that counts"
        )
    overflowed = bool(load.bursts) and _overflowed(trial)
    logins = _logins(plan, trial, "", trial.load.duration_s, overflowed=overflowed)
    return (replace(logins, arrivals=_manner(plan, load, trial, logins)),)


def _of_held(plan: Plan, load: Load, trial: Trial) -> Iterator[Logins]:
    if load.before_iterations_s == 0:
        logins = _logins(plan, trial, "held", trial.load.duration_s)
        yield replace(logins, arrivals=Burst(logins.attempted, 1))
        return
    logins = _logins(plan, trial, "held", load.before_iterations_s)
    yield replace(logins, arrivals=_open(plan, logins, is_even=True))


def _of_probes(plan: Plan, load: Load, trial: Trial) -> Iterator[Logins]:
    """Yield the probes' logins if they are enough. Without them, those of the held sessions are enough."""
    try:
        logins = _logins(plan, trial, "", trial.load.duration_s - load.before_iterations_s)
    except NoFiguresError:
        return
    yield replace(logins, arrivals=_open(plan, logins, is_even=True))


def _manner(plan: Plan, load: Load, trial: Trial, logins: Logins) -> Arrivals:
    if not load.is_steady:
        raise NoFiguresError(
            "the load has several levels, whose login times cannot be separated: use a steady load, or load.capacity"
        )
    if load.bursts:
        return _bursts(plan, load, _longest_login_s(trial))
    if load.most_users:
        logged_in_s = logins.time_s * (1 - logins.drop_share)
        away_s = load.most_users * logins.lasted_s / logins.attempted - logged_in_s
        return Users(load.most_users, max(away_s, _SHORTEST_AWAY_S))
    return _open(plan, logins, is_even=load.is_even)


def _bursts(plan: Plan, load: Load, longest_s: float) -> Burst:
    if plan.spec.via:
        raise NoFiguresError("behind jump hosts a burst does not come at one instant")
    interval_s = load.lasts_s / load.bursts
    if load.bursts > 1 and longest_s > interval_s:
        raise NoFiguresError(
            f"a login took up to {longest_s:.3g} s, so that each burst met logins of the burst {interval_s:g} s before"
            " it. Use a longer interval"
        )
    return Burst(load.most_connections, load.bursts)


def _longest_login_s(trial: Trial) -> float:
    login = find_step(trial, Timing.LOGIN, Window.MEASURED)
    return 0.0 if login is None else (login.max_us or 0) / _US_PER_S


def _open(plan: Plan, logins: Logins, *, is_even: bool) -> Memoryless | Even:
    """Return the arrivals, as memoryless if that makes no difference, or if jump hosts have spread them."""
    per_s = logins.attempted / logins.lasted_s
    even = is_even and not plan.spec.via and per_s * logins.time_s < MOST_EVEN
    return Even(per_s) if even else Memoryless(per_s)


def _overflowed(trial: Trial) -> bool:
    """Return whether the listen queue was too small: by the target's count, or else by TCP's retry after a second."""
    before, after = trial.target_before, trial.target_after
    counts = [None if stats is None else stats.listen_overflows for stats in (before, after)]
    if counts[0] is not None and counts[1] is not None:
        return counts[1] > counts[0]
    connect = find_step(trial, Timing.CONNECT, Window.MEASURED)
    return connect is not None and (connect.max_us or 0) >= _SYN_AGAIN_US


def _logins(plan: Plan, trial: Trial, name: str, lasted_s: float, *, overflowed: bool = False) -> Logins:
    connect = find_step(trial, measured_step(name, Timing.CONNECT), Window.MEASURED)
    parts = [find_step(trial, measured_step(name, part), Window.MEASURED) for part in _PARTS]
    timed = [part for part in parts if part is not None and part.mean_us is not None and part.min_us is not None]
    if connect is None or lasted_s <= 0 or len(timed) < len(_PARTS) or timed[-1].count < LEAST_LOGINS:
        raise NoFiguresError(f"at least {LEAST_LOGINS} logins are needed to know how long they take")
    failures = _failures(trial, name)
    never_came = failures.pop((Timing.BANNER, Outcome.BANNER_TIMEOUT), 0) if overflowed else 0
    attempted = connect.count - never_came
    dropped = sum(failures.get((Timing.BANNER, outcome), 0) for outcome in Outcome.having(Trait.MAX_STARTUPS))
    others = sum(failures.values()) - dropped
    accepted = attempted - dropped
    if others > accepted * _MOST_OTHER_FAILURES:
        raise NoFiguresError(f"{others} of {attempted} connections failed for other reasons than a drop")
    waited_s = _waited_in_vain_s(plan.spec.client.timeouts, failures)
    return Logins(
        arrivals=Memoryless(attempted / lasted_s),
        attempted=attempted,
        dropped=dropped,
        unexplained=failures.get((Timing.BANNER, Outcome.RESET_BEFORE_BANNER), 0),
        lasted_s=lasted_s,
        alone_s=_seconds(timed, "min_us"),
        time_s=_seconds(timed, "mean_us") + waited_s / accepted,
        overflowed=overflowed,
        cpu_allows_per_s=_cpu_allows_per_s(trial),
        cpu_is_limited=_is_limited_by_cpu(plan, trial),
    )


def _cpu_allows_per_s(trial: Trial) -> float | None:
    """Return how many logins per second the target's CPU limit allows at least; without a limit, one core.

    CPU time of sessions after their logins counts as CPU time of logins, so the CPU allows more, unless iterations only
    log in.
    """
    before, after = trial.target_before, trial.target_after
    if before is None or after is None:
        return None
    accepted, cpu_s = after.accepted - before.accepted, after.sshd_cpu_s - before.sshd_cpu_s
    if accepted < LEAST_LOGINS or cpu_s <= 0:
        return None
    return (after.cpu_limit_cores or 1.0) * accepted / cpu_s


def _is_limited_by_cpu(plan: Plan, trial: Trial) -> bool:
    """Return whether the CPU allows no more logins than that: it has a limit, and sessions do nothing but log in."""
    after = trial.target_after
    return after is not None and after.cpu_limit_cores is not None and plan.spec.scenario.only_logs_in


def _failures(trial: Trial, name: str) -> dict[tuple[Timing, Outcome], int]:
    parts = {measured_step(name, part): part for part in _PARTS}
    measured = [error for error in trial.errors if error.window is Window.MEASURED and error.step in parts]
    return {(parts[error.step], error.outcome): error.count for error in measured}


def _waited_in_vain_s(timeouts: Timeouts, failures: dict[tuple[Timing, Outcome], int]) -> float:
    """Return the total time for which connections were open that were finally given up."""
    limits = {
        Outcome.BANNER_TIMEOUT: timeouts.banner_s,
        Outcome.KEX_TIMEOUT: timeouts.kex_s,
        Outcome.AUTH_TIMEOUT: timeouts.auth_s,
    }
    return sum(count * limits.get(outcome, 0.0) for (_, outcome), count in failures.items())


def _seconds(parts: list[StepStats], figure: str) -> float:
    return float(sum(getattr(part, figure) for part in parts)) / _US_PER_S
