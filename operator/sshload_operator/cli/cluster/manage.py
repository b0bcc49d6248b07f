"""`sshload list`, `abort` and `rerun`: what a person does with objects in a cluster."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import click
from sshload_contract.vocabulary import MEASURED_VERDICTS

from sshload_operator.api.kinds import COMPARISON, KINDS, SCHEDULE, TEST, Kind
from sshload_operator.api.shapes.reading import read_fitting
from sshload_operator.api.status.comparison import ComparisonStatus
from sshload_operator.api.status.head import RunStatus
from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.api.status.schedule import ScheduleStatus
from sshload_operator.cli.cluster.access import Access, ClusterError, opened
from sshload_operator.cli.cluster.follow import read_object
from sshload_operator.cli.exit_code import ExitCode, complain, failed
from sshload_operator.cli.options import Parsed, cluster_options, object_name, output
from sshload_operator.cli.view.formats import print_result
from sshload_operator.cli.view.page import Grid, Page
from sshload_operator.cli.view.text import ABSENT, milliseconds
from sshload_operator.control.api_server.errors import ApiError
from sshload_operator.state import Phase

_P99: Final = "p99 ms"
_HEAD: Final = ("kind", "name", "phase", "verdict", "rate/s", _P99, "capacity", "tests", "age")
_FIGURES: Final = 5
"""How many of the last columns are figures."""

_NO_FIGURES: Final = (None,) * 4
_Values = tuple[str | float | None, ...]
_RERUN_TRIGGER: Final = "run-again"
"""The trigger that Argo CD's action also sets."""

_AGES: Final = (("d", 86_400), ("h", 3_600), ("m", 60))


@click.command("list")
@click.option("-A", "--all-namespaces", is_flag=True, help="Those of all namespaces.")
@cluster_options
@output()
def list_command(all_namespaces: bool, output: str, **options: Any) -> ExitCode:  # noqa: FBT001 - as click passes it
    """List the tests, schedules and comparisons of a namespace, with how they stand.

    Figures are those of runs that measured them. A verdict is stale if the spec has changed since.
    """
    access = Access.taken_from(options)

    async def asked() -> Sequence[tuple[Kind, Mapping[str, Any]]]:
        async with opened(access) as (cluster, namespace):
            within = "" if all_namespaces else namespace
            return [(kind, one) for kind in KINDS for one in await cluster.list_ours(kind, within, "", lambda one: one)]

    try:
        found = _ask(asked)
    except ClusterError as error:
        return failed(str(error))
    rows = tuple(_row(kind, one, with_namespace=all_namespaces) for kind, one in found)
    head = ("namespace", *_HEAD) if all_namespaces else _HEAD
    if not rows and output == "table":
        hint = "" if all_namespaces else " in this namespace; -A lists those of all namespaces"
        complain(f"there are no objects{hint}")
        return ExitCode.PASSED
    named: list[Mapping[str, object]] = [dict(zip(head, row, strict=True)) for row in rows]
    grid = Grid(head, tuple(tuple(map(_cell, head, row)) for row in rows), left=len(head) - _FIGURES)
    whole = {"apiVersion": "v1", "kind": "List", "items": [one for _, one in found]}
    print_result(output, whole, Page("list", "", "", None, parts=(grid,)), named)
    return ExitCode.PASSED


def _cell(head: str, value: str | float | None) -> str:
    """Return a value as the table shows it."""
    if isinstance(value, str):
        return value
    if value is None or head == _P99:
        return milliseconds(value)
    return f"{value:,.1f}"


@click.command()
@click.argument("name", type=Parsed("NAME", object_name))
@click.option("--comparison", is_flag=True, help="NAME is an SSHLoadTestComparison.")
@cluster_options
def abort(name: str, comparison: bool, **options: Any) -> ExitCode:  # noqa: FBT001 - as click passes it
    """End the run of the SSHLoadTest NAME: its verdict is Aborted."""
    kind = COMPARISON if comparison else TEST

    def nothing_to_abort(found: Mapping[str, Any]) -> str:
        status = _status(kind, found)
        if not status.is_finished or _is_stale(found, status):
            return ""
        return f"its run is over, with the verdict {status.verdict or ABSENT}, so an abort would end the next run"

    return _change(
        kind, name, Access.taken_from(options), {"abort": True}, done="is being aborted", refusal=nothing_to_abort
    )


@click.command()
@click.argument("name", type=Parsed("NAME", object_name))
@click.option("--comparison", is_flag=True, help="NAME is an SSHLoadTestComparison that was aborted.")
@cluster_options
def rerun(name: str, comparison: bool, **options: Any) -> ExitCode:  # noqa: FBT001 - as click passes it
    """Run the SSHLoadTest NAME again, with the spec that it has. An abort is taken back."""
    now = datetime.now(UTC).isoformat(timespec="microseconds")  # so that two of them in a second are two runs
    access = Access.taken_from(options)
    if comparison:
        return _change(COMPARISON, name, access, {"abort": False}, done="runs again", refusal=_was_not_aborted)
    change = {"abort": False, "triggers": {_RERUN_TRIGGER: now}}
    done = f"runs again: sshload watch {name} follows it"
    return _change(TEST, name, access, change, done=done, refusal=_cannot_run_again)


