"""The status of a search: its progress, its result, and each of its trials."""

from sshload_contract.judgement.figures import total_step
from sshload_contract.load import Load
from sshload_contract.percentiles import percentile_key
from sshload_contract.shortened import shortened
from sshload_contract.vocabulary import TrialState, Window
from sshload_contract.wire.master_log import SearchProgress
from sshload_contract.wire.run_summary import RunSummary, Trial

from sshload_operator.api.status.capacity import (
    MOST_TRIALS,
    TRIAL_MESSAGE_CHARACTERS,
    CapacityStatus,
    Limitation,
    SearchStatus,
    ShortageStatus,
    TrialStatus,
)
from sshload_operator.api.status.figures import milliseconds, percent, rounded
from sshload_operator.decision.capacity.limited_by import LimitedBy, limited_by
from sshload_operator.decision.capacity.trials import digits, search_of
from sshload_operator.decision.capacity.verdict import known
from sshload_operator.decision.load_test.thresholds import threshold_status
from sshload_operator.planning.plan import Plan


def capacity_status(plan: Plan, summary: RunSummary) -> CapacityStatus | None:
    """Return `status.capacity`, None if none was searched."""
    found = search_of(plan, summary)
    if found is None:
        return None
    limit = limited_by(plan, found)
    return CapacityStatus(
        in_words=known(plan, found),
        value=_bound(found.lower),
        unit=found.load.unit,
        lower_bound=_bound(found.lower),
        upper_bound=_bound(found.upper),
        end=found.end,
        reported_trial=found.reported.number,
        limited_by=None if limit is None else _limitation(limit),
        trials=tuple(_trial(trial, found.load.least) for trial in found.trials[-MOST_TRIALS:]),
    )


def search_status(plan: Plan, search: SearchProgress) -> SearchStatus:
    """Return `status.progress.search`."""
    return SearchStatus(
        trial=search.trial,
        amount=_amount(search.amount),
        unit=plan.spec.load.unit,
        lower_bound=_bound(search.lower),
        upper_bound=_bound(search.upper),
    )


def _limitation(limit: LimitedBy) -> Limitation:
    return Limitation(
        amount=_amount(limit.amount),
        threshold=None if limit.threshold is None else threshold_status(limit.threshold),
        observed=_short(limit.seen) if limit.threshold is None else None,
        short_of=tuple(
            ShortageStatus(shortage.resource, f"{shortage.figure}. {shortage.remedy}") for shortage in limit.short_of
        ),
        message=limit.message or None,
    )


def _trial(trial: Trial, load: Load) -> TrialStatus:
    ended = trial.load.succeeded + trial.load.failed
    share = trial.load.failed / ended if ended and not load.held_sessions else None
    total = total_step(trial, Window.MEASURED)
    p99_us = None if total is None else total.percentiles_us.get(percentile_key(99))
    return TrialStatus(
        number=trial.number,
        amount=_amount(trial.amount),
        state=trial.state or TrialState.INVALID,
        message=_short(trial.message),
        start_seconds=rounded(trial.started_s),
        completed_rate=rounded(trial.load.completed_rate),
        error_percent=percent(share),
        held_least=trial.load.held_least,
        p99_ms=milliseconds(p99_us),
    )


def _amount(amount: float) -> float:
    return float(digits(amount))


def _bound(amount: float | None) -> float | None:
    return None if amount is None else _amount(amount)


def _short(text: str | None) -> str | None:
    return shortened(text, TRIAL_MESSAGE_CHARACTERS) if text else None
