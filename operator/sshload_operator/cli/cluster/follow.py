"""`sshload watch`, and following any object in a cluster to its end: it is asked for once a second."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

import click

from sshload_operator.api.kinds import COMPARISON, TEST, Kind
from sshload_operator.api.shapes.reading import read_fitting
from sshload_operator.api.status.comparison import ComparisonPhase, ComparisonStatus
from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.cli.cluster.access import Access, ClusterError, opened
from sshload_operator.cli.exit_code import ExitCode, complain, exit_code, failed
from sshload_operator.cli.options import cluster_options, output, timeout, verbose
from sshload_operator.cli.view.comparison import comparison_page, comparison_progress, comparison_rows
from sshload_operator.cli.view.formats import Row, print_result
from sshload_operator.cli.view.page import Page
from sshload_operator.cli.view.progress import ProgressView, progress_view
from sshload_operator.cli.view.result import result_page, result_rows
from sshload_operator.control.api_server.cluster import ApiError, Cluster
from sshload_operator.state import Phase

_ASK_EVERY_S: Final = 1.0
_FINISHED: Final = (Phase.FINISHED, ComparisonPhase.FINISHED)
_FINAL_ERRORS: Final = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)


@dataclass(frozen=True, slots=True)
class Followed:
    """How objects of a kind are shown: their status, its progress, and its result as a page and as rows."""

    kind: Kind
    shape: type[TestStatus] | type[ComparisonStatus]
    stand: Callable[[ProgressView, Any], None]
    page: Callable[..., Page]
    rows: Callable[[Any], Iterable[Row]]


TESTS: Final = Followed(TEST, TestStatus, lambda view, status: view.stand(status), result_page, result_rows)
COMPARISONS: Final = Followed(
    COMPARISON,
    ComparisonStatus,
    lambda view, status: view.show(comparison_progress(status)),
    comparison_page,
    comparison_rows,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """How long an object is followed (None: to its end), and how its result is printed."""

    timeout_s: float | None
    output: str
    verbose: bool


@click.command()
@click.argument("name")
@cluster_options
@timeout
@output()
@verbose()
def watch(name: str, timeout: float | None, output: str, verbose: bool, **options: Any) -> ExitCode:  # noqa: FBT001 - as click passes it
    """Follow the SSHLoadTest NAME in a cluster until it is finished, and print its result.

    Ctrl-C ends the watching, not the test.
    """
    return follow(TESTS, name, Access.taken_from(options), How(timeout_s=timeout, output=output, verbose=verbose))


def follow(followed: Followed, name: str, access: Access, how: How) -> ExitCode:
    """Wait until the object is finished, print its result and return its verdict's code."""
    view = progress_view()
    try:
        finished = asyncio.run(_to_its_end(followed, name, access, how.timeout_s, view))
    except ClusterError as error:
        view.close()
        return failed(str(error))
    except KeyboardInterrupt:
        view.close()
        complain(f"no longer watched; the {followed.kind.name} goes on in the cluster")
        return ExitCode.INTERRUPTED
    view.close()
    status = read_fitting(followed.shape, finished["status"])
    print_result(how.output, finished, followed.page(name, status, verbose=how.verbose), followed.rows(status))
    return exit_code(status.verdict)


async def read_object(cluster: Cluster, kind: Kind, namespace: str, name: str) -> Mapping[str, Any]:
    """Return an object; raises ClusterError where asking again would not help, else ApiError."""
    try:
        found = await cluster.read(kind, namespace, name)
    except ApiError as error:
        if error.status in _FINAL_ERRORS:
            raise ClusterError(str(error)) from error
        raise
    if found is None:
        raise ClusterError(
            f"there is no {kind.name} {name} in the namespace {namespace}: sshload list -A shows where there are some"
        )
    return found


async def _to_its_end(
    followed: Followed, name: str, access: Access, timeout_s: float | None, view: ProgressView
) -> Mapping[str, Any]:
    """Return the finished object as the API server has it; `view` is told each second where it stands.

    One whose spec was changed is not finished before the operator has seen the change.
    """
    give_up_at_s = None if timeout_s is None else time.monotonic() + timeout_s
    async with opened(access) as (cluster, namespace):
        while True:
            try:
                found = await read_object(cluster, followed.kind, namespace, name)
            except ApiError as error:
                view.show(f"Waiting: for the API server: {error}")
            else:
                status = read_fitting(followed.shape, found.get("status"))
                seen = (status.observed_generation or 0) >= found["metadata"]["generation"]
                if seen and status.phase in _FINISHED:
                    return _as_shown(found)
                if status.phase in _FINISHED:
                    view.show("Pending: the operator has not yet seen the change of the spec")
                else:
                    followed.stand(view, status)
            if give_up_at_s is not None and time.monotonic() >= give_up_at_s:
                raise ClusterError(
                    f"{name} was not finished within {timeout_s:.0f} s; it goes on in the cluster. Raise --timeout"
                )
            await asyncio.sleep(_ASK_EVERY_S)


def _as_shown(found: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an object without its managedFields, as kubectl shows it."""
    metadata = {key: value for key, value in found["metadata"].items() if key != "managedFields"}
    return {**found, "metadata": metadata}
