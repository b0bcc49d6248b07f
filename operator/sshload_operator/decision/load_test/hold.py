"""Results of held sessions: their number, what each uses of a managed target, and how they affect a new login."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sshload_contract.judgement.figures import find_step
from sshload_contract.percentiles import percentile_key
from sshload_contract.vocabulary import Timing, Window
from sshload_contract.wire.run_summary import StepStats, Trial

from sshload_operator.api.status.figures import milliseconds, rounded
from sshload_operator.api.status.results import FreshLogin, HoldResult

_MEDIAN = percentile_key(50)


def held(trial: Trial) -> HoldResult | None:
    """Return what was held after the ramp, None if the run ended before."""
    load = trial.load
    if load.held_most is None or load.held_least is None:
        return None
    return HoldResult(load.held_most, load.held_least, _fresh_login(trial))


@dataclass(frozen=True, slots=True)
class PerSession:
    """What a target used for each session that it had; `upper_bound`: it may have used less memory."""

    memory_bytes: int
    processes: float
    upper_bound: bool


def per_session(trial: Trial) -> PerSession | None:
    """Return what the target used per session when the most were held, beyond what it used when idle.

    Its figures are of one instant, so they are divided by its own count of sessions, which includes those of probes.
    Nothing is stated if it used no more than before, or was restarted in between.
    """
    before, then = trial.target_before, trial.target_held
    if before is None or then is None or then.accepted < before.accepted:
        return None
    sessions = then.sessions - before.sessions
    memory_bytes, processes = then.memory_bytes - before.memory_bytes, then.processes - before.processes
    if sessions <= 0 or memory_bytes <= 0 or processes <= 0:
        return None
    return PerSession(round(memory_bytes / sessions), rounded(processes / sessions), then.memory_is_upper_bound)


def _fresh_login(trial: Trial) -> FreshLogin | None:
    """Return the login times of probes beside the held sessions and, in the warm-up, without held sessions.

    The bounds of the ratio combine the 95 % intervals of both medians, so they contain it in at least 90 % of all runs.
    """
    beside, alone = (find_step(trial, Timing.LOGIN, window) for window in (Window.MEASURED, Window.WARM_UP))
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
