"""A sweep of one field as a page: a row for each value, and a curve of its latency."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from sshload_contract.vocabulary import MEASURED_VERDICTS, Verdict

from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.api.status.results import Results
from sshload_operator.cli.view.page import Check, Grid, Page
from sshload_operator.cli.view.text import ABSENT, bar, mark, milliseconds
from sshload_operator.state import Reason

_HELD: Final = {Verdict.PASSED: True, Verdict.FAILED: False}
_BAR: Final = 12
Swept = Sequence[tuple[Any, TestStatus]]


def sweep_page(name: str, field: str, planned: int, swept: Swept) -> Page:
    """Return a row for each value that was run, of so many planned ones. The bar is as long as the median is high.

    A run that was not measured has no figures, whatever its results state.
    """
    is_search = any(status.capacity is not None for _, status in swept)
    medians = [(_capacity(status) if is_search else _median_ms(status)) or 0.0 for _, status in swept]
    most = max(medians, default=0.0)
    rows = tuple(
        (mark(_held(status)), str(value), *(_found(status) if is_search else _cells(status)), bar(median, most, _BAR))
        for (value, status), median in zip(swept, medians, strict=True)
    )
    lost = (f"at {value}: {_said(one)}" for value, one in swept if one.verdict not in MEASURED_VERDICTS)
    figures = ("capacity", "search") if is_search else ("completed/s", "p50 ms", "p99 ms", "errors %")
    head = ("", field.rpartition(".")[2], *figures, "")
    grid = Grid(head, rows, left=1, last_left=True, note=". ".join(lost))
    sentence = f"{len(swept)} of {planned} values of {field}{_first_failed(swept)}"
    verdicts = tuple(Check(f"{field} = {value}", _said(one), _held(one)) for value, one in swept)
    return Page(name, "Swept", sentence, None, parts=(grid,), verdicts=verdicts)


def sweep_rows(field: str, swept: Swept) -> Iterator[Mapping[str, object]]:
    """Yield each value with its figures, for a spreadsheet."""
    for value, status in swept:
        results = None if status.capacity is not None else _results(status)  # a search's are those of one trial
        yield {
            field: value,
            "verdict": status.verdict,
            "reason": status.reason,
            "completedRate": None if results is None else results.completed_rate,
            "errorPercent": None if results is None else results.error_percent,
            "p50Ms": None if results is None else _median_ms(status),
            "p99Ms": None if results is None else results.p99_ms,
            "capacity": _capacity(status),
        }


def _capacity(status: TestStatus) -> float | None:
    """Return the capacity that a search has found, None where it has found none or there was no search."""
    return None if status.capacity is None or status.verdict not in MEASURED_VERDICTS else status.capacity.found


def _found(status: TestStatus) -> tuple[str, str]:
    """Return the result of a search, in words, and how it ended."""
    found = status.capacity
    return (ABSENT, ABSENT) if found is None else (found.in_words or ABSENT, str(found.end))


def _held(status: TestStatus) -> bool | None:
    return None if status.verdict is None else _HELD.get(status.verdict)


def _said(status: TestStatus) -> str:
    return f"{status.verdict or ABSENT} ({status.reason or ABSENT}){f': {status.message}' if status.message else ''}"


def _first_failed(swept: Swept) -> str:
    for value, status in swept:
        if status.verdict is Verdict.FAILED:
            if status.reason == Reason.THRESHOLD_BROKEN:
                return f"; the first at which a threshold was broken is {value}"
            return f"; the first that failed is {value} ({status.reason or ABSENT})"
    return ""


def _results(status: TestStatus) -> Results | None:
    return status.results if status.verdict in MEASURED_VERDICTS else None


def _median_ms(status: TestStatus) -> float | None:
    results = _results(status)
    total = None if results is None else results.step("total")
    return None if total is None else total.percentile_ms(50)


def _cells(status: TestStatus) -> tuple[str, ...]:
    results = _results(status)
    if results is None:
        return (ABSENT,) * 4
    percent = results.error_percent
    return (
        f"{results.completed_rate:,.1f}",
        milliseconds(_median_ms(status)),
        milliseconds(results.p99_ms),
        ABSENT if percent is None else f"{percent:.2f}",
    )
