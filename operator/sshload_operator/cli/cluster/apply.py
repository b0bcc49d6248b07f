"""`sshload apply`: the objects of a file, set in a cluster and, if asked, followed to their ends."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import click

from sshload_operator.api.kinds import COMPARISON, KINDS, SCHEDULE, TEST, Kind
from sshload_operator.api.load_test_file import STANDARD_INPUT, is_ours, read_manifests, read_objects
from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.api.shapes.forms import timestamp_text
from sshload_operator.api.shapes.reading import read_fitting
from sshload_operator.cli.cluster.access import Access, ClusterError, opened
from sshload_operator.cli.cluster.follow import COMPARISONS, TESTS, Ended, How, print_ended, to_its_end
from sshload_operator.cli.exit_code import ExitCode, complain, failed_on, worst
from sshload_operator.cli.options import FILE, cluster_options, output, timeout, verbose
from sshload_operator.cli.view.formats import print_result
from sshload_operator.cli.view.page import Check, Page
from sshload_operator.control.api_server.errors import ApiError

_FOLLOWED: Final = {TEST: TESTS, COMPARISON: COMPARISONS}
_ONE_AFTER_THE_OTHER: Final = ("table", "markdown")
"""The formats for people. A program reads one document."""
_TITLES: Final = {"table": "{} {}\n", "markdown": "# {} {}\n"}
"""The heading of each of several results."""

_KINDS: Final = {kind.name: kind for kind in KINDS}
Manifest = Mapping[str, Any]


@click.command()
@click.option(
    "-f", "--filename", metavar="FILE", type=FILE, required=True, help="A YAML file with objects of our kinds."
)
@click.option("--wait", is_flag=True, help="Follow each test and comparison to its end, and print its result.")
@click.option("--force-conflicts", is_flag=True, help="Take over fields that others have set.")
@cluster_options
@timeout
@output()
@verbose()
def command(  # noqa: PLR0913 - as click passes it
    *,
    filename: Path,
    wait: bool,
    force_conflicts: bool,
    timeout: float | None,
    output: str,
    verbose: bool,
    **options: Any,
) -> ExitCode:
    """Set the objects of a file in a cluster, as `kubectl apply --server-side` does.

    With --wait the exit code is that of the worst verdict: Failed, Error, Invalid, Aborted, Inconclusive, Passed.
    """
    access = Access.taken_from(options)
    if not wait and (timeout is not None or output != "table"):
        raise click.UsageError("--timeout and --output are for the results that --wait waits for")
    try:
        manifests = _manifests(filename)
        applied = asyncio.run(_apply(manifests, access, force=force_conflicts))
    except (SpecError, OSError, ClusterError) as error:
        return failed_on(filename, error)
    if not wait:
        return ExitCode.PASSED
    how = How(timeout_s=timeout, output=output, verbose=verbose)
    return _wait([one for one in applied if one.kind is not SCHEDULE], access, how)


@dataclass(frozen=True, slots=True)
class _Applied:
    """An object that was applied, as the API server returned it."""

    kind: Kind
    namespace: str
    name: str
    was: Manifest


def _wait(applied: Sequence[_Applied], access: Access, how: How) -> ExitCode:
    """Follow objects to their ends, print their results and return the worst code. Ctrl-C ends all of it."""
    ends: list[Ended] = []
    at_once = len(applied) == 1 or how.output in _ONE_AFTER_THE_OTHER
    for one in applied:
        within = Access(one.namespace, access.kubeconfig, access.context)
        ended = to_its_end(_FOLLOWED[one.kind], one.name, within, how)
        _say_if_earlier(one, ended)
        if at_once:
            if len(applied) > 1:
                click.echo(_TITLES[how.output].format(one.kind.word, one.name))
            print_ended(ended, how)
        ends.append(ended)
        if ended.code is ExitCode.INTERRUPTED:
            break
    code = worst(one.code for one in ends)
    if not at_once:
        _print_together(ends, code, how)
    return code


def _say_if_earlier(applied: _Applied, ended: Ended) -> None:
    """Say so if a result is from a run that was over before the object was applied."""
    before = read_fitting(ended.followed.shape, applied.was.get("status"))
    if ended.found is None or not before.is_finished or ended.status.run != before.run:
        return
    completed = "unknown time" if before.completion_time is None else timestamp_text(before.completion_time)
    again = f"sshload rerun {ended.name}" if applied.kind is TEST else "a change of its spec"
    result = f"this is the result of run {before.run}, of {completed}"
    complain(f"{ended.name}: unchanged: {result}; {again} runs it again")


def _print_together(ends: Sequence[Ended], code: ExitCode, how: How) -> None:
    """Print several results as one document: a List, a suite with a case for each verdict, or rows with names."""
    found = [one for one in ends if one.found is not None]
    pages = [one.page(verbose=how.verbose) for one in found]
    missing = [f"{one.name} was not followed to its end" for one in ends if one.found is None]
    sentence = "; ".join([*(f"{page.name}: {page.verdict}" for page in pages), *missing])
    passed = True if code is ExitCode.PASSED else False if code is ExitCode.FAILED else None
    page = Page("apply", code.name.capitalize(), sentence, passed, checks=tuple(_checks(pages)))
    rows = ({"kind": one.followed.kind.word, "name": one.name, **row} for one in found for row in one.rows())
    whole = {"apiVersion": "v1", "kind": "List", "items": [one.found for one in found]}
    print_result(how.output, whole, page, rows)


def _checks(pages: Sequence[Page]) -> Iterator[Check]:
    """Yield the thresholds of several results, and the verdict of each, which fails unless it passed."""
    for page in pages:
        yield from (replace(one, name=f"{page.name}: {one.name}") for one in page.checks)
        yield Check(f"{page.name}: verdict", f"{page.verdict}: {page.sentence}", page.passed is True)


async def _apply(manifests: Sequence[Manifest], access: Access, *, force: bool) -> list[_Applied]:
    """Apply objects in their order; raises ClusterError at the first that is refused."""
    applied = []
    async with opened(access) as (cluster, chosen):
        for manifest in manifests:
            kind, name = _KINDS[manifest["kind"]], manifest["metadata"]["name"]
            own = manifest["metadata"].get("namespace", "")
            if access.namespace and own and own != access.namespace:
                raise ClusterError(
                    f"{name} is in the namespace {own}, but -n says {access.namespace}: leave one of them out"
                )
            namespace = own or chosen
            try:
                was = await cluster.apply_for_person(kind, namespace, manifest, force=force)
            except ApiError as error:
                raise ClusterError(f"{name}: {error}{_advice(error)}") from error
            complain(f"{kind.word} {name} applied in the namespace {namespace}")
            applied.append(_Applied(kind, namespace, name, was))
    return applied


def _advice(error: ApiError) -> str:
    if error.status == HTTPStatus.CONFLICT:
        return ". --force-conflicts takes the fields over"
    if error.status == HTTPStatus.NOT_FOUND:
        return ". Is the chart of sshload installed, and does the namespace exist?"
    return ""


def _manifests(path: Path) -> Sequence[Manifest]:
    """Return the objects of our kinds as written, and print the names of others; raises SpecError and OSError."""
    if path == STANDARD_INPUT or path.is_dir():
        raise SpecError("", "give one file: kubectl apply takes the standard input and directories")
    read_objects(path)  # which says what is wrong with them
    manifests = read_manifests(path)
    ours = tuple(one for one in manifests if is_ours(one))
    others = tuple(one for one in manifests if not is_ours(one))
    if others:
        names = ", ".join(map(_named, others))
        complain(f"not applied, as they are not of our kinds: {names}. kubectl apply -f {path} applies all")
    return ours


def _named(other: Manifest) -> str:
    metadata = other.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return f"{other.get('kind') or 'an object without a kind'} {name or 'without a name'}"
