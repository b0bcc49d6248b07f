"""SearchCourse: the trials of a run, the verdict on each, the next trial, and the result.

It has no clock: it gets the time as an argument. A run without a search has one trial, and no result of a search.
"""

from collections import Counter
from dataclasses import replace

from sshload_contract.judgement.trial import Asked, judge
from sshload_contract.load import Load, Search
from sshload_contract.vocabulary import (
    Invalidity,
    Outcome,
    RunEnd,
    SearchEnd,
    TrialReason,
    TrialState,
    Verdict,
    Window,
    is_of_jump_host,
)
from sshload_contract.wire.master_log import SearchProgress
from sshload_contract.wire.run_config import RunConfig
from sshload_contract.wire.run_summary import RunSummary, SearchOutcome, Trial

from sshload_worker.pacing.share import TrialOrder
from sshload_worker.search.capacity_search import NextTrial, PastTrial, SearchResult, next_step, partial_result
from sshload_worker.summary.trial_course import TrialCourse

_END_AS_INVALIDITY = {
    RunEnd.WORKER_LOST: Invalidity.WORKER_LOST,
    RunEnd.GENERATOR_FAULT: Invalidity.GENERATOR_FAULT,
}


class SearchCourse:
    """All trials of one run so far."""

    def __init__(self, config: RunConfig) -> None:
        self._config = config
        self._search = config.load if config.load.is_search else None
        self._seen: list[PastTrial] = []
        self._summaries: list[RunSummary] = []

    def first_order(self) -> TrialOrder:
        """Return the first trial: the least load of a search, or the run's load."""
        return self.next_order() or TrialOrder(number=0, amount=self._config.trial_load.amount)

    def next_order(self) -> TrialOrder | None:
        """Return the next trial, None if the search has ended or there is none."""
        if self._search is None:
            return None
        step = next_step(self._search, self._seen)
        return TrialOrder(number=len(self._summaries) + 1, amount=step.load) if isinstance(step, NextTrial) else None

    def has_time_for(self, order: TrialOrder, at_s: float) -> bool:
        """Return whether a trial that begins `at_s` after the start of the first ends within the search's budget."""
        trial = order.config(self._config)
        length_s = trial.start_lead_s + trial.warm_up_s + trial.trial_load.lasts_s
        return at_s + length_s <= self._config.load.budget_s

    def add(self, over: TrialCourse, summary: RunSummary, started_s: float) -> None:
        """Add a trial that has ended or was cut off, and its summary. It began `started_s` after the first one."""
        if self._search is not None:
            summary = replace(summary, trial=_counted(over, summary, started_s))
            if summary.end is RunEnd.COMPLETED:
                self._seen.append(_seen(over.config.trial_load, over.order.amount, summary.trial))
        self._summaries.append(summary)

    def progress(self, current: TrialOrder) -> SearchProgress | None:
        """Return the progress of the search, None if there is no search."""
        if self._search is None:
            return None
        bounds = partial_result(self._search, self._seen, SearchEnd.RUN_ENDED)
        return SearchProgress(current.number, current.amount, bounds.lower, bounds.upper)

    def summary(self, end: RunEnd, message: str) -> RunSummary:
        """Return the summary of the run, after at least one trial. `end` and `message` are the run's."""
        reported, outcome = self._summaries[-1], None
        if self._search is not None:
            found = self._found(self._search, end)
            reported = reported_one(self._summaries, found.lower)
            others = tuple(one.trial.in_short for one in self._summaries if one is not reported)
            outcome = SearchOutcome(found.end, found.lower, found.upper, others)
        return replace(reported, end=end, message=message, search=outcome)

    def _found(self, search: Search, end: RunEnd) -> SearchResult:
        """Return the search's result. If trials are missing, its `end` says why."""
        if end is not RunEnd.COMPLETED:
            return partial_result(search, self._seen, SearchEnd.RUN_ENDED)
        step = next_step(search, self._seen)
        return step if isinstance(step, SearchResult) else partial_result(search, self._seen, SearchEnd.OUT_OF_TIME)


def reported_one(summaries: list[RunSummary], lower: float | None) -> RunSummary:
    """Return that of the trial that represents the run: the last one that passed at `lower`, or the last one."""
    at_lower = [one for one in summaries if one.trial.state is TrialState.PASSED and one.trial.amount == lower]
    return (at_lower or summaries)[-1]


def _counted(over: TrialCourse, summary: RunSummary, started_s: float) -> Trial:
    """Return a trial of a search with what it counts as, and beside what it began if it did not pass."""
    trial, order = count_trial(over.config, summary), over.order
    message = "; ".join(filter(None, (trial.message, over.target_activity if trial.message else "")))
    return replace(trial, number=order.number, amount=order.amount, message=message, started_s=started_s)


def count_trial(config: RunConfig, summary: RunSummary) -> Trial:
    """Return the trial with what it counts as in a search, and why. One that the run's end cut off is invalid.

    A threshold that cannot be judged has not held, unless nobody knows the figure. `config` is the trial's own.
    """
    asked = Asked(config.trial_load, config.thresholds, config.is_managed, is_searched=True, warm_up_s=config.warm_up_s)
    trial = summary.trial
    judged = judge(asked, trial)
    state = TrialState.PASSED if judged.verdict is Verdict.PASSED else TrialState.FAILED
    message, invalidity = judged.message, None
    if summary.end is not RunEnd.COMPLETED:
        state, invalidity = TrialState.INVALID, _END_AS_INVALIDITY.get(summary.end)
        message = f"the run ended before the trial did: {summary.message}"
    elif isinstance(judged.reason, Invalidity):
        state, invalidity = TrialState.INVALID, judged.reason
    elif judged.reason is TrialReason.TARGET_UNREAD:
        state, invalidity = TrialState.INVALID, Invalidity.COUNTS_DISAGREE
    failed_by: Counter[Outcome] = Counter()
    for error in trial.errors:
        if error.window is Window.MEASURED and not is_of_jump_host(error.step):
            failed_by[error.outcome] += error.count
    return replace(
        trial,
        state=state,
        message=message,
        invalidity=invalidity,
        thresholds=judged.thresholds,
        failed_by=dict(failed_by),
    )


def _seen(load: Load, amount: float, trial: Trial) -> PastTrial:
    passed = None if trial.state is TrialState.INVALID else trial.state is TrialState.PASSED
    stolen = trial.invalidity is Invalidity.CPU_STOLEN
    return PastTrial(amount, passed, load.completed_amount(trial.load), stolen)
