"""Parts of a test's status that are not results: how a run stands, and its thresholds as judged."""

from sshload_contract.snapshot import MOST_FAILURE_KINDS, Snapshot
from sshload_contract.thresholds import ThresholdResult

from sshload_operator.api.status.load_test import FailuresSoFar, Progress, ThresholdStatus
from sshload_operator.decision.capacity.status import search_status
from sshload_operator.decision.figures import milliseconds, percent, rounded
from sshload_operator.planning.plan import Plan


def progress(plan: Plan, snapshot: Snapshot) -> Progress:
    """Return the status's progress as the newest snapshot has it."""
    share = min(snapshot.failures / snapshot.iterations, 1.0) if snapshot.iterations else None
    return Progress(
        stage=snapshot.stage,
        elapsed_seconds=rounded(snapshot.elapsed_s),
        remaining_seconds=rounded(snapshot.remaining_s),
        workers_connected=snapshot.workers_connected,
        users=snapshot.users,
        held=snapshot.held if plan.spec.load.held_sessions else None,
        in_flight=snapshot.in_flight,
        offered_rate=rounded(snapshot.offered_rate),
        completed_rate=rounded(snapshot.completed_rate),
        iterations=snapshot.iterations,
        failures=snapshot.failures,
        p50_ms=milliseconds(snapshot.p50_us),
        recent_p50_ms=milliseconds(snapshot.recent_p50_us),
        p99_ms=milliseconds(snapshot.p99_us),
        error_percent=percent(share),
        failure_kinds=tuple(
            FailuresSoFar(kind.outcome, kind.count) for kind in snapshot.failure_kinds[:MOST_FAILURE_KINDS]
        ),
        search=search_status(plan, snapshot.search) if snapshot.search is not None else None,
    )


def threshold_status(result: ThresholdResult) -> ThresholdStatus:
    """Return a threshold as judged, as a status has it."""
    terms = result.terms
    return ThresholdStatus(
        threshold=result.threshold,
        observed=result.observed,
        passed=result.passed,
        kind=None if terms is None else terms.kind,
        step=None if terms is None else terms.step or None,
        percentile=None if terms is None else terms.percentile,
        limit=None if terms is None else rounded(terms.limit),
        unit=None if terms is None else terms.unit,
        value=_rounded(result.value),
        low=_rounded(result.low),
        high=_rounded(result.high),
    )


def _rounded(figure: float | None) -> float | None:
    return None if figure is None else rounded(figure)
