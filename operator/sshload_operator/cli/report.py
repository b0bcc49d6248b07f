"""`sshload report`: a finished test as a page to look at, or the same as JSON or Markdown, in one file."""

import asyncio
import json
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import click

from sshload_operator.api.kinds import TEST
from sshload_operator.api.shapes.reading import read_fitting
from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.cli.cluster.access import Access, ClusterError, opened
from sshload_operator.cli.exit_code import ExitCode, complain, failed, failed_on
from sshload_operator.cli.options import FILE, cluster_options
from sshload_operator.control.api_server.cluster import ApiError
from sshload_operator.report.document import report_document
from sshload_operator.report.html_page import html_page
from sshload_operator.report.markdown import markdown_text
from sshload_operator.report.saved_run import (
    SAVED_RUN_LIMIT_BYTES,
    ReportError,
    SavedRun,
    finished_run,
    read_saved_run,
    summary_in,
)

_FORMS: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    ".html": html_page,
    ".json": lambda document: json.dumps(document, indent=1, allow_nan=False) + "\n",
    ".md": markdown_text,
}
_NO_SUMMARY: Final = "the ConfigMap of its results is gone: the report has no course over time and no distribution"


@click.command()
@click.argument("name_or_file", metavar="NAME|FILE")
@click.option(
    "-o", "--output", metavar="FILE", type=FILE, required=True, help="The file to write: *.html, *.json or *.md."
)
@cluster_options
def command(name_or_file: str, output: Path, **options: Any) -> ExitCode:
    """Write a report of a finished test: of the SSHLoadTest NAME in a cluster, or of a FILE of `sshload run --save`.

    The page needs no network: it can be mailed, attached or archived as it is.
    """
    written_as = _FORMS.get(output.suffix)
    if written_as is None:
        raise click.UsageError(f"{output} ends with none of {', '.join(_FORMS)}")
    try:
        run = _saved(Path(name_or_file)) if _is_file(name_or_file) else _in_cluster(name_or_file, options)
    except (ClusterError, ReportError) as error:
        return failed(f"{name_or_file}: {error}")
    except OSError as error:
        return failed_on(Path(name_or_file), error)
    try:
        output.write_text(written_as(report_document(run, version("sshload"))), encoding="utf-8")
    except OSError as error:
        return failed(f"{output}: {error.strerror or error}. Name a file that can be written")
    return ExitCode.PASSED


def _is_file(name_or_file: str) -> bool:
    """Return whether a file is meant: a name of an object has no slash, and rarely that suffix."""
    return "/" in name_or_file or Path(name_or_file).suffix == ".json" or Path(name_or_file).is_file()


def _saved(path: Path) -> SavedRun:
    with path.open("rb") as file:
        return read_saved_run(file.read(SAVED_RUN_LIMIT_BYTES + 1))


def _in_cluster(name: str, options: dict[str, Any]) -> SavedRun:
    try:
        return asyncio.run(_read(name, Access.taken_from(options)))
    except ApiError as error:
        raise ClusterError(str(error)) from error


async def _read(name: str, access: Access) -> SavedRun:
    async with opened(access) as (cluster, namespace):
        test = await cluster.read(TEST, namespace, name)
        if test is None:
            raise ClusterError(f"there is no {TEST.name} of this name in the namespace {namespace}")
        kept = read_fitting(TestStatus, test.get("status")).results_config_map
        config_map = await cluster.read_config_map(namespace, kept) if kept else None
        if config_map is None:
            complain(f"{name}: {_NO_SUMMARY}")
        return finished_run(test, None if config_map is None else summary_in(config_map))
