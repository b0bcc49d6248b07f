"""`sshload compare`: follows a comparison in a cluster to its end, or runs that of a file here, variants in turns."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource

from sshload_operator.api.comparison.spec import parse_comparison
from sshload_operator.api.kinds import API_VERSION, COMPARISON
from sshload_operator.api.load_test import parse
from sshload_operator.api.load_test_file import Document, read_objects
from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.api.status.head import written
from sshload_operator.cli.exit_code import ExitCode, exit_code, failed_on
from sshload_operator.cli.options import FILE, NEW_FILE, Parsed, cluster_options, object_name, output, timeout, verbose
from sshload_operator.cli.run import Given, given, keep, local_options, local_run_options
from sshload_operator.cli.view.comparison import comparison_page, comparison_progress, comparison_rows
from sshload_operator.cli.view.formats import print_result
from sshload_operator.cli.view.progress import ProgressView, progress_view
from sshload_operator.local.compare import compare_locally
from sshload_operator.local.files import check_libraries
from sshload_operator.local.run import LocalResult, Stop, run_locally, stop_signals
from sshload_operator.local.sshd import LocalRunError
from sshload_operator.world.keys import KeysError

_OF_CLUSTER: Final = ("namespace", "kubeconfig", "context")


@click.command()
@click.argument("comparison", metavar="[NAME]", type=Parsed("NAME", object_name), required=False)
@click.option("-f", "--filename", metavar="FILE", type=FILE, help="Run the SSHLoadTestComparison of this file here.")
@local_options
@cluster_options
@timeout
@click.option("--save", metavar="FILE", type=NEW_FILE, help="Write the comparison with its results to this file.")
@output()
@verbose()
def command(  # noqa: PLR0913 - click passes each option
    *,
    comparison: str | None,
    filename: Path | None,
    timeout: float | None,
    output: str,
    verbose: bool,
    save: Path | None,
    **options: Any,
) -> ExitCode:
    """Follow the SSHLoadTestComparison NAME in a cluster, or run that of FILE here; print its variants side by side.

    In a cluster Ctrl-C ends the watching, not the comparison. Here it aborts the comparison.
    """
    if (comparison is None) == (filename is None):
        raise click.UsageError("name a comparison of a cluster, or give a file with -f")
    cluster = {name: options.pop(name) for name in _OF_CLUSTER}
    _refuse_others(here=filename is not None)
    if filename is not None:
        return _here(given({"file": filename, **options}), output, save, verbose=verbose)
    # The API client takes half a second to import, and a local run has no need of it.
    from sshload_operator.cli.cluster.access import Access  # noqa: PLC0415
    from sshload_operator.cli.cluster.follow import COMPARISONS, How, follow  # noqa: PLC0415

    how = How(timeout_s=timeout, output=output, verbose=verbose)
    return follow(COMPARISONS, comparison or "", Access.taken_from(cluster), how)


def _refuse_others(*, here: bool) -> None:
    """Raise UsageError for an option that does not apply: to a comparison here, or to one in a cluster."""
    context = click.get_current_context()
    shared = {"comparison", "filename", "output", "verbose", "help"}
    of_cluster = {*_OF_CLUSTER, "timeout"}
    for one in context.command.params:
        name = one.name or ""
        was_given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if was_given and name not in shared and (name in of_cluster) is here:
            where = "a comparison in a cluster, and -f runs one here" if here else "a comparison that -f runs here"
            raise click.UsageError(f"{one.opts[0]} is for {where}: leave it out")


def _here(asked: Given, output: str, save: Path | None, *, verbose: bool) -> ExitCode:
    """Run a comparison with processes of this machine."""
    view = progress_view()
    lost: list[Exception] = []
    with stop_signals() as stop:  # to the last line: a second Ctrl-C must not cost what was measured
        try:
            document = _only_comparison(asked)
            specs = [one.spec for one in parse_comparison(document.spec).variants]
            for spec in specs:
                check_libraries(spec)
            jump_hosts = frozenset(host.host for spec in specs for host in spec.via)
            status = compare_locally(
                document,
                _run_or_lost(runner(asked, view, stop, jump_hosts), lost),
                lambda status: view.say(comparison_progress(status)),
                asked.allow_target,
            )
        except (SpecError, LocalRunError, OSError) as error:
            view.close()
            return failed_on(asked.file, error)
        finally:
            view.close()
        if lost and not status.tests:
            return failed_on(asked.file, lost[0])
        finished = {
            "apiVersion": API_VERSION,
            "kind": COMPARISON.name,
            "metadata": {"name": document.name, "namespace": document.namespace or "default"},
            "spec": document.spec,
            "status": written(status),
        }
        if save is not None:
            keep(save, json.dumps(finished, allow_nan=False))
        print_result(output, finished, comparison_page(document.name, status, verbose=verbose), comparison_rows(status))
    return failed_on(asked.file, lost[0]) if lost else exit_code(status.verdict)


def _run_or_lost(
    run: Callable[[Document], LocalResult], lost: list[Exception]
) -> Callable[[Document], LocalResult | None]:
    """Return a function that runs a test. If this machine cannot, it returns None and adds the reason to `lost`."""

    def run_one(document: Document) -> LocalResult | None:
        try:
            return run(document)
        except (LocalRunError, KeysError, OSError) as error:
            lost.append(error)
            return None

    return run_one


def runner(
    asked: Given, view: ProgressView, stop: Stop, jump_hosts: frozenset[str] = frozenset()
) -> Callable[[Document], LocalResult]:
    """Return a function that runs a test here, and keeps its logs in a folder of its own if logs are kept.

    It says only once what differs from a cluster. `jump_hosts` are those of all tests: each test uses the files for its
    own. After a request to stop, each test ends as Aborted before it begins.
    """
    said: set[str] = set()

    def say_once(text: str) -> None:
        if text not in said:
            said.add(text)
            view.say(text)

    def run(document: Document) -> LocalResult:
        own = asked if asked.logs is None else replace(asked, logs=asked.logs / document.name)
        options = local_run_options(own, view)
        hosts = {host.host for host in parse(document.spec).via}
        files = options.own.without_jump_hosts_of_others(hosts, jump_hosts)
        return run_locally(document, replace(options, own=files, note=say_once), stop)

    return run


def _only_comparison(asked: Given) -> Document:
    """Return the file's only comparison, or the one of the given name; raises SpecError."""
    found = [one for one in read_objects(asked.file) if one.kind is COMPARISON and asked.name in (None, one.name)]
    if len(found) != 1:
        why = (
            "choose one of them with --name" if found else "sshload run runs a test, and sshload sweep one field of it"
        )
        raise SpecError("", f"{len(found)} objects of the kind {COMPARISON.name} in it: {why}")
    return found[0]
