"""`sshload watch`, and following any object in a cluster to its end: the object is read once a second."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

import click

from sshload_operator.api.kinds import COMPARISON, TEST, Kind
from sshload_operator.api.shapes.reading import read_fitting
from sshload_operator.api.status.comparison import ComparisonPhase, ComparisonStatus
from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.cli.cluster.access import Access, ClusterError, opened
from sshload_operator.cli.exit_code import ExitCode, complain, exit_code, failed
from sshload_operator.cli.options import Parsed, cluster_options, object_name, output, timeout, verbose
from sshload_operator.cli.view.comparison import comparison_page, comparison_progress, comparison_rows
from sshload_operator.cli.view.formats import Row, print_result
from sshload_operator.cli.view.page import Page
from sshload_operator.cli.view.progress import ProgressView, progress_view
from sshload_operator.cli.view.result import result_page, result_rows
from sshload_operator.control.api_server.errors import ApiError
from sshload_operator.state import Phase

if TYPE_CHECKING:
    from sshload_operator.control.api_server.cluster import Cluster

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
    """How long objects are followed (None: to their ends), all together, and how their results are printed."""

    timeout_s: float | None
    output: str
    verbose: bool
    began_s: float = field(default_factory=time.monotonic)

    @property
    def is_over(self) -> bool:
        """Whether the timeout is over."""
        return self.timeout_s is not None and time.monotonic() >= self.began_s + self.timeout_s


@dataclass(frozen=True, slots=True)
class Ended:
    """The result of following an object: the code, and the finished object, None if it did not finish."""

    followed: Followed
    name: str
    code: ExitCode
    found: Mapping[str, Any] | None = None

    @property
    def status(self) -> Any:
        """The status of the finished object."""
        return read_fitting(self.followed.shape, (self.found or {}).get("status"))

    def page(self, *, verbose: bool) -> Page:
        """Return the result as a page."""
        return self.followed.page(self.name, self.status, verbose=verbose)

    def rows(self) -> Iterable[Row]:
        """Return the result as rows."""
        return self.followed.rows(self.status)


@click.command()
@click.argument("name", type=Parsed("NAME", object_name))
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
    ended = to_its_end(followed, name, access, how)
    print_ended(ended, how)
    return ended.code


def to_its_end(followed: Followed, name: str, access: Access, how: How) -> Ended:
    """Wait until the object is finished; if that does not happen, say why."""
    view = progress_view()
    try:
        found = asyncio.run(_finished(followed, name, access, how, view))
    except ClusterError as error:
        view.close()
        return Ended(followed, name, failed(str(error)))
    except KeyboardInterrupt:
        view.close()
        complain(f"no longer watched; the {followed.kind.name} goes on in the cluster")
        return Ended(followed, name, ExitCode.INTERRUPTED)
    view.close()
    return Ended(followed, name, exit_code(read_fitting(followed.shape, found["status"]).verdict), found)


def print_ended(ended: Ended, how: How) -> None:
    """Print the result of a finished object, nothing for an unfinished one."""
    if ended.found is not None:
        print_result(how.output, ended.found, ended.page(verbose=how.verbose), ended.rows())


async def read_object(cluster: "Cluster", kind: Kind, namespace: str, name: str) -> Mapping[str, Any]:
    """Return an object; raises ClusterError where asking again would not help, else ApiError."""
    try:
        found = await cluster.read(kind, namespace, name)
    except ApiError as error:
        if error.status in _FINAL_ERRORS:
            raise ClusterError(str(error)) from error
        raise
    if found is None:
        raise ClusterError(
            f"there is no {kind.name} {name} in the namespace {namespace}: sshload list -A shows those of all"
            f" namespaces"
        )
    return found


async def _finished(followed: Followed, name: str, access: Access, how: How, view: ProgressView) -> Mapping[str, Any]:
    """Return the finished object as the API server has it; `view` shows its progress each second.

    One whose spec was changed is not finished before the operator has seen the change.
    """
    unanswered: ApiError | None = None
    was_seen = False
    async with opened(access) as (cluster, namespace):
        while True:
            try:
                found = await read_object(cluster, followed.kind, namespace, name)
            except ApiError as error:
                unanswered = error
                view.show(f"Waiting: for the API server: {error}")
            else:
                was_seen = True
                status = read_fitting(followed.shape, found.get("status"))
                seen = (status.observed_generation or 0) >= found["metadata"]["generation"]
                if seen and status.phase in _FINISHED:
                    return _as_shown(found)
                if status.phase in _FINISHED:
                    view.show("Pending: the operator has not yet seen the change of the spec")
                else:
                    followed.stand(view, status)
            if how.is_over:
                raise ClusterError(_given_up(name, how, None if was_seen else unanswered))
            await asyncio.sleep(_ASK_EVERY_S)


def _given_up(name: str, how: How, unanswered: ApiError | None) -> str:
    """Return the message at the end of the timeout: what is known, and what to do."""
    timeout = f"{how.timeout_s or 0:g} s"
    if unanswered is not None:
        return f"nothing is known of {name} after {timeout}: {unanswered}. Is the API server reachable?"
    return f"{name} was not finished within {timeout}; it goes on in the cluster. Raise --timeout"


def _as_shown(found: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an object without its managedFields, as kubectl shows it."""
    metadata = {key: value for key, value in found["metadata"].items() if key != "managedFields"}
    return {**found, "metadata": metadata}
