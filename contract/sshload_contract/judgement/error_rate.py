"""Whether a promise on the error rate was kept, with the failures that the generator's own delay may have made."""

from sshload_contract.judgement.attempts import Attempts, attempts
from sshload_contract.judgement.binomial import is_below, is_not_below, tries_needed
from sshload_contract.judgement.figures import total_step
from sshload_contract.judgement.judged import Judged, in_words
from sshload_contract.judgement.made_load import TOLERATED_SHORTFALL, shortfall
from sshload_contract.judgement.own_delay import own_delay
from sshload_contract.load import BurstLoad, Load
from sshload_contract.percentile import percentile_key
from sshload_contract.run_summary import RunSummary
from sshload_contract.thresholds import ErrorRateThreshold, ThresholdResult
from sshload_contract.vocabulary import Outcome, Window

BURST_SHARE_OF_MEDIAN = 0.25
SHARE_OF_WINDOW = 0.1
"""For which share of the measured window the generator may have stood still at a time."""

_US_PER_S = 1_000_000

_BY_TIME = frozenset(
    {
        Outcome.CONNECT_TIMEOUT,
        Outcome.BANNER_TIMEOUT,
        Outcome.KEX_TIMEOUT,
        Outcome.AUTH_TIMEOUT,
        Outcome.STEP_TIMEOUT,
        Outcome.DISCONNECTED,
        Outcome.UNFINISHED,
    }
)
"""Ends that follow from how long something took: a limit of the client's, or one of the server's for a slow client."""

_BY_CROWD = frozenset(
    {
        Outcome.CONNECT_FAILED,
        Outcome.THROTTLED,
        Outcome.PENALISED,
        Outcome.DROPPED_UNKNOWN,
        Outcome.RESET_BEFORE_BANNER,
        Outcome.CHANNEL_REFUSED,
    }
)
"""Refusals that follow from how many come at once."""


def judge_error_rate(threshold: ErrorRateThreshold, load: Load, summary: RunSummary) -> Judged:
    """Return whether the share of failures is proven to be below its limit, or not below it, with 95 % confidence."""
    words, tried = in_words(threshold), attempts(load, summary)
    rate = tried.error_rate
    if rate is None:
        return Judged(ThresholdResult(words, None, None))
    observed = f"{rate * 100:.4g} % ({tried.failed} of {tried.ended})"
    is_sound = own_delay(summary).is_small_beside_any_limit
    if is_sound and is_below(tried.failed, tried.ended, threshold.below):
        return Judged(ThresholdResult(words, observed, passed=True))
    if is_not_below(tried.failed if is_sound else sure_failures(load, summary), tried.ended, threshold.below):
        return Judged(ThresholdResult(words, observed, passed=False))
    if is_sound:
        doubt = f"{words} cannot be told: it was {observed}. {_remedy(threshold, tried)}"
        return Judged(ThresholdResult(words, observed, None), doubt=doubt, as_measured=rate < threshold.below)
    if _is_surely_below(threshold.below, tried, load, summary):
        return Judged(ThresholdResult(words, observed, passed=True))
    doubt = (
        f"{words} cannot be judged: it was {observed}, of which the generator's own delays may have made or kept away "
        f"some (timeouts, and refusals of connections that came together)"
    )
    return Judged(ThresholdResult(words, observed, None), doubt=doubt)


def sure_failures(load: Load, summary: RunSummary) -> int:
    """Return how many attempts failed for what no delay of the generator changes, such as an exit code.

    A lagging generator brings connections together, so no refusal of those that come together is sure either.
    """
    failed = attempts(load, summary).failed
    return max(failed - _count(summary, _BY_TIME | _BY_CROWD), 0)


def _is_surely_below(limit: float, tried: Attempts, load: Load, summary: RunSummary) -> bool:
    """Tell whether the rate stays below its limit with twice the failures that are not sure, and the load was made.

    A burst that was spread is none: what it would have met is only known where it was spread by less than a part of
    what an iteration takes. Users whom delays have set apart may have been spared most of such failures, as a burst.
    """
    unsure = _count(summary, _BY_TIME | _BY_CROWD)
    if load.begins_together and unsure:
        return False
    if isinstance(load, BurstLoad) and not _is_burst_together(summary):
        return False
    stood_still_s = own_delay(summary).largest_us / _US_PER_S
    is_long = stood_still_s <= SHARE_OF_WINDOW * summary.load.duration_s
    is_made = is_long and shortfall(load, summary) <= TOLERATED_SHORTFALL
    return is_made and is_below(min(tried.failed + unsure, tried.ended), tried.ended, limit)


def _remedy(threshold: ErrorRateThreshold, tried: Attempts) -> str:
    needed = tries_needed(tried.failed, tried.ended, threshold.below)
    if needed is None:
        return "It is just at the limit. Allow more or fewer failures"
    failures = "without a failure" if not tried.failed else "with as many failures in a hundred"
    return f"With 95 % confidence that takes {needed} iterations {failures}. Lengthen the load or raise its rate"


def _is_burst_together(summary: RunSummary) -> bool:
    total = total_step(summary, Window.MEASURED)
    median_us = None if total is None else total.percentiles_us.get(percentile_key(50))
    return median_us is not None and own_delay(summary).largest_us <= BURST_SHARE_OF_MEDIAN * median_us


def _count(summary: RunSummary, outcomes: frozenset[Outcome]) -> int:
    return sum(error.count for error in summary.errors if error.window is Window.MEASURED and error.outcome in outcomes)
