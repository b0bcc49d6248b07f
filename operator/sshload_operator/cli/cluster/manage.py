"""`sshload list`, `abort` and `rerun`: what a person does with objects in a cluster."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import click

from sshload_operator.api.kinds import COMPARISON, KINDS, TEST, Kind
from sshload_operator.api.shapes.reading import read_fitting
from sshload_operator.api.status.comparison import ComparisonStatus
from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.api.status.schedule import ScheduleStatus
from sshload_operator.cli.cluster.access import Access, ClusterError, opened
from sshload_operator.cli.exit_code import ExitCode, complain, failed
from sshload_operator.cli.options import cluster_options, output
from sshload_operator.cli.view.formats import print_result
from sshload_operator.cli.view.page import Grid, Page
from sshload_operator.cli.view.text import ABSENT, milliseconds
from sshload_operator.control.api_server.cluster import ApiError

_HEAD: Final = ("kind", "name", "phase", "verdict", "rate/s", "p99 ms", "capacity", "age")
_RERUN_TRIGGER: Final = "run-again"
"""The trigger that Argo CD's action sets, too."""

_AGES: Final = (("d", 86_400), ("h", 3_600), ("m", 60))


@click.command("list")
@click.option("-A", "--all-namespaces", is_flag=True, help="Those of all namespaces.")
@cluster_options
@output()
def list_command(all_namespaces: bool, output: str, **options: Any) -> ExitCode:  # noqa: FBT001 - as click passes it
    """List the tests, schedules and comparisons of a namespace, with how they stand."""
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
        complain("there are none here; -A lists those of all namespaces")
        return ExitCode.PASSED
    grid = Grid(head, rows, left=len(head) - 4)
    whole = {"apiVersion": "v1", "kind": "List", "items": [one for _, one in found]}
    print_result(output, whole, Page("list", "", "", None, parts=(grid,)), _named(head, rows))
    return ExitCode.PASSED


def _named(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Sequence[Mapping[str, str]]:
    """Return rows by the names of their columns, for a spreadsheet: what is absent is an empty cell."""
    return [{name: "" if cell == ABSENT else cell for name, cell in zip(head, row, strict=True)} for row in rows]


@click.command()
@click.argument("name")
@click.option("--comparison", is_flag=True, help="NAME is an SSHLoadTestComparison.")
@cluster_options
def abort(name: str, comparison: bool, **options: Any) -> ExitCode:  # noqa: FBT001 - as click passes it
    """End the run of the SSHLoadTest NAME: its verdict is Aborted."""
    kind = COMPARISON if comparison else TEST
    return _change(kind, name, Access.taken_from(options), {"abort": True}, "is being aborted")


@click.command()
@click.argument("name")
@click.option("--comparison", is_flag=True, help="NAME is an SSHLoadTestComparison that was aborted.")
@cluster_options
def rerun(name: str, comparison: bool, **options: Any) -> ExitCode:  # noqa: FBT001 - as click passes it
    """Run the SSHLoadTest NAME again, with the spec that it has. An abort is taken back."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    if comparison:
        return _change(COMPARISON, name, Access.taken_from(options), {"abort": False}, "runs again, if it was aborted")
    change = {"abort": False, "triggers": {_RERUN_TRIGGER: now}}
    return _change(TEST, name, Access.taken_from(options), change, f"runs again: sshload watch {name} follows it")


def _change(kind: Kind, name: str, access: Access, spec: Mapping[str, Any], done: str) -> ExitCode:
    async def change() -> tuple[str, bool]:
        async with opened(access) as (cluster, namespace):
            changed = await cluster.change_for_person(kind, namespace, name, {"spec": spec})
            return namespace, changed is not None

    try:
        namespace, was_there = _ask(change)
    except ClusterError as error:
        return failed(str(error))
    if not was_there:
        return failed(f"there is no {kind.name} {name} in the namespace {namespace}: sshload list -A shows all")
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


def _row(kind: Kind, one: Mapping[str, Any], *, with_namespace: bool) -> tuple[str, ...]:
    metadata, status = one["metadata"], one.get("status")
    namespace = (metadata["namespace"],) if with_namespace else ()
    told = _schedule(status) if kind is not TEST and kind is not COMPARISON else _run(kind, status)
    return (*namespace, kind.word, metadata["name"], *told, _age(metadata.get("creationTimestamp")))


def _run(kind: Kind, status: Any) -> tuple[str, ...]:
    if kind is COMPARISON:
        compared = read_fitting(ComparisonStatus, status)
        return (compared.phase or "Pending", compared.verdict or ABSENT, ABSENT, ABSENT, compared.progress or ABSENT)
    test = read_fitting(TestStatus, status)
    figures = test.results or test.progress
    rate = ABSENT if figures is None else f"{figures.completed_rate:,.1f}"
    capacity = test.capacity.in_words if test.capacity is not None else None
    p99 = milliseconds(None if figures is None else figures.p99_ms)
    return (test.phase or "Pending", test.verdict or ABSENT, rate, p99, capacity or ABSENT)


def _schedule(status: Any) -> tuple[str, ...]:
    schedule = read_fitting(ScheduleStatus, status)
    latest = schedule.trend[-1] if schedule.trend else None
    rate = ABSENT if latest is None or latest.completed_rate is None else f"{latest.completed_rate:,.1f}"
    return (
        f"{schedule.active_count} active" if schedule.active_count else "waiting",
        schedule.last_verdict or ABSENT,
        rate,
        milliseconds(latest.p99_ms if latest is not None else None),
        (latest.capacity_in_words if latest is not None else None) or ABSENT,
    )


def _age(created: Any) -> str:
    try:
        seconds = (datetime.now(UTC) - datetime.fromisoformat(created)).total_seconds()
    except (TypeError, ValueError):
        return ABSENT
    return next((f"{seconds // size:.0f}{unit}" for unit, size in _AGES if seconds >= size), f"{max(seconds, 0):.0f}s")
