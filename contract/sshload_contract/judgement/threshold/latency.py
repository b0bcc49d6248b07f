"""Judge a threshold on a latency by the measured window, and by how the generator's own delay may have changed it."""

from dataclasses import replace

from sshload_contract.judgement.figures import TOLERATED_SHORTFALL, find_step, shortfall
from sshload_contract.judgement.own_delay import ADDED_DELAYS, HIDDEN_DELAYS, MAY_DIFFER, OwnDelay, own_delay
from sshload_contract.load import Load
from sshload_contract.steps import WHOLE_STEPS
from sshload_contract.thresholds import Judged, LatencyThreshold, ThresholdResult, duration_in_words
from sshload_contract.vocabulary import Timing, Window, owner_and_timing
from sshload_contract.wire.run_summary import Trial

LARGEST_SHARE_OF_LIMIT = 0.25
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
_US_PER_MS = 1_000
_US_PER_S = 1_000_000
_SPANS = frozenset(WHOLE_STEPS) - {Timing.HOLD}
"""Steps that contain the generator's delay. A part of a step starts with an event that may be noticed late, so the part
may be measured too short."""


def judge_latency(threshold: LatencyThreshold, load: Load, trial: Trial) -> Judged:
    """Judge whether the percentile of a step stayed below its limit."""
    terms, step = threshold.terms, find_step(trial, threshold.step, Window.MEASURED)
    key = threshold.asked_percentile.key
    value_us = step.percentiles_us.get(key) if step is not None else None
    if step is None or value_us is None:
        return Judged(ThresholdResult(terms, None, None))
    observed, limit_us = duration_in_words(value_us), threshold.below_s * _US_PER_S
    low_us, high_us = step.percentiles_low_us.get(key), step.percentiles_high_us.get(key)
    result = ThresholdResult(terms, observed, None, _ms(value_us), _ms(low_us), _ms(high_us))
    delay = own_delay(trial)
    shortest_us = 0 if load.most_users else step.min_us or 0
    if SURE_SHARE_OF_SHORTEST * shortest_us - ADDED_DELAYS * delay.p50_us >= limit_us:
        return Judged(replace(result, met=False))
    if delay.is_small(threshold.percentile, limit_us):
        return _judge_sound(result, value_us, limit_us, delay.at(threshold.percentile))
    if value_us - ADDED_DELAYS * delay.largest_us >= limit_us:
        return Judged(replace(result, met=False))
    if _is_surely_met(threshold, value_us, delay, load, trial):
        caution = f"{terms.words}: it was {observed}, which may include the generator's own delays"
        return Judged(replace(result, met=True), caution=caution)
    doubt = f"{terms.words} cannot be judged: it was {observed}, and {MAY_DIFFER}"
    return Judged(result, doubt=doubt)


def _judge_sound(result: ThresholdResult, value_us: float, limit_us: float, delay_us: float) -> Judged:
    """Judge if the generator's delay is small compared with the limit: in doubt only if the value is as near to it."""
    if value_us + SOUND_HIDDEN_DELAYS * delay_us < limit_us:
        return Judged(replace(result, met=True))
    if value_us - SOUND_ADDED_DELAYS * delay_us >= limit_us:
        return Judged(replace(result, met=False))
    doubt = (
        f"{result.terms.words} cannot be judged: it was {duration_in_words(value_us)}, too near to the limit, because"
        f" the generator's own delays may be {duration_in_words(delay_us)}"
    )
    return Judged(result, doubt=doubt, as_measured=value_us < limit_us)


def _is_surely_met(threshold: LatencyThreshold, value_us: float, delay: OwnDelay, load: Load, trial: Trial) -> bool:
    limit_us = threshold.below_s * _US_PER_S
    kept_below_us = limit_us * CROWD_SHARE_OF_LIMIT if load.begins_together else limit_us
    return (
        owner_and_timing(threshold.step)[1] in _SPANS
        and threshold.percentile >= _LEAST_PERCENTILE
        and delay.largest_us <= LARGEST_SHARE_OF_LIMIT * limit_us
        and value_us + HIDDEN_DELAYS * delay.largest_us < kept_below_us
        and shortfall(load, trial) <= TOLERATED_SHORTFALL
    )


def _ms(latency_us: int | None) -> float | None:
    return None if latency_us is None else latency_us / _US_PER_MS


def missing_latency(threshold: LatencyThreshold, trial: Trial) -> str:
    """Return how many samples a percentile that cannot be stated needs, and has."""
    asked = threshold.asked_percentile
    step = find_step(trial, asked.step, Window.MEASURED)
    count = step.count if step is not None else 0
    return f"p{asked.key} needs {asked.samples_needed} samples, there are {count}"
