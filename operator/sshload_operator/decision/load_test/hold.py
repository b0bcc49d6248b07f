"""What held sessions are and cost: how many, what each takes of a managed target, and what a newcomer sees of them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sshload_contract.judgement.figures import find_step
from sshload_contract.percentiles import percentile_key
from sshload_contract.vocabulary import Timing, Window
from sshload_contract.wire.run_summary import RunSummary, StepStats

from sshload_operator.api.status.figures import milliseconds, rounded
from sshload_operator.api.status.results import FreshLogin, HoldResult

_MEDIAN = percentile_key(50)


def held(summary: RunSummary) -> HoldResult | None:
    """Return what was held after the ramp, None if the run ended before."""
    load = summary.load
    if load.held_most is None or load.held_least is None:
        return None
    return HoldResult(load.held_most, load.held_least, _fresh_login(summary))


@dataclass(frozen=True, slots=True)
class PerSession:
    """What a target took for each session that it had; `upper_bound` says that it may have taken less memory."""

    memory_bytes: int
    processes: float
    upper_bound: bool


def per_session(summary: RunSummary) -> PerSession | None:
    """Return what the target took for each session that it had when the most were held, beyond what it took idle.

    What it says of itself is of one instant, so its own count of sessions is the divisor: a probe's counts as well.
    Nothing is stated where it took no more than before, or was restarted in between.
    """
    before, then = summary.target_before, summary.target_held
    if before is None or then is None or then.accepted < before.accepted:
        return None
    sessions = then.sessions - before.sessions
    memory_bytes, processes = then.memory_bytes - before.memory_bytes, then.processes - before.processes
    if sessions <= 0 or memory_bytes <= 0 or processes <= 0:
        return None
    return PerSession(round(memory_bytes / sessions), rounded(processes / sessions), then.memory_is_upper_bound)


def _fresh_login(summary: RunSummary) -> FreshLogin | None:
    """Return the login of the probes beside the held sessions and, of the warm-up, with nothing held.

    The bounds of the ratio set each median's 95 % interval against the other's, so they hold it in 90 % of all runs at
    least.
    """
    beside, alone = (find_step(summary, Timing.LOGIN, window) for window in (Window.MEASURED, Window.WARM_UP))
    found = FreshLogin(
        p50_ms=milliseconds(_percentile_us(beside, 50)),
        p99_ms=milliseconds(_percentile_us(beside, 99)),
        alone_p50_ms=milliseconds(_percentile_us(alone, 50)),
        alone_p99_ms=milliseconds(_percentile_us(alone, 99)),
    )
    if beside is not None and alone is not None:
        found = replace(
            found,
            p50_ratio=_ratio(beside.percentiles_us, alone.percentiles_us),
            p50_ratio_low=_ratio(beside.percentiles_low_us, alone.percentiles_high_us),
            p50_ratio_high=_ratio(beside.percentiles_high_us, alone.percentiles_low_us),
        )
    return None if found == FreshLogin() else found


def _ratio(medians_us: Mapping[str, int | None], to_us: Mapping[str, int | None]) -> float | None:
    median_us, other_us = medians_us.get(_MEDIAN), to_us.get(_MEDIAN)
    return rounded(median_us / other_us) if median_us and other_us else None


def _percentile_us(step: StepStats | None, percentile: float) -> int | None:
    return None if step is None else step.percentiles_us.get(percentile_key(percentile))
