"""Failures that nothing promises anything about: what a run may have of them and still pass."""

from collections.abc import Sequence

from sshload_contract.judgement.attempts import attempts, held_sessions
from sshload_contract.judgement.error_rate import sure_failures
from sshload_contract.judgement.own_delay import own_delay
from sshload_contract.load import Load
from sshload_contract.run_summary import RunSummary
from sshload_contract.thresholds import ErrorRateThreshold, Threshold

MOST_UNPROMISED = 0.1
"""The share of attempts that may fail where no threshold is on the error rate."""


def all_failed(load: Load, summary: RunSummary) -> str:
    """Return that nothing worked, in words, whatever is promised; "" where something did."""
    held, iterations = held_sessions(load, summary), summary.load
    if held.ended and held.failed == held.ended:
        return f"not one of {held.ended} sessions was held to the end"
    if iterations.started > 0 and iterations.succeeded == 0:
        return f"not one of {iterations.failed} iterations ended well"
    return ""


def many_failed(thresholds: Sequence[Threshold], load: Load, summary: RunSummary) -> str:
    """Return that more failed than a run may have without a threshold on the error rate, in words, else ""."""
    tried = attempts(load, summary)
    rate = tried.error_rate
    if rate is None or rate < MOST_UNPROMISED or any(isinstance(one, ErrorRateThreshold) for one in thresholds):
        return ""
    return (
        f"{rate * 100:.4g} % failed ({tried.failed} of {tried.ended}). Without an errorRate threshold, less than "
        f"{MOST_UNPROMISED * 100:g} % may fail"
    )


def failed_by_delay(load: Load, summary: RunSummary) -> bool:
    """Tell whether the generator's own delay may have made so many failures."""
    if own_delay(summary).is_small_beside_any_limit:
        return False
    return sure_failures(load, summary) < MOST_UNPROMISED * attempts(load, summary).ended
