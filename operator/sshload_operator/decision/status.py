"""The status of an SSHLoadTest: read back as what is remembered, and written as a whole."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TypeVar

from sshload_contract.run_config import HoldLoad
from sshload_contract.snapshot import Snapshot
from sshload_contract.vocabulary import Verdict

from sshload_operator.decision.conditions import MESSAGE_LIMIT_CHARACTERS
from sshload_operator.decision.results import milliseconds, percent, rounded
from sshload_operator.planning.plan import Plan
from sshload_operator.state import (
    Condition,
    ConditionStatus,
    ConditionType,
    Phase,
    Reason,
    Remembered,
    ThresholdResult,
)

Word = TypeVar("Word", bound=StrEnum)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """All that a status says. `results` and `progress` are as the CRD has them; None and empty are left out."""

    generation: int
    run: int
    spec_hash: str
    phase: Phase
    reason: Reason
    message: str
    conditions: tuple[Condition, ...]
    verdict: Verdict | None = None
    start_time: datetime | None = None
    completion_time: datetime | None = None
    progress: Mapping[str, Any] | None = None
    results: Mapping[str, Any] | None = None
    thresholds: tuple[ThresholdResult, ...] = ()
    results_config_map: str = ""


def status(standing: Standing) -> dict[str, Any]:
    """Return the status as the CRD's schema has it."""
    optional = {
        "specHash": standing.spec_hash,
        "verdict": standing.verdict,
        "startTime": _time_text(standing.start_time),
        "completionTime": _time_text(standing.completion_time),
        "progress": standing.progress,
        "results": standing.results,
        "thresholds": [_threshold(result) for result in standing.thresholds],
        "resultsConfigMap": standing.results_config_map,
    }
    return {
        "observedGeneration": standing.generation,
        "run": standing.run,
        "phase": str(standing.phase),
        "reason": str(standing.reason),
        "message": standing.message[:MESSAGE_LIMIT_CHARACTERS],
        "conditions": [_condition(condition) for condition in standing.conditions],
        **{key: str(value) if isinstance(value, StrEnum) else value for key, value in optional.items() if value},
    }


def progress(plan: Plan, snapshot: Snapshot) -> dict[str, Any]:
    """Return the status's progress as the newest snapshot has it."""
    share = snapshot.failures / snapshot.iterations if snapshot.iterations else None
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
    }
    return {key: value for key, value in figures.items() if value is not None}


def remembered(written: Mapping[str, Any] | None) -> Remembered:
    """Return what a status says of the past. Words that this version does not know count as absent."""
    known = written or {}
    return Remembered(
        run=known.get("run", 0),
        spec_hash=known.get("specHash", ""),
        phase=_word(Phase, known.get("phase")),
        verdict=_word(Verdict, known.get("verdict")),
        start_time=_time(known.get("startTime")),
        completion_time=_time(known.get("completionTime")),
        conditions=tuple(_read_conditions(known.get("conditions", ()))),
        written=known,
    )


def _read_conditions(items: Iterable[Mapping[str, Any]]) -> Iterable[Condition]:
    for item in items:
        kind, held = _word(ConditionType, item["type"]), _word(ConditionStatus, item["status"])
        reason, since = _word(Reason, item["reason"]), _time(item["lastTransitionTime"])
        if kind is not None and held is not None and reason is not None and since is not None:
            yield Condition(kind, held, reason, item["message"], since)


def _condition(condition: Condition) -> dict[str, Any]:
    return {
        "type": str(condition.type),
        "status": str(condition.status),
        "reason": str(condition.reason),
        "message": condition.message,
        "lastTransitionTime": _time_text(condition.last_transition_time),
    }


def _threshold(result: ThresholdResult) -> dict[str, Any]:
    words = {"threshold": result.threshold, "observed": result.observed, "passed": result.passed}
    return {key: value for key, value in words.items() if value is not None}


def _word(kind: type[Word], text: str | None) -> Word | None:
    try:
        return kind(text) if text is not None else None
    except ValueError:
        return None


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _time_text(time: datetime | None) -> str | None:
    """Return a time as Kubernetes writes it, in whole seconds of UTC."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if time is not None else None
