"""SearchCourse: the trials of a run, the verdict on each, the next trial, and the result.

It has no clock: it gets the time as an argument. A run without a search has one trial, and no result of a search.

A trial is judged like a run, in the same order. A trial that cannot be trusted is invalid, whatever its figures are. A
broken threshold takes precedence over dropped arrivals: on an overloaded server iterations pile up, and then broken
thresholds are the server's failure. If the thresholds held although arrivals were dropped, the load was less than
intended, so the trial proves nothing. A trial is also invalid if the delay of a lagging generator may have decided a
threshold. The delay of a sound generator, which matters only near the limit, does not make it invalid.
"""

from collections import Counter
from dataclasses import dataclass, replace

from sshload_contract.judgement.error_rate import all_failed, failed_by_delay, held_sessions, many_failed
from sshload_contract.judgement.figures import find_step
from sshload_contract.judgement.own_delay import own_delay
from sshload_contract.judgement.threshold import judge_threshold, why_too_few
from sshload_contract.judgement.validity import arrivals_dropped, defects
from sshload_contract.load import Load
from sshload_contract.thresholds import Judged, ThresholdResult
from sshload_contract.vocabulary import (
    Invalidity,
    Outcome,
    RunEnd,
    SearchEnd,
    Timing,
    TrialState,
    Window,
    is_of_jump_host,
)
from sshload_contract.wire.master_log import SearchProgress
from sshload_contract.wire.run_config import RunConfig
from sshload_contract.wire.run_summary import CapacityResult, RunSummary, StepStats, Trial

from sshload_worker.pacing.share import TrialOrder
from sshload_worker.search.capacity_search import Goal, NextTrial, PastTrial, SearchResult, next_step, partial_result
from sshload_worker.summary.trial_course import TrialCourse

_END_AS_INVALIDITY = {
    RunEnd.WORKER_LOST: Invalidity.WORKER_LOST,
    RunEnd.GENERATOR_FAULT: Invalidity.GENERATOR_FAULT,
}


@dataclass(frozen=True, slots=True)
class TrialVerdict:
    """The verdict on a trial, with the fields that a Trial has."""

    state: TrialState
    message: str
    invalidity: Invalidity | None
    thresholds: tuple[ThresholdResult, ...]


def judge_trial(config: RunConfig, summary: RunSummary) -> TrialVerdict:
    """Return the verdict on a trial. `config` is the trial's own. A threshold without a verdict has not held.

    A trial that the run's end cut off is invalid.
    """
    judged = tuple(judge_threshold(threshold, config.load, summary).settled() for threshold in config.thresholds)
    results = tuple(one.result for one in judged)
    invalid = _cut_off(summary) or _empty(config, summary) or _defective(config, summary)
    if invalid is not None:
        return TrialVerdict(TrialState.INVALID, invalid[1], invalid[0], results)
    broken = [result.broken_words for result in results if result.met is False]
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
    """Return why a trial with many failures fails, even without a threshold on errors; empty if it does not."""
    return all_failed(config.load, summary) or many_failed(config.thresholds, config.load, summary)


