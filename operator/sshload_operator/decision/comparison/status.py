"""The status of an SSHLoadTestComparison: read back as what is remembered, and written as a whole."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sshload_contract.vocabulary import Verdict

from sshload_operator.decision.comparison.compare import Compared
from sshload_operator.decision.comparison.facts import ComparisonPast, TestRun
from sshload_operator.decision.comparison.figures import split
from sshload_operator.decision.comparison.words import (
    ComparisonCondition,
    ComparisonPhase,
    ComparisonReason,
    ComparisonVerdict,
)
from sshload_operator.decision.findings import (
    MESSAGE_LIMIT_CHARACTERS,
    condition_body,
    read_conditions,
    read_time,
    time_text,
    word,
)
from sshload_operator.state import Condition

Results = Mapping[str, Sequence[Compared]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonStanding:
    """All that a status says. `results` are as the CRD has them; None and empty are left out."""

    generation: int
    run: int
    spec_hash: str
    phase: ComparisonPhase
    reason: ComparisonReason
    message: str
    conditions: tuple[Condition, ...]
    verdict: ComparisonVerdict | None = None
    start_time: datetime | None = None
    completion_time: datetime | None = None
    round: int = 0
    test: str = ""
    planned: int = 0
    tests: tuple[TestRun, ...] = ()
    results: Mapping[str, Any] | None = None


def comparison_status(standing: ComparisonStanding) -> dict[str, Any]:
    """Return the status as the CRD's schema has it."""
    done = sum(not run.is_repeated for run in standing.tests)
    optional = {
        "specHash": standing.spec_hash,
        "verdict": str(standing.verdict or ""),
        "startTime": time_text(standing.start_time),
        "completionTime": time_text(standing.completion_time),
        "round": standing.round,
        "test": standing.test,
        "progress": f"{done}/{standing.planned}" if standing.planned else "",
        "tests": [_test(run) for run in standing.tests],
        "results": standing.results,
    }
    return {
        "observedGeneration": standing.generation,
        "run": standing.run,
        "phase": str(standing.phase),
        "reason": str(standing.reason),
        "message": standing.message[:MESSAGE_LIMIT_CHARACTERS],
        "conditions": [condition_body(condition) for condition in standing.conditions],
        **{key: value for key, value in optional.items() if value},
    }


def results_body(results: Results, tests: Sequence[TestRun]) -> dict[str, Any]:
    """Return `status.results`: for each variant, the first one first, its tests' verdicts and its figures."""
    return {
        "variants": [
            {
                "name": variant,
                "tests": sum(run.variant == variant for run in tests),
                "measured": sum(run.variant == variant and not run.problem for run in tests),
                "verdicts": dict(sorted(Counter(str(run.verdict) for run in tests if run.variant == variant).items())),
                "figures": [_figure(one, is_first=index == 0) for one in found],
            }
            for index, (variant, found) in enumerate(results.items())
        ]
    }


def comparison_past(written: Mapping[str, Any] | None) -> ComparisonPast:
    """Return what a status says of the past. Words that this version does not know count as absent."""
    known = written or {}
    return ComparisonPast(
        run=known.get("run", 0),
        spec_hash=known.get("specHash", ""),
        phase=word(ComparisonPhase, known.get("phase")),
        verdict=word(ComparisonVerdict, known.get("verdict")),
        start_time=read_time(known.get("startTime")),
        completion_time=read_time(known.get("completionTime")),
        conditions=tuple(read_conditions(known.get("conditions", ()), ComparisonCondition, ComparisonReason)),
        tests=tuple(_read_tests(known.get("tests", ()))),
        written=known,
    )


def _read_tests(items: Sequence[Mapping[str, Any]]) -> Iterator[TestRun]:
    for item in items:
        verdict = word(Verdict, item["verdict"])
        if verdict is not None:
            yield TestRun(
                test=item["test"],
                round=item["round"],
                variant=item["variant"],
                verdict=verdict,
                reason=item.get("reason", ""),
                problem=item.get("problem", ""),
                figures=item.get("figures", {}),
                uid=item.get("uid", ""),
                lagged="uid" in item,
                repeats=item.get("repeats", 0),
            )


def _test(run: TestRun) -> dict[str, Any]:
    optional = {
        "reason": run.reason,
        "problem": run.problem,
        "uid": run.uid,
        "repeats": run.repeats,
        "figures": dict(run.figures),
    }
    return {
        "test": run.test,
        "round": run.round,
        "variant": run.variant,
        "verdict": str(run.verdict),
        **{key: value for key, value in optional.items() if value},
    }


def _figure(one: Compared, *, is_first: bool) -> dict[str, Any]:
    step, figure = split(one.key)
    stated: dict[str, Any] = {
        "figure": figure,
        "step": step or None,
        "value": _rounded(one.value),
        "rounds": one.rounds,
    }
    if not is_first:
        stated["points" if one.in_points else "ratio"] = _rounded(one.mean)
        stated |= {"low": _rounded(one.low), "high": _rounded(one.high), "difference": str(one.difference)}
    return {key: value for key, value in stated.items() if value is not None}


def _rounded(value: float | None) -> float | None:
    """Return a figure to six digits, more than it was measured with."""
    return None if value is None else float(f"{value:.6g}")
