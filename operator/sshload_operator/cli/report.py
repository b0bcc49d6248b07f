"""`sshload report`: a report of results in one file, as an HTML page, JSON or Markdown."""

import asyncio
import json
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from sshload_operator.api.kinds import COMPARISON, KINDS, SCHEDULE, TEST, Kind
from sshload_operator.api.names import label_value
from sshload_operator.api.shapes.reading import read_fitting
from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.cli.cluster.access import Access, ClusterError, opened
from sshload_operator.cli.exit_code import ExitCode, complain, failed, failed_on
from sshload_operator.cli.options import FILE, cluster_options
from sshload_operator.control.api_server.errors import ApiError
from sshload_operator.manifests.labels import SCHEDULE_LABEL
from sshload_operator.report.comparison import comparison_document
from sshload_operator.report.document import report_document
from sshload_operator.report.html_page import html_page
from sshload_operator.report.markdown import markdown_text
from sshload_operator.report.saved_run import (
    SAVED_RUN_LIMIT_BYTES,
    KeptObject,
    ReportError,
    SavedRun,
    finished_run,
    kept_object,
    saved_json,
    saved_run_of,
    summary_in,
)
from sshload_operator.report.schedule import schedule_document
from sshload_operator.report.sweep import SAVED_SWEEP_VERSION, saved_sweep_of, sweep_document

if TYPE_CHECKING:
    from sshload_operator.control.api_server.cluster import Cluster

_FORMS: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    ".html": html_page,
    ".json": lambda document: json.dumps(document, indent=1, allow_nan=False) + "\n",
    ".md": markdown_text,
}
_NO_SUMMARY: Final = "the ConfigMap of its results is gone: the report has no course over time and no distribution"
_WORDS: Final = {word: kind for kind in KINDS for word in (kind.word, kind.short, kind.plural)}
Found = SavedRun | dict[str, Any]
"""A run, which may be reported beside another run, or the finished report of anything else."""


@click.command()
@click.argument("name_or_file", metavar="NAME|FILE")
@click.option(
    "--against",
    metavar="NAME|FILE",
    help="Lay another test over this one, such as its baseline: both curves in each chart, figures side by side.",
)
@click.option(
    "-o", "--output", metavar="FILE", type=FILE, required=True, help="The file to write: *.html, *.json or *.md."
)
@cluster_options
def command(name_or_file: str, output: Path, against: str | None, **options: Any) -> ExitCode:
    """Write a report of a finished test, a comparison, a sweep, or the history of a schedule.

    NAME is a test in a cluster; comparison/NAME and schedule/NAME are the other kinds. FILE is what --save of `sshload
    run`, `sweep` or `compare` wrote. The page needs no network: it can be mailed, attached or archived as it is.
    """
    written_as = _FORMS.get(output.suffix)
    if written_as is None:
        raise click.UsageError(f"{output} ends with none of {', '.join(_FORMS)}")
    access = Access.taken_from(options)
    asked = name_or_file
    try:
        found = _found(name_or_file, access)
        if against is not None:
            asked = against
        document = _document(found, None if against is None else _found(against, access))
    except (ClusterError, ReportError) as error:
        return failed(f"{asked}: {error}")
    except OSError as error:
        return failed_on(Path(asked), error)
    try:
        output.write_text(written_as(document), encoding="utf-8")
    except OSError as error:
        return failed(f"{output}: {error.strerror or error}. Name a file that can be written")
    return ExitCode.PASSED


def _document(found: Found, other: Found | None) -> dict[str, Any]:
    if isinstance(found, SavedRun) and (other is None or isinstance(other, SavedRun)):
        return report_document(found, version("sshload"), other)
    if isinstance(found, SavedRun) or other is not None:
        raise ReportError("--against compares two tests, and nothing else")
    return found


def _found(name_or_file: str, access: Access) -> Found:
    kind, name = _object_named(name_or_file)
    if kind is None:
        return _saved(Path(name_or_file))
    try:
        return asyncio.run(_read(kind, name, access))
    except ApiError as error:
        raise ClusterError(str(error)) from error


def _object_named(name_or_file: str) -> tuple[Kind | None, str]:
    """Return the kind and the name of an object; the kind is None if a file is meant.

    An object's name has no slash except the one after its kind, and rarely the suffix of a file.
    """
    if Path(name_or_file).is_file():
        return None, ""
    word, slash, name = name_or_file.partition("/")
    if slash and word.lower() in _WORDS and "/" not in name:
        return _WORDS[word.lower()], name
    return (None, "") if slash or Path(name_or_file).suffix == ".json" else (TEST, name_or_file)


def _saved(path: Path) -> Found:
    with path.open("rb") as file:
        found = saved_json(file.read(SAVED_RUN_LIMIT_BYTES + 1))
    parts = found if isinstance(found, dict) else {}
    if parts.get("kind") == COMPARISON.name:
        return comparison_document(kept_object(parts), version("sshload"))
    if parts.get("version") == SAVED_SWEEP_VERSION:
        return sweep_document(saved_sweep_of(parts), version("sshload"))
    return saved_run_of(found)


async def _read(kind: Kind, name: str, access: Access) -> Found:
    async with opened(access) as (cluster, namespace):
        found = await cluster.read(kind, namespace, name)
        if found is None:
            raise ClusterError(f"there is no {kind.name} of this name in the namespace {namespace}")
        if kind is COMPARISON:
            return comparison_document(kept_object(found), version("sshload"))
        if kind is SCHEDULE:
            schedule = kept_object(found)
            return schedule_document(schedule, await _tests_of(cluster, schedule), version("sshload"))
        return await _run(cluster, namespace, found)


async def _run(cluster: "Cluster", namespace: str, test: Mapping[str, Any]) -> SavedRun:
    kept = read_fitting(TestStatus, test.get("status")).results_config_map
    config_map = await cluster.read_config_map(namespace, kept) if kept else None
    if config_map is None:
        complain(f"{test['metadata']['name']}: {_NO_SUMMARY}")
    return finished_run(test, None if config_map is None else summary_in(config_map))


async def _tests_of(cluster: "Cluster", schedule: KeptObject) -> list[KeptObject]:
    """Return the tests that a schedule has made, except those that have no status yet."""
    selector = f"{SCHEDULE_LABEL}={label_value(schedule.name)}"
    found = await cluster.list_ours(TEST, schedule.namespace, selector, lambda test: test if "status" in test else None)
    return [kept_object(test) for test in found if test is not None]
