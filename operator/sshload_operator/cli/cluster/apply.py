"""`sshload apply`: the objects of a file, set in a cluster and, if asked, followed to their ends."""

import asyncio
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import click

from sshload_operator.api.kinds import COMPARISON, KINDS, SCHEDULE, TEST, Kind
from sshload_operator.api.load_test_file import STANDARD_INPUT, is_ours, read_manifests, read_objects
from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.cli.cluster.access import Access, ClusterError, opened
from sshload_operator.cli.cluster.follow import COMPARISONS, TESTS, How, follow
from sshload_operator.cli.exit_code import ExitCode, complain, failed_on
from sshload_operator.cli.options import FILE, cluster_options, output, timeout, verbose
from sshload_operator.control.api_server.cluster import ApiError

_FOLLOWED: Final = {TEST: TESTS, COMPARISON: COMPARISONS}
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

    With --wait the exit code is that of the worst verdict.
    """
    access = Access.taken_from(options)
    try:
        manifests = _manifests(filename)
        applied = asyncio.run(_apply(manifests, access, force=force_conflicts))
    except (SpecError, OSError, ClusterError) as error:
        return failed_on(filename, error)
    if not wait:
        return ExitCode.PASSED
    how = How(timeout_s=timeout, output=output, verbose=verbose)
    codes = [
        follow(_FOLLOWED[kind], name, Access(namespace, access.kubeconfig, access.context), how)
        for kind, namespace, name in applied
        if kind is not SCHEDULE
    ]
    return max(codes, default=ExitCode.PASSED)


async def _apply(manifests: Sequence[Manifest], access: Access, *, force: bool) -> list[tuple[Kind, str, str]]:
    """Apply objects in their order, and return where each is; raises ClusterError at the first that is refused."""
    applied = []
    async with opened(access) as (cluster, chosen):
        for manifest in manifests:
            kind, name = _KINDS[manifest["kind"]], manifest["metadata"]["name"]
            own = manifest["metadata"].get("namespace", "")
            if access.namespace and own and own != access.namespace:
                raise ClusterError(
                    f"{name} is of the namespace {own}, and -n says {access.namespace}: leave one of them out"
                )
            namespace = own or chosen
            try:
                await cluster.apply_for_person(kind, namespace, manifest, force=force)
            except ApiError as error:
                raise ClusterError(f"{name}: {error}{_advice(error)}") from error
            complain(f"{kind.word} {name} applied in the namespace {namespace}")
            applied.append((kind, namespace, name))
    return applied


def _advice(error: ApiError) -> str:
    if error.status == HTTPStatus.CONFLICT:
        return ". --force-conflicts takes the fields over"
    if error.status == HTTPStatus.NOT_FOUND:
        return ". Is the chart of sshload installed, and does the namespace exist?"
    return ""


def _manifests(path: Path) -> Sequence[Manifest]:
    """Return the objects of our kinds as they are written; raises SpecError and OSError. Others are named."""
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
    return f"{other.get('kind')} {metadata.get('name') if isinstance(metadata, dict) else None}"
