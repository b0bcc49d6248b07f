"""Refusals told apart by the server's own counts.

Since OpenSSH 9.8 the client hears the same words ("Not allowed at this time") whether MaxStartups or a penalty made
sshd drop its connection. A managed target counts both: where it has counted one kind only, it was that.
"""

from dataclasses import replace

from sshload_contract.target_stats import TargetStats
from sshload_contract.vocabulary import Outcome

from sshload_worker.recording.histogram import LatencyHistogram
from sshload_worker.summary.merge import ErrorKey, SampleKey, Totals


def told_apart(totals: Totals, before: TargetStats | None, after: TargetStats | None) -> Totals:
    """Return the totals with DROPPED_UNKNOWN as THROTTLED or PENALISED, where the target's counts of the run say so."""
    kind = _only_kind(before, after)
    if kind is None:
        return totals
    histograms: dict[SampleKey, LatencyHistogram] = {}
    for (step, window, outcome), histogram in totals.histograms.items():
        histograms.setdefault((step, window, _as(outcome, kind)), LatencyHistogram()).merge(histogram)
    errors: dict[ErrorKey, tuple[int, str]] = {}
    for (step, outcome, window), (count, message) in totals.errors.items():
        key = (step, _as(outcome, kind), window)
        known_count, known_message = errors.get(key, (0, message))
        errors[key] = (known_count + count, min(known_message, message))
    return replace(totals, histograms=histograms, errors=errors)


def _as(outcome: Outcome, kind: Outcome) -> Outcome:
    return kind if outcome is Outcome.DROPPED_UNKNOWN else outcome


def _only_kind(before: TargetStats | None, after: TargetStats | None) -> Outcome | None:
    """Return the one kind of drop that the target has counted, None where it counted both, none, or was restarted."""
    if before is None or after is None:
        return None
    throttled = after.dropped_max_startups - before.dropped_max_startups
    penalised = after.dropped_penalty - before.dropped_penalty
    if throttled > 0 and penalised == 0:
        return Outcome.THROTTLED
    return Outcome.PENALISED if penalised > 0 and throttled == 0 else None
