"""Judge a threshold on what the managed target itself reports, by the readings of its counts in the measured window."""

from collections.abc import Iterator
from dataclasses import replace

from sshload_contract.judgement.figures import shortfall
from sshload_contract.judgement.own_delay import MAY_DIFFER, own_delay
from sshload_contract.load import Load
from sshload_contract.thresholds import Judged, TargetThreshold, TargetUsage, ThresholdResult
from sshload_contract.wire.run_summary import ServerPoint, Trial


def target_in_window(trial: Trial, warm_up_s: float) -> Trial:
    """Return the trial with the target's usage in the measured window only, whose times count from its beginning."""
    end_s = warm_up_s + trial.load.duration_s
    begins = [0.0, *(point.at_s for point in trial.server_series)]
    within = [
        (begin_s, point)
        for begin_s, point in zip(begins, trial.server_series, strict=False)
        if begin_s >= warm_up_s and point.at_s <= end_s
    ]
    first_s = within[0][0] if within else 0.0
    return replace(trial, server_series=tuple(replace(point, at_s=point.at_s - first_s) for _, point in within))


def judge_target(threshold: TargetThreshold, load: Load, trial: Trial) -> Judged:
    """Judge whether what the target used stayed below the limit.

    What is only an upper bound may show that it did, and never that it did not. If the generator's own delay lowered
    the load, the target would have used more of what was met.
    """
    terms, usage = threshold.terms, _usage(trial)
    value = threshold.of(usage)
    if value is None:
        return Judged(ThresholdResult(terms, None, None), unread=_why_unknown(usage))
    limit, may_be_less = terms.limit, threshold.may_be_less(usage)
    at_most = "at most " if may_be_less else ""
    observed = f"{at_most}{threshold.limit_in_words(value, terms.unit)} ({usage.readings} readings)"
    result = ThresholdResult(terms, observed, None, value)
    if value >= limit and may_be_less:
        unread = f"it was {observed}, because memory that processes share counts for each of them"
        return Judged(result, unread=unread)
    if value >= limit:
        return Judged(replace(result, met=False))
    lost = 0.0 if own_delay(trial).is_small_beside_any_limit else shortfall(load, trial)
    if value >= limit * (1 - lost):
        doubt = f"{terms.words} cannot be judged: it was {observed}, and {MAY_DIFFER}"
        return Judged(result, doubt=doubt)
    return Judged(replace(result, met=True))


def _usage(trial: Trial) -> TargetUsage:
    """Return what the target used, by its readings over time and the one that is made before held sessions end."""
    points, held, after = trial.server_series, trial.target_held, trial.target_after
    memory_bytes, sessions = [point.memory_bytes for point in points], [point.sessions for point in points]
    if held is not None:
        memory_bytes.append(held.memory_bytes)
        sessions.append(held.sessions)
    cores = _cores(trial)
    return TargetUsage(
        readings=len(sessions),
        cpu_share=sum(_core_seconds(points)) / points[-1].at_s / cores if points and cores else None,
        memory_bytes=max(memory_bytes, default=None),
        memory_is_upper_bound=after is None or after.memory_is_upper_bound,
        sessions=max(sessions, default=None),
    )


def _core_seconds(points: tuple[ServerPoint, ...]) -> Iterator[float]:
    """Yield the CPU time of each interval."""
    for begin_s, point in zip((0.0, *(point.at_s for point in points)), points, strict=False):
        yield point.cores * (point.at_s - begin_s)


def _cores(trial: Trial) -> float:
    """Return how many cores the target may use: its limit, or all of its machine; 0 if that is not known."""
    after = trial.target_after
    if after is None:
        return 0.0
    return after.cpu_limit_cores or (after.machine_cpu.cpus if after.machine_cpu is not None else 0)


def _why_unknown(usage: TargetUsage) -> str:
    if usage.readings:
        return "neither the target's CPU limit nor the number of its machine's cores is known"
    return "the target's own figures were not read within the measured window, which must last a few seconds"
