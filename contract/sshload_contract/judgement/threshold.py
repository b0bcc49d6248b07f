"""Judge thresholds by the measured window of a summary, and by how the generator's own delay may have changed it.

`error_rate` judges the thresholds on errors, this module those on a latency or a throughput.
"""

from collections.abc import Sequence
from dataclasses import replace

from sshload_contract.judgement.error_rate import attempts, judge_error_rate, unsure_failures
from sshload_contract.judgement.figures import TOLERATED_SHORTFALL, find_step, shortfall
from sshload_contract.judgement.own_delay import SOUND_BELOW_US, OwnDelay, own_delay
from sshload_contract.load import Load
from sshload_contract.percentiles import percentile_key, samples_needed
from sshload_contract.thresholds import (
    ErrorRateThreshold,
    Judged,
    LatencyThreshold,
    Terms,
    Threshold,
    ThresholdResult,
    ThroughputThreshold,
    duration_in_words,
    in_words,
    terms_of,
)
from sshload_contract.vocabulary import WHOLE_STEPS, Timing, Window
from sshload_contract.wire.run_summary import RunSummary

_US_PER_MS = 1_000
_PERCENT = 100

LARGEST_SHARE_OF_LIMIT = 0.25
HIDDEN_DELAYS = 2
"""A timing with delays in it may be shorter than without them, by at most so many of the largest delays."""

ADDED_DELAYS = 10
"""Any timing may be longer than without delays, by at most so many of the largest: so often it waits for the loop."""

SURE_SHARE_OF_SHORTEST = 0.5
"""The share of the shortest latency that, less ten median delays, certainly does not come from the generator.

The shortest latency contains few delays, but they may make a nearly overloaded server answer everything later. If
delays spread the users out in time, they may all wait longer for each other.
"""

SOUND_HIDDEN_DELAYS = 2
SOUND_ADDED_DELAYS = 4
"""The same for a sound generator, in delays at the percentile: its largest delays are too rare to matter there."""

CROWD_SHARE_OF_LIMIT = 0.5
"""The share of its limit below which a latency must stay if many users arrive at the same instant, or in turn.

Delays spread a burst, and keep users from arriving together: in simulations that shortens latencies by up to a half.
"""

_LEAST_PERCENTILE = 50.0
_US_PER_S = 1_000_000
_SPANS = frozenset(WHOLE_STEPS) - {Timing.HOLD}
"""Steps that contain the generator's delay. A part of a step starts with an event that may be noticed late, so the part
may be measured too short."""

CROWD_SHARE_OF_RATE = 0.5
"""The share of a throughput that is certain if many users arrive at the same instant, or in turn.

If delays have separated users who would arrive together, they use the server in turn: in simulations that raises the
throughput by up to a half.
"""
_SHORTEST_WINDOW_S = 0.001
_MAY_DIFFER = "the generator's own delays may have made the difference"


def judge_threshold(threshold: Threshold, load: Load, summary: RunSummary) -> Judged:
    """Judge whether a threshold was met in the measured window of a run of this load.

    The answer is in doubt if the generator's own delay may have changed it.
    """
    match threshold:
        case LatencyThreshold():
            judged = _judge_latency(threshold, load, summary)
        case ErrorRateThreshold():
            judged = judge_error_rate(threshold, load, summary)
        case ThroughputThreshold():
            judged = _judge_throughput(threshold, load, summary)
    if judged.result.observed is None:
        return judged
    value, low, high = _measured(threshold, load, summary)
    return replace(judged, result=replace(judged.result, value=value, low=low, high=high))


_Measured = tuple[float | None, float | None, float | None]


def _measured(threshold: Threshold, load: Load, summary: RunSummary) -> _Measured:
    """Return the figure that a threshold limits in the unit of its limit, and the bounds of it that are known."""
    match threshold:
        case LatencyThreshold():
            step, key = find_step(summary, threshold.step, Window.MEASURED), percentile_key(threshold.percentile)
            if step is None:
                return None, None, None
            value_us, low_us, high_us = (
                found.get(key) for found in (step.percentiles_us, step.percentiles_low_us, step.percentiles_high_us)
            )
            return _ms(value_us), _ms(low_us), _ms(high_us)
        case ErrorRateThreshold():
            rate = attempts(load, summary).error_rate
            return None if rate is None else rate * _PERCENT, None, None
        case ThroughputThreshold():
            return summary.load.completed_rate, None, None


def _ms(latency_us: int | None) -> float | None:
    return None if latency_us is None else latency_us / _US_PER_MS


def why_too_few(thresholds: Sequence[Threshold], judged: Sequence[Judged], summary: RunSummary) -> tuple[str, ...]:
    """Return a sentence for each threshold that has too few samples. `judged` are theirs, in order."""
    return tuple(
        f"{in_words(threshold)} cannot be judged: {_missing_samples(threshold, summary)}"
        for threshold, one in zip(thresholds, judged, strict=True)
        if one.result.met is None and not one.doubt
    )


def _missing_samples(threshold: Threshold, summary: RunSummary) -> str:
    if not isinstance(threshold, LatencyThreshold):
        return "no iteration ended"
    step = find_step(summary, threshold.step, Window.MEASURED)
    needed, count = samples_needed(threshold.percentile), step.count if step is not None else 0
    return f"p{percentile_key(threshold.percentile)} needs {needed} samples, there are {count}"


