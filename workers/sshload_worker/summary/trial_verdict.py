"""What one trial of a search says: judged as a run of its own is, in the same order.

A trial that cannot be trusted is invalid, whatever its figures are. A broken threshold comes before arrivals that found
no room: a server that is overloaded lets iterations pile up, and that it does not keep what it promised is then its own
failure. Where the thresholds held although arrivals were dropped, the load was less than was to be tried, which says
nothing.
"""

from dataclasses import dataclass

from sshload_contract.judgement.attempts import held_sessions
from sshload_contract.judgement.threshold import judge_threshold, why_unjudged
from sshload_contract.judgement.validity import arrivals_dropped, defects
from sshload_contract.run_config import RunConfig
from sshload_contract.run_summary import RunSummary
from sshload_contract.thresholds import ThresholdResult
from sshload_contract.vocabulary import Invalidity, RunEnd, TrialState

_END_AS_INVALIDITY = {
    RunEnd.WORKER_LOST: Invalidity.WORKER_LOST,
    RunEnd.GENERATOR_FAULT: Invalidity.GENERATOR_FAULT,
}


@dataclass(frozen=True, slots=True)
class TrialVerdict:
    """How a trial is judged, as a Trial has it."""

    state: TrialState
    message: str
    invalidity: Invalidity | None
    thresholds: tuple[ThresholdResult, ...]


def judge_trial(config: RunConfig, summary: RunSummary) -> TrialVerdict:
    """Return what the trial says of its load. `config` is the trial's own; a threshold without a verdict has not held.

    A trial that the run's end has cut off is invalid.
    """
    results = tuple(judge_threshold(threshold, config.load, summary) for threshold in config.thresholds)
    invalid = _cut_off(summary) or _empty(config, summary) or _defective(config, summary)
    if invalid is not None:
        return TrialVerdict(TrialState.INVALID, invalid[1], invalid[0], results)
    broken = [f"{result.threshold}, but it was {result.observed}" for result in results if result.passed is False]
    if broken:
        return TrialVerdict(TrialState.FAILED, "; ".join(broken), None, results)
    dropped = arrivals_dropped(summary)
    if dropped is not None:
        return TrialVerdict(TrialState.INVALID, dropped.message, dropped.invalidity, results)
    failed = _all_failed(config, summary) or "; ".join(why_unjudged(config.thresholds, results, summary))
    return TrialVerdict(TrialState.FAILED if failed else TrialState.PASSED, failed, None, results)


def _cut_off(summary: RunSummary) -> tuple[Invalidity | None, str] | None:
    if summary.end is RunEnd.COMPLETED:
        return None
    return _END_AS_INVALIDITY.get(summary.end), f"the run ended before the trial did: {summary.message}"


def _empty(config: RunConfig, summary: RunSummary) -> tuple[Invalidity | None, str] | None:
    if summary.load.started > 0 or held_sessions(config.load, summary).ended:
        return None
    return Invalidity.NO_REQUESTS, f"not one iteration began in the measured {summary.load.duration_s:g} s"


def _defective(config: RunConfig, summary: RunSummary) -> tuple[Invalidity | None, str] | None:
    found = defects(summary, managed=bool(config.stats_url))
    return (found[0].invalidity, ". Also: ".join(defect.message for defect in found)) if found else None


def _all_failed(config: RunConfig, summary: RunSummary) -> str:
    """Fail a trial in which nothing worked, even if nothing is promised about errors."""
    load, held = summary.load, held_sessions(config.load, summary)
    if held.ended and held.failed == held.ended:
        return f"not one of {held.ended} sessions was held to the end"
    return f"not one of {load.failed} iterations ended well" if load.started > 0 and load.succeeded == 0 else ""
