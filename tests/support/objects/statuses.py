"""Statuses as JSON, as the API server has them: what is written of values, and values that are read of it."""

from collections.abc import Mapping
from typing import Any

from sshload_contract.thresholds import Threshold, ThresholdResult
from sshload_contract.vocabulary import Verdict
from sshload_contract.wire.master_log import Snapshot
from sshload_contract.wire.run_summary import RunSummary
from sshload_operator.api.shapes.reading import read_fitting
from sshload_operator.api.status.comparison import ComparisonStatus
from sshload_operator.api.status.head import written
from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.api.status.percentiles import FIELDS_OF_PERCENTILES
from sshload_operator.api.status.steps import StepResult
from sshload_operator.decision.capacity.status import capacity_status
from sshload_operator.decision.load_test.results import progress, results_status
from sshload_operator.decision.load_test.thresholds import threshold_status
from sshload_operator.planning.plan import Plan

Json = Mapping[str, Any]

RESULTS: dict[str, Any] = {
    "durationSeconds": 30.0,
    "offeredRate": 20.0,
    "achievedRate": 20.0,
    "completedRate": 20.0,
    "iterations": 600,
    "failures": 0,
}
"""What the results of every run state."""


def step_json(step: str, percentiles: Mapping[float, Any], **figures: Any) -> dict[str, Any]:
    """Return a step of results with these percentiles and figures, and those that every whole step states."""
    flat = {f"{FIELDS_OF_PERCENTILES[percentile]}Ms": ms for percentile, ms in percentiles.items()}
    return {"step": step, "count": 600, "rate": 20.0, **figures, **flat}


def threshold_json(
    threshold: Threshold, observed: str | None = None, *, met: bool | None = None, value: float | None = None
) -> dict[str, Any]:
    """Return the result of a threshold as a status has it."""
    return written(threshold_status(ThresholdResult(threshold.terms, observed, met, value)))


def percentile_of(step: Mapping[str, Any], percentile: float) -> float | None:
    """Return a percentile of a step of results, None where it is not stated."""
    return step.get(f"{FIELDS_OF_PERCENTILES[percentile]}Ms")


def steps_of(status: Json) -> Mapping[str, StepResult]:
    """Return all steps that a test's status states, the parts among them, by name."""
    results = read_test_status(status).results
    return {} if results is None else {step.step: step for step in results.all_steps}


def read_test_status(status: Json) -> TestStatus:
    """Return the status of a test as it is read."""
    return read_fitting(TestStatus, status)


def read_comparison_status(status: Json) -> ComparisonStatus:
    """Return the status of a comparison as it is read."""
    return read_fitting(ComparisonStatus, status)


def results_json(plan: Plan, summary: RunSummary) -> dict[str, Any]:
    """Return `status.results` as it is written."""
    return written(results_status(plan, summary, Verdict.PASSED))


def capacity_json(plan: Plan, summary: RunSummary) -> dict[str, Any] | None:
    """Return `status.capacity` as it is written, None where there is none."""
    found = capacity_status(plan, summary)
    return None if found is None else written(found)


def progress_json(plan: Plan, snapshot: Snapshot) -> dict[str, Any]:
    """Return `status.progress` as it is written."""
    return written(progress(plan, snapshot))


def progress_after(elapsed_s: float) -> dict[str, Any]:
    """Return the progress of a running test, so long after its start."""
    return {
        "elapsedSeconds": elapsed_s,
        "remainingSeconds": 1,
        "workersConnected": 1,
        "users": 0,
        "inFlight": 1,
        "offeredRate": 1.0,
        "completedRate": 2.0,
        "iterations": 1,
        "failures": 0,
    }
