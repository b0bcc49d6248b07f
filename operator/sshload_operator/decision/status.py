"""The status of an SSHLoadTest: read back as what is remembered, and written as a whole."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sshload_contract.load import HoldLoad
from sshload_contract.snapshot import Snapshot
from sshload_contract.thresholds import ThresholdResult
from sshload_contract.vocabulary import Verdict

from sshload_operator.decision.capacity.status import search_progress
from sshload_operator.decision.figures import milliseconds, percent, rounded, stated
from sshload_operator.decision.findings import (
    MESSAGE_LIMIT_CHARACTERS,
    condition_body,
    read_conditions,
    read_time,
    time_text,
    word,
)
from sshload_operator.planning.plan import INSTALLED_RESOURCES, Plan
from sshload_operator.state import BaselineRef, Condition, ConditionType, Phase, Reason, Remembered


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """All that a status says. `progress`, `results` and `capacity` are as the CRD has them; nothing empty is told."""

    generation: int
    run: int
    spec_hash: str
    phase: Phase
    reason: StrEnum
    message: str
    conditions: tuple[Condition, ...]
    verdict: Verdict | None = None
    start_time: datetime | None = None
    completion_time: datetime | None = None
    progress: Mapping[str, Any] | None = None
    results: Mapping[str, Any] | None = None
    capacity: Mapping[str, Any] | None = None
    thresholds: tuple[ThresholdResult, ...] = ()
    baseline: BaselineRef | None = None
    results_config_map: str = ""
    installed: Mapping[str, Any] | None = None


def status(standing: Standing) -> dict[str, Any]:
    """Return the status as the CRD's schema has it."""
    optional = {
        "specHash": standing.spec_hash,
        "verdict": standing.verdict,
        "startTime": time_text(standing.start_time),
        "completionTime": time_text(standing.completion_time),
        "progress": standing.progress,
        "results": standing.results,
        "capacity": standing.capacity,
        "thresholds": [_threshold(result) for result in standing.thresholds],
        "baseline": _baseline(standing.baseline) if standing.baseline is not None else None,
        "resultsConfigMap": standing.results_config_map,
    }
    return {
        "observedGeneration": standing.generation,
        "run": standing.run,
        "phase": str(standing.phase),
        "reason": str(standing.reason),
        "message": standing.message[:MESSAGE_LIMIT_CHARACTERS],
        "conditions": [condition_body(condition) for condition in standing.conditions],
        **{key: str(value) if isinstance(value, StrEnum) else value for key, value in optional.items() if value},
        **({} if standing.installed is None else {INSTALLED_RESOURCES: standing.installed}),
    }


def progress(plan: Plan, snapshot: Snapshot) -> dict[str, Any]:
    """Return the status's progress as the newest snapshot has it."""
    share = min(snapshot.failures / snapshot.iterations, 1.0) if snapshot.iterations else None
    figures = {
        "stage": str(snapshot.stage),
        "elapsedSeconds": rounded(snapshot.elapsed_s),
        "remainingSeconds": rounded(snapshot.remaining_s),
        "workersConnected": snapshot.workers_connected,
        "users": snapshot.users,
        "held": snapshot.held if isinstance(plan.spec.load, HoldLoad) else None,
        "inFlight": snapshot.in_flight,
        "offeredRate": rounded(snapshot.offered_rate),
        "completedRate": rounded(snapshot.completed_rate),
        "iterations": snapshot.iterations,
        "failures": snapshot.failures,
        "p99Ms": milliseconds(snapshot.p99_us),
        "errorPercent": percent(share),
        "search": search_progress(plan, snapshot.search) if snapshot.search is not None else None,
    }
    return stated(figures)


def remembered(written: Mapping[str, Any] | None) -> Remembered:
    """Return what a status says of the past. Words that this version does not know count as absent."""
    known = written or {}
    return Remembered(
        run=known.get("run", 0),
        spec_hash=known.get("specHash", ""),
        phase=word(Phase, known.get("phase")),
        verdict=word(Verdict, known.get("verdict")),
        start_time=read_time(known.get("startTime")),
        completion_time=read_time(known.get("completionTime")),
        conditions=tuple(read_conditions(known.get("conditions", ()), ConditionType, Reason)),
        written=known,
    )


def _threshold(result: ThresholdResult) -> dict[str, Any]:
    terms = result.terms
    of_limit = {} if terms is None else {"kind": terms.kind, "limit": rounded(terms.limit), "unit": terms.unit}
    of_step = {} if terms is None else {"step": terms.step or None, "percentile": terms.percentile}
    seen = {"value": result.value, "low": result.low, "high": result.high}
    figures = {name: None if figure is None else rounded(figure) for name, figure in seen.items()}
    words = {"threshold": result.threshold, "observed": result.observed, "passed": result.passed}
    return stated({**words, **of_limit, **of_step, **figures})


def _baseline(ref: BaselineRef) -> dict[str, Any]:
    words = {
        "test": ref.test,
        "uid": ref.uid or None,
        "verdict": str(ref.verdict) if ref.verdict is not None else None,
        "completionTime": time_text(ref.completion_time),
    }
    return stated(words)
