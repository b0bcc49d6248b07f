"""The results of a run as its status has them: units by name, and nothing that was not seen."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from sshload_contract.judgement.attempts import attempts
from sshload_contract.judgement.figures import client_logins, find_step, total_step
from sshload_contract.judgement.own_delay import own_delay
from sshload_contract.judgement.validity import figures_spoiled
from sshload_contract.load import BurstLoad, HoldLoad
from sshload_contract.percentile import percentile_key
from sshload_contract.run_config import SessionReuse
from sshload_contract.run_summary import RunSummary, StepStats
from sshload_contract.sample import ErrorCount, NegotiatedCount
from sshload_contract.steal import stolen_share
from sshload_contract.target_stats import COUNTERS, TargetStats
from sshload_contract.vocabulary import Step, Window

from sshload_operator.decision.capacity.trials import measured_load
from sshload_operator.decision.figures import milliseconds, percent, rounded, stated
from sshload_operator.decision.hold import held, per_session
from sshload_operator.decision.max_startups.advice import advice
from sshload_operator.decision.noise import completed_rate_interval, percentile_intervals
from sshload_operator.planning.plan import Plan

OWN_DELAY = "latenciesMayIncludeMs"
STOLEN_PERCENT = "stolenPercent"
"""Stands among the generator's figures of a run whose latencies are not to be compared with another's."""

_PERCENTILES = {"p50Ms": 50.0, "p90Ms": 90.0, "p95Ms": 95.0, "p99Ms": 99.0, "p999Ms": 99.9}
_ERRORS_LIMIT = 100
_NEGOTIATED_LIMIT = 20
_STEPS_LIMIT = 200
_FIRST_MESSAGE_LIMIT_CHARACTERS = 200
_STEP_LIMIT_CHARACTERS = 64
_ALGORITHM_LIMIT_CHARACTERS = 128
_VERSION_LIMIT_CHARACTERS = 255
_THRESHOLD_LIMIT_CHARACTERS = 200
"""What the CRD takes of a text that a server or a tenant's own worker chose."""


def to_status(plan: Plan, summary: RunSummary) -> dict[str, Any]:
    """Return `status.results`. A figure that could not be stated is absent, never null and never 0."""
    load, measured = summary.load, measured_load(plan, summary)
    results = {
        "durationSeconds": rounded(load.duration_s),
        "endedEarly": _ended_early(summary),
        "offeredRate": rounded(load.offered_rate),
        "achievedRate": rounded(load.achieved_rate),
        "completedRate": rounded(load.completed_rate),
        **completed_rate_interval(plan, summary),
        "iterations": load.succeeded + load.failed,
        "failures": load.failed,
        "errorPercent": percent(attempts(measured, summary).error_rate),
        "p99Ms": _p99_ms(summary, Window.MEASURED),
        "warmUp": _warm_up(summary) if plan.spec.warm_up_s else None,
        "steps": _steps(summary),
        "errors": list(_errors(summary))[:_ERRORS_LIMIT],
        "burst": _burst(summary) if isinstance(plan.spec.load, BurstLoad) else None,
        "hold": held(summary) if isinstance(plan.spec.load, HoldLoad) else None,
        "negotiated": list(_negotiated(summary))[:_NEGOTIATED_LIMIT],
        "generator": _generator(plan, summary),
        "target": _target(plan, summary),
        "maxStartups": advice(plan, summary),
    }
    return stated(results)


def _ended_early(summary: RunSummary) -> dict[str, Any] | None:
    early = summary.early_end
    return (
        None
        if early is None
        else {"afterSeconds": rounded(early.after_s), "threshold": early.threshold[:_THRESHOLD_LIMIT_CHARACTERS]}
    )


def _burst(summary: RunSummary) -> dict[str, Any]:
    login = find_step(summary, Step.LOGIN, Window.MEASURED)
    return {"attempted": summary.load.started, "established": login.count if login is not None else 0}


def _p99_ms(summary: RunSummary, window: Window) -> float | None:
    total = total_step(summary, window)
    return None if total is None else milliseconds(total.percentiles_us.get(percentile_key(99)))


def _warm_up(summary: RunSummary) -> dict[str, Any] | None:
    total = total_step(summary, Window.WARM_UP)
    if total is None:
        return None
    return stated(
        {
            "iterations": total.count + total.failures,
            "failures": total.failures,
            "p99Ms": _p99_ms(summary, Window.WARM_UP),
        }
    )


def _steps(summary: RunSummary) -> list[dict[str, Any]]:
    """Return the measured steps, of those with one name the first: the status has a step once."""
    steps: dict[str, dict[str, Any]] = {}
    for step in summary.steps:
        if step.window is Window.MEASURED:
            found = _step(step)
            steps.setdefault(found["step"], found)
    return list(steps.values())[:_STEPS_LIMIT]


def _step(step: StepStats) -> dict[str, Any]:
    percentiles = {
        name: milliseconds(step.percentiles_us.get(percentile_key(percentile)))
        for name, percentile in _PERCENTILES.items()
    }
    return stated(
        {
            "step": step.step[:_STEP_LIMIT_CHARACTERS],
            "count": step.count,
            "failures": step.failures,
            "rate": rounded(step.rate),
            "bytesPerSecond": None if step.bytes_per_second is None else rounded(step.bytes_per_second),
            "minMs": milliseconds(step.min_us),
            "meanMs": milliseconds(step.mean_us),
            **percentiles,
            "maxMs": milliseconds(step.max_us),
            "intervals": percentile_intervals(step) or None,
        }
    )


