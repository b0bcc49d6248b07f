"""Refusals, classified by the server's own counts.

Since OpenSSH 9.8 the client hears the same words ("Not allowed at this time") whether MaxStartups or a penalty made
sshd drop its connection. A managed target counts both: where it has counted one kind only, it was that. It says nothing
of what a jump host has dropped.
"""

from dataclasses import replace

from sshload_contract.vocabulary import Outcome, Step, is_of_jump_host
from sshload_contract.wire.target import TargetStats

from sshload_worker.recording.histogram import LatencyHistogram
from sshload_worker.summary.merge import ErrorKey, SampleKey, Totals

_UNKNOWN = Outcome.DROPPED_UNKNOWN


def classify_refusals(totals: Totals, before: TargetStats | None, after: TargetStats | None) -> Totals:
    """Return the totals with DROPPED_UNKNOWN as THROTTLED or PENALISED, where the target's counts of the run say so."""
    kind = _only_kind(before, after)
    if kind is None:
        return totals
    by_jump_host = any(outcome is _UNKNOWN and is_of_jump_host(step) for step, _, outcome in totals.histograms)

    def classified(step: str, outcome: Outcome) -> Outcome:
        """Use only the target's own banner where jump hosts have dropped too: nothing else tells whose drop it was."""
        known = step.rpartition(".")[2] == Step.BANNER if by_jump_host else True
        return kind if outcome is _UNKNOWN and known and not is_of_jump_host(step) else outcome

    histograms: dict[SampleKey, LatencyHistogram] = {}
    for (step, window, outcome), histogram in totals.histograms.items():
        histograms.setdefault((step, window, classified(step, outcome)), LatencyHistogram()).merge(histogram)
    errors: dict[ErrorKey, tuple[int, str]] = {}
    for (step, outcome, window), (count, message) in totals.errors.items():
        key = (step, classified(step, outcome), window)
        known_count, known_message = errors.get(key, (0, message))
        errors[key] = (known_count + count, min(known_message, message))
    return replace(totals, histograms=histograms, errors=errors)


def _only_kind(before: TargetStats | None, after: TargetStats | None) -> Outcome | None:
    """Return the one kind of drop that the target has counted, None where it counted both, none, or was restarted.

    Nor is it known where the other kind may have come without being told: sshd tells the first ones, and leaves lines
    out for a while after that.
    """
    if before is None or after is None:
        return None
    throttled = after.dropped_max_startups - before.dropped_max_startups
    penalised = after.dropped_penalty - before.dropped_penalty
    if throttled > 0 and penalised == 0 and _would_log(before, before.dropped_penalty):
        return Outcome.THROTTLED
    if penalised > 0 and throttled == 0 and _would_log(before, before.dropped_max_startups):
        return Outcome.PENALISED
    return None


def _would_log(before: TargetStats, dropped: int) -> bool:
    """Return whether sshd, which had told so many drops of a kind before, would have told the next one for sure."""
    return dropped == 0 or not before.dropped_is_lower_bound
