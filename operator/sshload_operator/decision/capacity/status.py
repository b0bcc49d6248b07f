"""The search in a status: while it is under way, and what it found."""

from collections.abc import Mapping
from typing import Any

from sshload_contract.load import HoldLoad, Load
from sshload_contract.percentile import percentile_key
from sshload_contract.run_summary import RunSummary, Trial
from sshload_contract.snapshot import SearchProgress

from sshload_operator.decision.capacity.amount import digits
from sshload_operator.decision.capacity.limited_by import LimitedBy, limited_by
from sshload_operator.decision.capacity.thresholds import known
from sshload_operator.decision.capacity.trials import reported_trial
from sshload_operator.decision.figures import milliseconds, percent, rounded, stated
from sshload_operator.planning.plan import Plan

_TRIALS_LIMIT = 100
_MESSAGE_LIMIT_CHARACTERS = 400


def capacity_status(plan: Plan, summary: RunSummary) -> dict[str, Any] | None:
    """Return `status.capacity`, None where none was searched."""
    found = summary.capacity
    if found is None:
        return None
    limit = limited_by(plan, summary)
    return stated(
        {
            "inWords": known(plan, found),
            "value": _amount(found.lower),
            "unit": plan.spec.load.unit,
            "lowerBound": _amount(found.lower),
            "upperBound": _amount(found.upper),
            "end": str(found.end),
            "reportedTrial": found.reported if reported_trial(found) is not None else None,
            "limitedBy": None if limit is None else _limited_by(limit),
            "trials": [_trial(trial, plan.spec.load) for trial in found.trials[-_TRIALS_LIMIT:]],
        }
    )


def search_progress(plan: Plan, search: SearchProgress) -> dict[str, Any]:
    """Return `status.progress.search`."""
    return stated(
        {
            "trial": search.trial,
            "amount": _amount(search.amount),
            "unit": plan.spec.load.unit,
            "lowerBound": _amount(search.lower),
            "upperBound": _amount(search.upper),
        }
    )


def _limited_by(limit: LimitedBy) -> Mapping[str, Any]:
    return stated(
        {
            "amount": _amount(limit.amount),
            "threshold": limit.threshold,
            "observed": _short(limit.observed),
            "shortOf": [
                {"resource": str(shortage.resource), "message": f"{shortage.figure}. {shortage.remedy}"}
                for shortage in limit.short_of
            ],
            "message": limit.message or None,
        }
    )


def _trial(trial: Trial, load: Load) -> Mapping[str, Any]:
    ended = trial.load.succeeded + trial.load.failed
    share = trial.load.failed / ended if ended and not isinstance(load, HoldLoad) else None
    p99_us = None if trial.total is None else trial.total.percentiles_us.get(percentile_key(99))
    return stated(
        {
            "number": trial.number,
            "amount": _amount(trial.amount),
            "state": str(trial.state),
            "message": _short(trial.message),
            "startSeconds": rounded(trial.started_s),
            "completedRate": rounded(trial.load.completed_rate),
            "errorPercent": percent(share),
            "heldLeast": trial.load.held_least,
            "p99Ms": milliseconds(p99_us),
        }
    )


def _amount(amount: float | None) -> float | None:
    return None if amount is None else float(digits(amount))


def _short(text: str | None) -> str | None:
    return text[:_MESSAGE_LIMIT_CHARACTERS] if text else None
