"""Whether a trial can be trusted: the documented limits in one table. docs/reference/validity.md explains each.

The generator's own delay is judged with each threshold, by `threshold.judge_threshold`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sshload_contract.judgement.figures import accepted_logins, client_logins, total_step
from sshload_contract.judgement.own_delay import CPU_SHARE_LIMIT, SOUND_BELOW_US, SOUND_SHARE_OF_LIMIT, own_delay
from sshload_contract.percentiles import percentile_key
from sshload_contract.vocabulary import Invalidity, Outcome, Window
from sshload_contract.wire.report import PORTS_SHARE_LIMIT
from sshload_contract.wire.run_summary import StepStats, Trial

_TAIL_PERCENTILES = (99.0, 95.0, 90.0, 50.0)
_US_PER_S = 1_000_000


@dataclass(frozen=True, slots=True)
class Defect:
    """Why a trial cannot be trusted: the value, its limit, and what to change."""

    invalidity: Invalidity
    message: str


def defects(trial: Trial, *, managed: bool) -> tuple[Defect, ...]:
    """Return everything that makes the trial invalid, the most serious first; empty if it is valid.

    `managed` means that the target is the run's own, so its counts must be present.
    """
    found = (limit(trial) for limit in _LIMITS if managed or limit is not _target_disagrees)
    return tuple(defect for defect in found if defect is not None)


def _workers_lost(trial: Trial) -> Defect | None:
    generator = trial.generator
    missing = generator.workers_expected - generator.workers_connected
    if generator.workers_lost <= 0 and missing <= 0:
        return None
    message = (
        f"{max(generator.workers_lost, missing)} of {generator.workers_expected} workers did not take part to the end, "
        f"so the load was not the one asked for. See why their pods ended, and run again"
    )
    return Defect(Invalidity.WORKER_LOST, message)


def _reports_missing(trial: Trial) -> Defect | None:
    missing = trial.generator.reports_missing
    if missing <= 0:
        return None
    message = f"{missing} reports of workers never reached the master (limit 0), so samples are missing. Run again"
    return Defect(Invalidity.REPORTS_MISSING, message)


def _generator_faults(trial: Trial) -> Defect | None:
    """Return the defect if any failure was the generator's own error, which must not count against the server."""
    faults = [error for error in trial.errors if error.outcome is Outcome.GENERATOR_FAULT and error.count > 0]
    if not faults:
        return None
    count = sum(error.count for error in faults)
    said = next((f" ({error.first_message})" for error in faults if error.first_message), "")
    message = f"{count} failures were the workers' own fault{said} (limit 0). See the workers' logs, and run again"
    return Defect(Invalidity.GENERATOR_FAULT, message)


def _counts_disagree(trial: Trial) -> Defect | None:
    disagreement = next(_disagreements(trial), None)
    return None if disagreement is None else Defect(Invalidity.COUNTS_DISAGREE, disagreement)


def _disagreements(trial: Trial) -> Iterator[str]:
    load, total = trial.load, total_step(trial, Window.MEASURED)
    if load.scheduled != load.started + load.dropped:
        yield (
            f"{load.scheduled} iterations were due, but {load.started} were begun and {load.dropped} dropped."
            f" Samples were lost: run again"
        )
    if load.started != load.succeeded + load.failed:
        yield (
            f"{load.started} iterations were begun, but {load.succeeded} succeeded and {load.failed} failed. "
            f"Samples were lost: run again"
        )
    if total is not None and (total.count, total.failures) != (load.succeeded, load.failed):
        yield (
            f"{total.count} iterations were timed and {total.failures} failed by the histograms, but "
            f"{load.succeeded} and {load.failed} by the workers' counters. Samples were lost: run again"
        )
    if trial.generator.overflows:
        yield (
            f"{trial.generator.overflows} latencies were longer than the 100 hours that a histogram holds. "
            f"Shorten spec.client.timeouts"
        )


def _target_disagrees(trial: Trial) -> Defect | None:
    disagreement = next(_server_disagreements(trial), None)
    return None if disagreement is None else Defect(Invalidity.COUNTS_DISAGREE, disagreement)


def _server_disagreements(trial: Trial) -> Iterator[str]:
    """Yield a message if the server counts fewer logins than the workers.

    It may count more, because it can accept a login that the client has given up.
    """
    accepted, logins = accepted_logins(trial), client_logins(trial)
    if accepted is None:
        when = "at the start" if trial.target_before is None else "at the end"
        yield f"the target's own count of logins could not be read {when}, so nothing confirms the workers' {logins}"
    elif accepted < logins:
        yield (
            f"the target accepted {accepted} logins, {logins - accepted} fewer than the {logins} that the workers "
            f"count: it was restarted, or something else answered in its place"
        )


def _ports_used_up(trial: Trial) -> Defect | None:
    used, available = trial.generator.ports_used, trial.generator.ports_available
    if available <= 0 or used <= PORTS_SHARE_LIMIT * available:
        return None
    message = (
        f"a worker used {used} of its {available} source ports (limit {PORTS_SHARE_LIMIT:.0%}), so connections waited"
        f" for ports and not for the server. Use more pods (spec.workers.replicas): each has its own source address"
    )
    return Defect(Invalidity.SOURCE_PORTS_USED_UP, message)


def figures_spoiled(trial: Trial, slept_s: float = 0.0) -> Defect | None:
    """Return why the figures cannot be compared with another run's, None if they can.

    A comparison looks for differences in both directions, so the generator's own delay must be small compared with the
    figures themselves: at most a tenth of the tail of `total` without the scenario's sleeps (`slept_s`), or 20 ms if
    that is more.
    """
    delay, total = own_delay(trial), total_step(trial, Window.MEASURED)
    waited_us = tail_us(total) - slept_s * _US_PER_S if total is not None else 0
    limit_us = max(SOUND_BELOW_US, SOUND_SHARE_OF_LIMIT * waited_us)
    if not delay.is_cpu_used_up and delay.p99_us <= limit_us:
        return None
    message = (
        f"latencies may include {delay.largest_us / 1_000:.1f} ms of the generator's own delay (limit"
        f" {limit_us / 1_000:.1f} ms at p99, and {CPU_SHARE_LIMIT:.0%} of a core): {delay.advice}"
    )
    return Defect(delay.invalidity, message)


def tail_us(step: StepStats) -> int:
    """Return p99, or the highest percentile below it that is stated, or the longest latency if none is."""
    stated = (step.percentiles_us.get(percentile_key(percentile)) for percentile in _TAIL_PERCENTILES)
    return next((value for value in stated if value is not None), step.max_us or 0)


def arrivals_dropped(trial: Trial) -> Defect | None:
    """Return the defect if the load was smaller than asked for. A threshold that was met then proves nothing."""
    load = trial.load
    if load.dropped <= 0:
        return None
    message = (
        f"{load.dropped} of {load.scheduled} arrivals found maxInFlight iterations under way and were not begun "
        f"(limit 0): {load.achieved_rate:.1f}/s were begun of {load.offered_rate:.1f}/s. "
        "Raise maxInFlight of spec.load, or lower the load to what the server keeps up with"
    )
    return Defect(Invalidity.ARRIVALS_DROPPED, message)


_LIMITS: tuple[Callable[[Trial], Defect | None], ...] = (
    _workers_lost,
    _reports_missing,
    _generator_faults,
    _counts_disagree,
    _target_disagrees,
    _ports_used_up,
)