def _was_not_aborted(found: Mapping[str, Any]) -> str:
    """Return why a comparison does not run again: unless it was aborted, only a change of its spec reruns it."""
    if found["spec"].get("abort"):
        return ""
    return (
        "its spec.abort is not set, and only an aborted comparison runs again without a change of its spec: change"
        " its spec"
    )


def _cannot_run_again(found: Mapping[str, Any]) -> str:
    """Return why a test is not run again: it is held back, or its owner relies on the spec that it made."""
    if found["spec"].get("suspend"):
        return "spec.suspend is true: set it to false"
    owner = next((one for one in found["metadata"].get("ownerReferences") or () if one.get("controller")), None)
    if owner is None:
        return ""
    return (
        f"it belongs to the {owner.get('kind')} {owner.get('name')}, which makes its tests itself. "
        "sshload apply runs its spec under another name"
    )


def _change(  # noqa: PLR0913 - each of them is one of the two commands' own
    kind: Kind,
    name: str,
    access: Access,
    spec: Mapping[str, Any],
    *,
    done: str,
    refusal: Callable[[Mapping[str, Any]], str],
) -> ExitCode:
    """Change the spec of an object, unless `refusal` returns why not for this object."""

    async def change() -> None:
        async with opened(access) as (cluster, namespace):
            why = refusal(await read_object(cluster, kind, namespace, name))
            if why:
                raise ClusterError(f"{name} is left as it is: {why}")
            if await cluster.change_for_person(kind, namespace, name, {"spec": spec}) is None:
                raise ClusterError(f"{name} was deleted just now")

    try:
        _ask(change)
    except ClusterError as error:
        return failed(str(error))
    complain(f"{name} {done}")
    return ExitCode.PASSED


def _ask(asked: Callable[[], Awaitable[Any]]) -> Any:
    """Return what a cluster says; raises ClusterError where it refuses or does not answer."""

    async def run() -> Any:
        return await asked()

    try:
        return asyncio.run(run())
    except ApiError as error:
        raise ClusterError(str(error)) from error


def _row(kind: Kind, one: Mapping[str, Any], *, with_namespace: bool) -> _Values:
    metadata, status = one["metadata"], one.get("status")
    namespace = (metadata["namespace"],) if with_namespace else ()
    told = _schedule(status) if kind is SCHEDULE else _run(kind, one)
    return (*namespace, kind.word, metadata["name"], *told, _age(metadata.get("creationTimestamp")))


def _run(kind: Kind, one: Mapping[str, Any]) -> _Values:
    status = _status(kind, one)
    stale = _is_stale(one, status)
    verdict = None if status.verdict is None else f"{status.verdict}{' (stale)' if stale else ''}"
    figures = _NO_FIGURES if stale else _figures(status)
    return (status.phase or Phase.PENDING, verdict, *figures)


def _status(kind: Kind, one: Mapping[str, Any]) -> TestStatus | ComparisonStatus:
    if kind is COMPARISON:
        return read_fitting(ComparisonStatus, one.get("status"))
    return read_fitting(TestStatus, one.get("status"))


def _is_stale(one: Mapping[str, Any], status: RunStatus) -> bool:
    """Tell whether the spec has changed since the run that a status describes."""
    generation: int = one["metadata"].get("generation", 0)
    return (status.observed_generation or 0) < generation


def _figures(status: TestStatus | ComparisonStatus) -> _Values:
    """Return rate, p99, capacity and tests, None for what does not apply or was not measured."""
    if isinstance(status, ComparisonStatus):
        return (None, None, None, status.progress or None)
    if status.is_finished and status.verdict not in MEASURED_VERDICTS:
        return _NO_FIGURES
    figures = status.results if status.is_finished else status.progress
    measured = (None, None) if figures is None else (figures.completed_rate, figures.p99_ms)
    return (*measured, status.capacity_in_words, None)


def _schedule(status: Any) -> _Values:
    schedule = read_fitting(ScheduleStatus, status)
    measured = next((one for one in schedule.trend[-1:] if one.verdict in MEASURED_VERDICTS), None)
    phase = f"{schedule.active_count} active" if schedule.active_count else "waiting"
    if measured is None:
        return (phase, schedule.last_verdict, *_NO_FIGURES)
    return (
        phase,
        schedule.last_verdict,
        measured.completed_rate,
        measured.p99_ms,
        measured.capacity_in_words or None,
        None,
    )


def _age(created: Any) -> str | None:
    try:
        seconds = (datetime.now(UTC) - datetime.fromisoformat(created)).total_seconds()
    except (TypeError, ValueError):
        return None
    return next((f"{seconds // size:.0f}{unit}" for unit, size in _AGES if seconds >= size), f"{max(seconds, 0):.0f}s")
