"""A sweep as it is saved, and its report as a JSON document, `sweepReport.v1`: the source of its page and Markdown."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sshload_contract.vocabulary import MEASURED_VERDICTS, Timing, Verdict

from sshload_operator.api.load_test import check_size
from sshload_operator.api.names import check_name
from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.api.shapes.reading import read_fitting
from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.api.status.measured import figures
from sshload_operator.report.document import spec_text, verdict_of, within_limit
from sshload_operator.report.saved_run import KeptObject, ReportError, kept_object

SAVED_SWEEP_VERSION: Final = "savedSweep.v1"
SWEEP_REPORT_VERSION: Final = "sweepReport.v1"
_MOST_VALUES: Final = 50
_MOST_FIELD_CHARACTERS: Final = 500
_PLAIN: Final = ("offeredRate", "errorPercent")
_WITH_INTERVALS: Final = ("completedRate", "p50Ms", "p90Ms", "p99Ms")
_TOO_LARGE: Final = {"spec": "the spec is left out: the report would be too large"}
_Scalar = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class SavedSweep:
    """A sweep: the name of its test, the field, how many values were planned, and each that was run with its test."""

    name: str
    field: str
    planned: int
    points: tuple[tuple[_Scalar, KeptObject], ...]


def saved_sweep_text(name: str, field: str, planned: int, points: Sequence[tuple[Any, Mapping[str, Any]]]) -> str:
    """Return a sweep as the text of a file: each value with its finished test, as `saved_sweep_of` reads it."""
    tests = [{"value": value, "test": test} for value, test in points]
    saved = {"version": SAVED_SWEEP_VERSION, "name": name, "field": field, "planned": planned, "points": tests}
    return json.dumps(saved, separators=(",", ":"), allow_nan=False)


def saved_sweep_of(found: Mapping[str, Any]) -> SavedSweep:
    """Return the sweep in the JSON of a file; raises ReportError."""
    name, field, planned, points = (found.get(key) for key in ("name", "field", "planned", "points"))
    texts = isinstance(name, str) and isinstance(field, str) and len(field) <= _MOST_FIELD_CHARACTERS
    if not texts or type(planned) is not int or not isinstance(points, list) or not 0 < len(points) <= _MOST_VALUES:
        raise ReportError(f"is not a sweep: sshload sweep --save writes one ({SAVED_SWEEP_VERSION})")
    try:
        check_name(str(name))
        return SavedSweep(str(name), str(field), planned, tuple(map(_point, points)))
    except SpecError as error:
        raise ReportError(f"is not a sweep: {error}") from error


def _point(point: Any) -> tuple[_Scalar, KeptObject]:
    parts = point if isinstance(point, dict) else {}
    value, test = parts.get("value"), kept_object(parts.get("test"))
    check_size(test.spec)
    if isinstance(value, dict | list):
        value = json.dumps(value)
    return value[:_MOST_FIELD_CHARACTERS] if isinstance(value, str) else value, test


def sweep_document(sweep: SavedSweep, release: str) -> dict[str, Any]:
    """Return the report of a sweep, made by this release: at most a megabyte of JSON.

    Units stand in the names. A value that was not measured has its verdict and no figures. Each interval covers only
    the chance within one run.
    """
    points = [_report_point(value, test) for value, test in sweep.points]
    document = {
        "version": SWEEP_REPORT_VERSION,
        "release": release,
        "sweep": {"name": sweep.name, "field": sweep.field, "planned": sweep.planned},
        "verdict": {"word": "Swept", "reason": "", "message": _message(sweep, points), "passed": None},
        "isNumeric": all(type(one["value"]) in (int, float) for one in points),
        "points": points,
        "spec": spec_text(sweep.points[0][1].spec),
        "lacks": list(_lacks(sweep, points)),
    }
    return within_limit(document, _TOO_LARGE)


def _report_point(value: _Scalar, test: KeptObject) -> dict[str, Any]:
    status = read_fitting(TestStatus, test.status)
    found = {one.name: one for one in figures(status) if one.step in ("", Timing.TOTAL)}
    if status.verdict not in MEASURED_VERDICTS:
        found = {}
    return {
        "value": value,
        "test": test.name,
        "verdict": verdict_of(status),
        **{name: found[name].value if name in found else None for name in _PLAIN},
        **{name: found[name].interval if name in found else None for name in _WITH_INTERVALS},
        "capacity": status.capacity_in_words,
    }


def _message(sweep: SavedSweep, points: Sequence[Mapping[str, Any]]) -> str:
    failed = next((one["value"] for one in points if one["verdict"]["word"] == Verdict.FAILED), None)
    first = "" if failed is None else f"; the first that failed is {failed}"
    return f"{len(points)} of {sweep.planned} values of {sweep.field}{first}"


def _lacks(sweep: SavedSweep, points: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if len(points) < sweep.planned:
        yield f"{sweep.planned - len(points)} of {sweep.planned} values were not run"
    lost = ", ".join(str(one["value"]) for one in points if one["verdict"]["word"] not in MEASURED_VERDICTS)
    if lost:
        yield f"the runs at {lost} were not measured, and have no figures"
    yield "the spec is that of the first value"
    yield "one run at each value: the intervals do not include differences from one run to the next"