def _errors(summary: RunSummary) -> Iterator[dict[str, Any]]:
    measured = [error for error in summary.errors if error.window is Window.MEASURED and error.count]
    for error in sorted(measured, key=_most_frequent_first):
        yield stated(
            {
                "step": error.step[:_STEP_LIMIT_CHARACTERS],
                "outcome": str(error.outcome),
                "count": error.count,
                "firstMessage": error.first_message[:_FIRST_MESSAGE_LIMIT_CHARACTERS] or None,
            }
        )


def _most_frequent_first(error: ErrorCount) -> tuple[int, str, str]:
    return -error.count, error.step, error.outcome


def _negotiated(summary: RunSummary) -> Iterator[dict[str, Any]]:
    counts: Counter[Any] = Counter()
    for one in summary.negotiated:
        counts[one.negotiated] += one.count
    for negotiated, count in counts.most_common():
        if count:
            yield _negotiated_entry(NegotiatedCount(negotiated, count))


def _negotiated_entry(one: NegotiatedCount) -> dict[str, Any]:
    negotiated = one.negotiated
    return {
        "kex": negotiated.kex[:_ALGORITHM_LIMIT_CHARACTERS],
        "cipher": negotiated.cipher[:_ALGORITHM_LIMIT_CHARACTERS],
        "mac": negotiated.mac[:_ALGORITHM_LIMIT_CHARACTERS],
        "hostKey": negotiated.host_key[:_ALGORITHM_LIMIT_CHARACTERS],
        "serverVersion": negotiated.server_version[:_VERSION_LIMIT_CHARACTERS],
        "count": one.count,
    }


def _generator(plan: Plan, summary: RunSummary) -> dict[str, Any]:
    generator, load = summary.generator, summary.load
    return stated(
        {
            "workersExpected": generator.workers_expected,
            "workersConnected": generator.workers_connected,
            "workersLost": generator.workers_lost,
            "reportsMissing": generator.reports_missing,
            "lateArrivals": load.late,
            "droppedArrivals": load.dropped,
            **(_health(plan, summary) if summary.started_unix_s else {}),
        }
    )


def _health(plan: Plan, summary: RunSummary) -> dict[str, Any]:
    """Return what the workers report of themselves, which they do from the start of the load on."""
    generator = summary.generator
    spoiled = figures_spoiled(summary, plan.spec.scenario.slept_s) is not None
    return {
        "cpuPercent": percent(generator.cpu_share),
        "runDelayPercent": percent(generator.run_delay_share),
        STOLEN_PERCENT: percent(generator.stolen_share),
        "loopLagP99Ms": milliseconds(generator.loop_lag_p99_us),
        "loopLagMaxMs": milliseconds(generator.loop_lag_max_us),
        OWN_DELAY: milliseconds(own_delay(summary).largest_us) if spoiled else None,
        "portsUsed": generator.ports_used,
        "portsAvailable": generator.ports_available,
        "overflows": generator.overflows,
    }


def _target(plan: Plan, summary: RunSummary) -> dict[str, Any] | None:
    before, after = summary.target_before, summary.target_after
    if before is None or after is None:
        return None
    grown = _growth(before, after)
    accepted = after.accepted - before.accepted
    logins = client_logins(summary)
    figures: dict[str, Any] = {
        "sshdVersion": after.sshd_version[:_VERSION_LIMIT_CHARACTERS] or None,
        "accepted": grown["accepted"],
        "clientLogins": logins,
        "loginDifference": accepted - logins,
        "authFailed": grown["auth_failed"],
        "dropped": stated(
            {
                "maxStartups": _drops(before, grown["dropped_max_startups"]),
                "penalty": _drops(before, grown["dropped_penalty"]),
                "lowerBound": after.dropped_is_lower_bound,
            }
        ),
        "cpuSeconds": grown["cpu_s"],
        "cpuThrottledSeconds": grown["cpu_throttled_s"],
        STOLEN_PERCENT: percent(stolen_share(before.machine_cpu, after.machine_cpu)),
        "memoryPeakBytes": after.memory_peak_bytes,
        **per_session(summary),
        "oomKills": grown["oom_kills"],
        "refusedForks": grown["refused_forks"],
        "listenOverflows": grown["listen_overflows"],
    }
    each_logs_in = plan.spec.scenario.session_reuse is SessionReuse.NONE
    if each_logs_in and grown["accepted"] and grown["cpu_s"] is not None:
        figures["cpuPerLoginMs"] = round(grown["cpu_s"] * 1_000 / grown["accepted"], 3)
    return stated(figures)


def _drops(before: TargetStats, told: int | None) -> int | None:
    """Return a count of drops, None where some may be an earlier trial's: sshd tells of what it left out later."""
    return None if told and before.dropped_is_lower_bound else told


def _growth(before: TargetStats, after: TargetStats) -> Mapping[str, Any]:
    """Return by how much each counter grew; None where it fell, since then the target was started anew in between."""
    grown = {name: rounded(getattr(after, name) - getattr(before, name)) for name in COUNTERS}
    return {name: value if value >= 0 else None for name, value in grown.items()}
