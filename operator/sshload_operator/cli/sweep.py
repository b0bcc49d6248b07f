"""`sshload sweep`: runs a test here at each value of a field, and prints a table and a curve."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from sshload_contract.vocabulary import MEASURED_VERDICTS, Verdict

from sshload_operator.api.comparison.spec import NOT_IN_TESTS
from sshload_operator.api.comparison.sweep import Sweep, sweep_of, value_text
from sshload_operator.api.load_test import parse
from sshload_operator.api.load_test_file import Document
from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.cli.compare import runner
from sshload_operator.cli.exit_code import ExitCode, exit_code, failed_on
from sshload_operator.cli.options import FILE, NEW_FILE, Parsed, output
from sshload_operator.cli.run import Given, finished_test, given, keep, local_options, only_test
from sshload_operator.cli.view.formats import print_result
from sshload_operator.cli.view.progress import ProgressView, progress_view
from sshload_operator.cli.view.sweep import sweep_page, sweep_rows
from sshload_operator.local.files import check_libraries
from sshload_operator.local.run import LocalResult, Stop, stop_signals
from sshload_operator.local.sshd import LocalRunError
from sshload_operator.report.sweep import saved_sweep_text
from sshload_operator.world.keys import KeysError


def swept_field(text: str) -> Sweep:
    """Return what FIELD=V1,V2,... or FIELD=FROM..TO:STEP says; raises ValueError."""
    field, equals, values = text.partition("=")
    if not equals:
        raise ValueError(f"{text!r} is not FIELD=VALUES, such as load.arrivals.rate=10,20 or =10..50:10")
    return sweep_of(field.removeprefix("spec."), values)


@click.command()
@click.argument("file", type=FILE)
@click.option(
    "--over",
    "swept",
    metavar="FIELD=VALUES",
    type=Parsed("FIELD=VALUES", swept_field),
    required=True,
    help="The field and its values: load.arrivals.rate=10,20,40 or =10..50:10.",
)
@local_options
@click.option(
    "--save", metavar="FILE", type=NEW_FILE, help="Write each value with its test to this file, for `sshload report`."
)
@output()
def command(file: Path, swept: Sweep, output: str, save: Path | None, **options: Any) -> ExitCode:
    """Run the SSHLoadTest of FILE here at each value of one field, and print a table with a curve.

    The exit code is 0 where each value was measured, whatever was found, else that of the first that was not. If the
    other values cannot be measured, what was measured is still printed.
    """
    asked, view = given({"file": file, **options}), progress_view()
    with stop_signals() as stop:  # to the last line: a second Ctrl-C must not cost what was measured
        done, lost = _run_each(asked, swept, view, stop)
        if lost is not None and not done:
            return failed_on(file, lost)
        _print(swept, done, output, save)
    if lost is not None:
        return failed_on(file, lost)
    unmeasured = (one.result.status.verdict for one in done if one.result.status.verdict not in MEASURED_VERDICTS)
    return exit_code(next(unmeasured, Verdict.PASSED if len(done) == len(swept.values) else Verdict.ABORTED))


@dataclass(frozen=True, slots=True)
class _Done:
    """A value, its test, and how that ended."""

    value: Any
    document: Document
    result: LocalResult


def _run_each(asked: Given, swept: Sweep, view: ProgressView, stop: Stop) -> tuple[Sequence[_Done], Exception | None]:
    """Return the tests that were run, and the error if this machine could not run the others."""
    done: list[_Done] = []
    try:
        test = only_test(asked.file, asked.name)
        tests = [_at(test, swept, number, value) for number, value in enumerate(swept.values, start=1)]
        for one in tests:
            check_libraries(parse(one.spec))
        run = runner(asked, view, stop)
        for one, value in zip(tests, swept.values, strict=True):
            view.say(f"{swept.field} = {value_text(value)} ({len(done) + 1} of {len(tests)})")
            done.append(_Done(value, one, run(one)))
            if stop.wanted:
                break
    except (SpecError, LocalRunError, KeysError, OSError) as error:
        return done, error
    finally:
        view.close()
    return done, None


def _print(swept: Sweep, done: Sequence[_Done], output: str, save: Path | None) -> None:
    finished = [finished_test(one.document, one.result) for one in done]
    name = done[0].document.name.rpartition("-")[0]
    if save is not None:
        points = [(one.value, test) for one, test in zip(done, finished, strict=True)]
        keep(save, saved_sweep_text(name, swept.field, len(swept.values), points))
    whole = {"apiVersion": "v1", "kind": "List", "items": finished}
    measured = tuple((value_text(one.value), one.result.status) for one in done)
    page = sweep_page(name, swept.field, len(swept.values), measured)
    print_result(output, whole, page, sweep_rows(swept.field, measured))


def _at(test: Document, swept: Sweep, number: int, value: Any) -> Document:
    """Return the test at one value; raises SpecError for an invalid value, before any test of the sweep runs."""
    if swept.field in NOT_IN_TESTS:
        raise SpecError("", f"{swept.field} cannot be swept: it begins, ends or deletes a test")
    spec = swept.spec_at(test.spec, value)
    try:
        parse(spec)
    except SpecError as error:
        raise SpecError("", f"{swept.field} = {value_text(value)}: {error}") from error
    return Document(test.kind, f"{test.name}-{number}", test.namespace, spec)
