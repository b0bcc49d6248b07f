"""The verdict on one trial of a search: judged as a run of its own is, in the same order.

A trial that cannot be trusted is invalid, whatever its figures are. A broken threshold comes before arrivals that found
no room: a server that is overloaded lets iterations pile up, and that it does not keep what it promised is then its own
failure. Where the thresholds held although arrivals were dropped, the load was less than was to be tried, which says
nothing. A threshold that the delay of a lagging generator may have decided makes the trial invalid too. The delay of a
sound one, which matters only near the limit, does not.
"""

from dataclasses import dataclass

from sshload_contract.judgement.error_rate import all_failed, failed_by_delay, held_sessions, many_failed
from sshload_contract.judgement.own_delay import own_delay
from sshload_contract.judgement.threshold import judge_threshold, why_too_few
from sshload_contract.judgement.validity import arrivals_dropped, defects
from sshload_contract.thresholds import Judged, ThresholdResult
from sshload_contract.vocabulary import Invalidity, RunEnd, TrialState
from sshload_contract.wire.run_config import RunConfig
from sshload_contract.wire.run_summary import RunSummary

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
    """Return the verdict of a trial. `config` is the trial's own; a threshold without a verdict has not held.

    A trial that the run's end has cut off is invalid.
    """
    judged = tuple(judge_threshold(threshold, config.load, summary).settled() for threshold in config.thresholds)
    results = tuple(one.result for one in judged)
    invalid = _cut_off(summary) or _empty(config, summary) or _defective(config, summary)
    if invalid is not None:
        return TrialVerdict(TrialState.INVALID, invalid[1], invalid[0], results)
    broken = [f"{result.threshold}, but it was {result.observed}" for result in results if result.passed is False]
    if broken:
        return TrialVerdict(TrialState.FAILED, "; ".join(broken), None, results)
    invalid = _delayed(judged, summary) or _dropped(summary) or _failed_by_delay(config, summary)
    if invalid is not None:
        return TrialVerdict(TrialState.INVALID, invalid[1], invalid[0], results)
    failed = _failures(config, summary) or "; ".join(why_too_few(config.thresholds, judged, summary))
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
    found = defects(summary, managed=config.is_managed)
    return (found[0].invalidity, ". Also: ".join(defect.message for defect in found)) if found else None


def _delayed(judged: tuple[Judged, ...], summary: RunSummary) -> tuple[Invalidity | None, str] | None:
    doubts = [one.doubt for one in judged if one.doubt]
    if not doubts:
        return None
    delay = own_delay(summary)
    return delay.invalidity, f"{'; '.join(doubts)}. {delay.advice}"


def _dropped(summary: RunSummary) -> tuple[Invalidity | None, str] | None:
    dropped = arrivals_dropped(summary)
    return None if dropped is None else (dropped.invalidity, dropped.message)


def _failed_by_delay(config: RunConfig, summary: RunSummary) -> tuple[Invalidity | None, str] | None:
    failed, delay = _failures(config, summary), own_delay(summary)
    if not failed or not failed_by_delay(config.load, summary):
        return None
    return delay.invalidity, f"{failed}. {delay.advice}"


def _failures(config: RunConfig, summary: RunSummary) -> str:
    """Fail a trial of which much did not work, even if nothing is promised about errors."""
    return all_failed(config.load, summary) or many_failed(config.thresholds, config.load, summary)