def _judge_latency(threshold: LatencyThreshold, load: Load, summary: RunSummary) -> Judged:
    """Judge whether the percentile of a step stayed below its limit."""
    terms, step = terms_of(threshold), find_step(summary, threshold.step, Window.MEASURED)
    value_us = step.percentiles_us.get(percentile_key(threshold.percentile)) if step is not None else None
    if step is None or value_us is None:
        return Judged(ThresholdResult(terms, None, None))
    observed, limit_us = duration_in_words(value_us), threshold.below_s * _US_PER_S
    delay = own_delay(summary)
    shortest_us = 0 if load.most_users else step.min_us or 0
    if SURE_SHARE_OF_SHORTEST * shortest_us - ADDED_DELAYS * delay.p50_us >= limit_us:
        return Judged(ThresholdResult(terms, observed, met=False))
    if delay.is_small(threshold.percentile, limit_us):
        return _judge_sound(terms, observed, value_us, limit_us, delay.at(threshold.percentile))
    if value_us - ADDED_DELAYS * delay.largest_us >= limit_us:
        return Judged(ThresholdResult(terms, observed, met=False))
    if _is_surely_met(threshold, value_us, delay, load, summary):
        caution = f"{terms.words}: it was {observed}, which may include the generator's own delays"
        return Judged(ThresholdResult(terms, observed, met=True), caution=caution)
    doubt = f"{terms.words} cannot be judged: it was {observed}, and {_MAY_DIFFER}"
    return Judged(ThresholdResult(terms, observed, None), doubt=doubt)


def _judge_sound(terms: Terms, observed: str, value_us: float, limit_us: float, delay_us: float) -> Judged:
    """Judge if the generator's delay is small compared with the limit: in doubt only if the value is as near to it."""
    if value_us + SOUND_HIDDEN_DELAYS * delay_us < limit_us:
        return Judged(ThresholdResult(terms, observed, met=True))
    if value_us - SOUND_ADDED_DELAYS * delay_us >= limit_us:
        return Judged(ThresholdResult(terms, observed, met=False))
    doubt = (
        f"{terms.words} cannot be judged: it was {observed}, too near to the limit, because the generator's own delays"
        f" may be {duration_in_words(delay_us)}"
    )
    return Judged(ThresholdResult(terms, observed, None), doubt=doubt, as_measured=value_us < limit_us)


def _is_surely_met(
    threshold: LatencyThreshold, value_us: float, delay: OwnDelay, load: Load, summary: RunSummary
) -> bool:
    limit_us = threshold.below_s * _US_PER_S
    kept_below_us = limit_us * CROWD_SHARE_OF_LIMIT if load.begins_together else limit_us
    return (
        threshold.step.rpartition(".")[2] in _SPANS
        and threshold.percentile >= _LEAST_PERCENTILE
        and delay.largest_us <= LARGEST_SHARE_OF_LIMIT * limit_us
        and value_us + HIDDEN_DELAYS * delay.largest_us < kept_below_us
        and shortfall(load, summary) <= TOLERATED_SHORTFALL
    )


def _judge_throughput(threshold: ThroughputThreshold, load: Load, summary: RunSummary) -> Judged:
    """Judge whether more iterations per second were completed than the threshold asks for.

    In an open model delays only move iterations across the borders of the window. In a closed one they also lower the
    load, and one iteration of each user may end later.
    """
    terms, rate, delay = terms_of(threshold), summary.load.completed_rate, own_delay(summary)
    observed = f"{rate:.2f}/s"
    moved = summary.load.offered_rate * _share_of_window(delay.largest_us, summary)
    if delay.is_small_beside_any_limit:
        lost = unsure_failures(summary) / _duration_s(summary)
        lost += moved * (ADDED_DELAYS if summary.load.dropped else 1)
        if rate > threshold.above or rate + lost <= threshold.above:
            return Judged(ThresholdResult(terms, observed, met=rate > threshold.above))
        cost = f"pauses of the generator may have cost {lost:.2g}/s"
        doubt = f"{terms.words} cannot be judged: it was {observed}, and {cost}"
        as_measured = False if delay.largest_us <= SOUND_BELOW_US else None
        return Judged(ThresholdResult(terms, observed, None), doubt=doubt, as_measured=as_measured)
    at_end = load.most_users / _duration_s(summary)
    sure = CROWD_SHARE_OF_RATE * rate if load.begins_together else rate
    if sure - HIDDEN_DELAYS * moved - at_end > threshold.above:
        return Judged(ThresholdResult(terms, observed, met=True))
    lost = shortfall(load, summary)
    if lost < 1 and (rate + ADDED_DELAYS * moved + at_end) / (1 - lost) <= threshold.above:
        return Judged(ThresholdResult(terms, observed, met=False))
    doubt = f"{terms.words} cannot be judged: it was {observed}, and {_MAY_DIFFER}"
    return Judged(ThresholdResult(terms, observed, None), doubt=doubt)


def _share_of_window(delay_us: int, summary: RunSummary) -> float:
    return delay_us / _US_PER_S / _duration_s(summary)


def _duration_s(summary: RunSummary) -> float:
    return max(summary.load.duration_s, _SHORTEST_WINDOW_S)
