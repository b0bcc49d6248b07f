"""Whether a promise on a latency was kept, with what the generator's own delay may have changed in it."""

from sshload_contract.judgement.figures import find_step
from sshload_contract.judgement.judged import Judged, duration_in_words, in_words
from sshload_contract.judgement.made_load import TOLERATED_SHORTFALL, shortfall
from sshload_contract.judgement.own_delay import OwnDelay, own_delay
from sshload_contract.load import Load
from sshload_contract.percentile import percentile_key
from sshload_contract.run_summary import RunSummary
from sshload_contract.thresholds import LatencyThreshold, ThresholdResult
from sshload_contract.vocabulary import WHOLE_STEPS, Step, Window

LARGEST_SHARE_OF_LIMIT = 0.25
HIDDEN_DELAYS = 2
"""By how many of the largest delays a span that contains them may be shorter than without them."""

ADDED_DELAYS = 10
"""By how many of the largest delays any span may be longer than without them: it waits for the event loop as often."""

SURE_SHARE_OF_SHORTEST = 0.5
"""How much of the shortest of all latencies is surely not the generator's, without ten of the median delays.

It contains few delays, but a server that is nearly overloaded may answer all later for them. Users who are set apart by
delays may all wait for each other more.
"""

SOUND_HIDDEN_DELAYS = 2
SOUND_ADDED_DELAYS = 4
"""The same for a sound generator, of the delays at the percentile: its largest are too rare to matter there."""

CROWD_SHARE_OF_LIMIT = 0.5
"""Below which share of its limit a latency has to stay where those who come at one instant, or in turn, make the load.

Delays spread a burst, and keep users from coming together: in simulations that shortens latencies by up to a half.
"""

_LEAST_PERCENTILE = 50.0
_US_PER_S = 1_000_000
_SPANS = frozenset(WHOLE_STEPS) - {Step.HOLD}
"""Steps that contain the generator's delay. A part of one begins with an event that may be noticed late: it shrinks."""


def judge_latency(threshold: LatencyThreshold, load: Load, summary: RunSummary) -> Judged:
    """Return whether the percentile of a step stayed below its limit."""
    words, step = in_words(threshold), find_step(summary, threshold.step, Window.MEASURED)
    value_us = step.percentiles_us.get(percentile_key(threshold.percentile)) if step is not None else None
    if step is None or value_us is None:
        return Judged(ThresholdResult(words, None, None))
    observed, limit_us = duration_in_words(value_us), threshold.below_s * _US_PER_S
    delay = own_delay(summary)
    shortest_us = 0 if load.most_users else step.min_us or 0
    if SURE_SHARE_OF_SHORTEST * shortest_us - ADDED_DELAYS * delay.p50_us >= limit_us:
        return Judged(ThresholdResult(words, observed, passed=False))
    if delay.is_small(threshold.percentile, limit_us):
        return _judge_sound(words, observed, value_us, limit_us, delay.at(threshold.percentile))
    if value_us - ADDED_DELAYS * delay.largest_us >= limit_us:
        return Judged(ThresholdResult(words, observed, passed=False))
    if _is_surely_met(threshold, value_us, delay, load, summary):
        caution = f"{words}: it was {observed}, which may contain delays of the generator's own"
        return Judged(ThresholdResult(words, observed, passed=True), caution=caution)
    doubt = f"{words} cannot be judged: it was {observed}, and the generator's own delays may have made the difference"
    return Judged(ThresholdResult(words, observed, None), doubt=doubt)


def _judge_sound(words: str, observed: str, value_us: float, limit_us: float, delay_us: float) -> Judged:
    """Judge by a generator whose delay is small beside the limit: in doubt only where the value is as near to it."""
    if value_us + SOUND_HIDDEN_DELAYS * delay_us < limit_us:
        return Judged(ThresholdResult(words, observed, passed=True))
    if value_us - SOUND_ADDED_DELAYS * delay_us >= limit_us:
        return Judged(ThresholdResult(words, observed, passed=False))
    doubt = (
        f"{words} cannot be judged: it was {observed}, too near to the limit for delays of the generator's own of "
        f"{duration_in_words(delay_us)}"
    )
    return Judged(ThresholdResult(words, observed, None), doubt=doubt, as_measured=value_us < limit_us)


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
