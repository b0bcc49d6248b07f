"""The result of a test as a page: from the status alone, so that `run` and `watch` say the same."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from sshload_contract.vocabulary import Verdict

from sshload_operator.api.shapes.forms import timestamp_text
from sshload_operator.api.status.load_test import BaselineStatus, TestStatus
from sshload_operator.api.status.measured import figures_of_run
from sshload_operator.cli.view.advice import pastes
from sshload_operator.cli.view.capacity import capacity_parts
from sshload_operator.cli.view.measured import measured_parts, steps_as_rows
from sshload_operator.cli.view.page import Check, Facts, Grid, Page, Paste
from sshload_operator.cli.view.text import ABSENT
from sshload_operator.state import Phase, Reason

_HELD: Final = {Verdict.PASSED: True, Verdict.FAILED: False}
_SAY_TOTALS: Final = (Reason.THRESHOLDS_MET, Reason.NO_THRESHOLDS)


def result_page(name: str, status: TestStatus, *, verbose: bool = False) -> Page:
    """Return the whole result. What the status does not state is left out, or shown as `-`. Nothing is said twice.

    `verbose` shows each part of a login and of a command, each figure of the run, and each combination of algorithms.
    """
    if status.phase is not Phase.FINISHED:
        return Page(name, "No verdict yet", status.phase or Phase.PENDING, None)
    parts: list[Grid | Facts | Paste] = [*_baseline(status.baseline), *capacity_parts(status.capacity)]
    if status.results is not None:
        totals_said = status.reason in _SAY_TOTALS
        figures = figures_of_run(status)
        parts += measured_parts(status.results, figures, _asked(status), totals_said=totals_said, verbose=verbose)
    return Page(
        name=name,
        verdict=f"{status.verdict or ABSENT} ({status.reason or ABSENT})",
        sentence=_sentence(status),
        passed=None if status.verdict is None else _HELD.get(status.verdict),
        checks=tuple(Check(one.words, one.message, one.met) for one in status.judged),
        parts=(*parts, *pastes(status)),
    )


def result_rows(status: TestStatus) -> Iterator[Mapping[str, object]]:
    """Yield the rows of a result for a spreadsheet: its steps."""
    if status.results is not None:
        yield from steps_as_rows(status.results)


def _asked(status: TestStatus) -> frozenset[str]:
    """Return the steps that latency thresholds name."""
    return frozenset(one.step for one in status.thresholds if one.step)


def _sentence(status: TestStatus) -> str:
    """Return the reason of the verdict, shortened if the thresholds below state it in full."""
    if status.reason != Reason.THRESHOLD_BROKEN or not status.thresholds:
        return status.message
    broken, of = sum(one.met is False for one in status.thresholds), len(status.thresholds)
    if of == 1:
        return "the threshold was broken"
    return f"{broken} of {of} thresholds {'was' if broken == 1 else 'were'} broken"


def _baseline(baseline: BaselineStatus | None) -> Sequence[Facts]:
    if baseline is None:
        return ()
    ended = "" if baseline.completion_time is None else timestamp_text(baseline.completion_time)
    known = ", ".join(filter(None, (baseline.verdict, ended)))
    return (Facts((("baseline", f"{baseline.test}{f' ({known})' if known else ''}"),)),)
