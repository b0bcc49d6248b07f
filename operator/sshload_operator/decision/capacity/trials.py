"""Which of a search's trials say what."""

from math import isclose

from sshload_contract.load import Load
from sshload_contract.run_summary import CapacityResult, RunSummary, Trial
from sshload_contract.vocabulary import TrialState

from sshload_operator.planning.plan import Plan

_SAME_AMOUNT = 1e-9


def measured_load(plan: Plan, summary: RunSummary) -> Load:
    """Return the load that a summary describes: the plan's, or of a search, that of its reported trial."""
    reported = reported_trial(summary.capacity) if summary.capacity is not None else None
    return plan.spec.load if reported is None else plan.spec.load.at(reported.amount)


def reported_trial(found: CapacityResult) -> Trial | None:
    """Return the trial that the summary beside describes, None where there is none of its number."""
    return next((trial for trial in found.trials if trial.number == found.reported), None)


def trials_at(found: CapacityResult, amount: float) -> tuple[Trial, ...]:
    """Return the trials of an amount, in their order."""
    return tuple(trial for trial in found.trials if isclose(trial.amount, amount, rel_tol=_SAME_AMOUNT))


def those(trials: tuple[Trial, ...], state: TrialState) -> tuple[Trial, ...]:
    """Return those of the trials that ended so."""
    return tuple(trial for trial in trials if trial.state is state)


def how_many(found: CapacityResult) -> str:
    """Return the number of trials in words, and of those that count for nothing: `14 trials, 1 of them invalid`."""
    count, invalid = len(found.trials), len(those(found.trials, TrialState.INVALID))
    counted = "1 trial" if count == 1 else f"{count} trials"
    return f"{counted}, {invalid} of them invalid and not counted" if invalid else counted