class SearchCourse:
    """All trials of one run so far; raises ValueError if the search has no loads to try."""

    def __init__(self, config: RunConfig) -> None:
        self._config = config
        self._goal = _goal(config)
        self._seen: list[PastTrial] = []
        self._trials: list[Trial] = []
        self._summaries: list[RunSummary] = []

    def first_order(self) -> TrialOrder:
        """Return the first trial: the least load of a search, or the run's load."""
        return self.next_order() or TrialOrder(number=0, amount=self._config.load.amount)

    def next_order(self) -> TrialOrder | None:
        """Return the next trial, None if the search has ended or there is none."""
        if self._goal is None:
            return None
        step = next_step(self._goal, self._seen)
        return TrialOrder(number=len(self._trials) + 1, amount=step.load) if isinstance(step, NextTrial) else None

    def has_time_for(self, order: TrialOrder, at_s: float) -> bool:
        """Return whether a trial that begins `at_s` after the start of the first ends within the search's budget."""
        capacity, trial = self._config.capacity, order.config(self._config)
        length_s = trial.start_lead_s + trial.warm_up_s + trial.load.lasts_s
        return capacity is None or at_s + length_s <= capacity.budget_s

    def add(self, over: TrialCourse, summary: RunSummary, started_s: float) -> None:
        """Add a trial that has ended or was cut off, and its summary. It began `started_s` after the first one."""
        self._summaries.append(summary)
        if self._goal is None:
            return
        trial = _trial(over, summary, started_s)
        self._trials.append(trial)
        if summary.end is RunEnd.COMPLETED:
            self._seen.append(_seen(over.config.load, trial))

    def progress(self, current: TrialOrder) -> SearchProgress | None:
        """Return the progress of the search, None if there is no search."""
        if self._goal is None:
            return None
        bounds = partial_result(self._goal, self._seen, SearchEnd.RUN_ENDED)
        return SearchProgress(current.number, current.amount, bounds.lower, bounds.upper)

    def summary(self, end: RunEnd, message: str) -> RunSummary:
        """Return the summary of the run, after at least one trial. `end` and `message` are the run's."""
        result = self._result(end)
        reported = self._summaries[result.reported - 1 if result is not None else -1]
        return replace(reported, end=end, message=message, capacity=result)

    def _result(self, end: RunEnd) -> CapacityResult | None:
        if self._goal is None:
            return None
        found = self._found(self._goal, end)
        return CapacityResult(
            end=found.end,
            lower=found.lower,
            upper=found.upper,
            reported=reported_trial(self._trials, found.lower),
            trials=tuple(self._trials),
        )

    def _found(self, goal: Goal, end: RunEnd) -> SearchResult:
        """Return the search's result. If trials are missing, its `end` says why."""
        if end is not RunEnd.COMPLETED:
            return partial_result(goal, self._seen, SearchEnd.RUN_ENDED)
        step = next_step(goal, self._seen)
        return step if isinstance(step, SearchResult) else partial_result(goal, self._seen, SearchEnd.OUT_OF_TIME)


def reported_trial(trials: list[Trial], lower: float | None) -> int:
    """Return the number of the trial that represents the run: the last one that passed at `lower`, or the last one."""
    at_lower = [trial.number for trial in trials if trial.state is TrialState.PASSED and trial.amount == lower]
    return at_lower[-1] if at_lower else trials[-1].number


def _goal(config: RunConfig) -> Goal | None:
    capacity = config.capacity
    if capacity is None:
        return None
    return Goal(
        least=capacity.least,
        most=capacity.most,
        precision=capacity.precision,
        confirm=capacity.confirm,
        whole=config.load.is_whole,
    )


def _trial(over: TrialCourse, summary: RunSummary, started_s: float) -> Trial:
    verdict = judge_trial(over.config, summary)
    return Trial(
        number=over.order.number,
        amount=over.order.amount,
        state=verdict.state,
        message="; ".join(filter(None, (verdict.message, over.target_activity if verdict.message else ""))),
        invalidity=verdict.invalidity,
        thresholds=verdict.thresholds,
        started_s=started_s,
        load=summary.load,
        total=_measured(summary, Timing.TOTAL),
        connect=_measured(summary, Timing.CONNECT),
        login=_measured(summary, Timing.LOGIN),
        generator=summary.generator,
        target_before=summary.target_before,
        target_held=summary.target_held,
        target_after=summary.target_after,
        failed_by=_failed_by(summary),
    )


def _failed_by(summary: RunSummary) -> dict[Outcome, int]:
    counted: Counter[Outcome] = Counter()
    for error in summary.errors:
        if error.window is Window.MEASURED and not is_of_jump_host(error.step):
            counted[error.outcome] += error.count
    return dict(counted)


def _measured(summary: RunSummary, step: Timing) -> StepStats | None:
    return find_step(summary, step, Window.MEASURED)


def _seen(load: Load, trial: Trial) -> PastTrial:
    passed = None if trial.state is TrialState.INVALID else trial.state is TrialState.PASSED
    stolen = trial.invalidity is Invalidity.CPU_STOLEN
    return PastTrial(trial.amount, passed, load.completed_amount(trial.load), stolen)
