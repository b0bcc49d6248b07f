"""The command `sshload`: run a test here, follow one or a comparison in a cluster, check files, or record a trace.

Results go to standard output, everything else to standard error. The exit code is the verdict's (`exit_code.py`).
"""

import asyncio
import json
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from sshload_contract.wire.codec import to_json

from sshload_operator.api.kinds import API_VERSION, COMPARISON, TEST, Kind
from sshload_operator.api.load_test_file import Document, read_finished_test, read_load_tests
from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.api.shapes.reading import read_fitting
from sshload_operator.api.status.comparison import ComparisonStatus
from sshload_operator.api.status.head import written
from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.cli.arguments import command_line, own_files
from sshload_operator.cli.comparison_table import comparison_progress, comparison_text
from sshload_operator.cli.exit_code import ExitCode, exit_code
from sshload_operator.cli.make_trace import TraceError, make_trace
from sshload_operator.cli.plain_text import printable
from sshload_operator.cli.progress_line import ProgressLine, progress_text
from sshload_operator.cli.result_table import result_text
from sshload_operator.cli.validation import check
from sshload_operator.control.run.keys import KeysError
from sshload_operator.local.run import LocalOptions, LocalResult, run_locally
from sshload_operator.local.sshd import LocalRunError
from sshload_operator.state import Reason

S = TypeVar("S", TestStatus, ComparisonStatus)


def main() -> NoReturn:
    """Run the command line and exit with its code."""
    arguments = command_line().parse_args()
    commands = {"run": _run, "watch": _watch, "compare": _compare, "validate": _validate, "trace": _trace}
    sys.exit(commands[arguments.command](arguments))


def _run(arguments: Namespace) -> ExitCode:
    line = ProgressLine(sys.stderr)
    try:
        document = _only_test(arguments.file, arguments.name)
        result = run_locally(document, _local_options(arguments, line))
    except (SpecError, LocalRunError, KeysError, OSError) as error:
        line.close()
        _complain(f"{arguments.file}: {error}")
        return ExitCode.ERROR
    line.close()
    if arguments.logs is not None:
        _keep_summary(result, arguments.logs)
    if result.status.reason == Reason.TARGET_NOT_ALLOWED:
        _complain("here, --allow-target HOST[:PORT] allows it")
    namespace = document.namespace or "default"
    finished = {
        "apiVersion": API_VERSION,
        "kind": TEST.name,
        "metadata": {"name": document.name, "namespace": namespace},
        "spec": document.spec,
        "status": written(result.status),
    }
    _print(finished, result_text(result.status), arguments.output)
    return exit_code(result.status.verdict)


def _watch(arguments: Namespace) -> ExitCode:
    return _follow(arguments, TEST, TestStatus, progress_text, result_text)


def _compare(arguments: Namespace) -> ExitCode:
    return _follow(arguments, COMPARISON, ComparisonStatus, comparison_progress, comparison_text)


def _follow(
    arguments: Namespace,
    kind: Kind,
    shape: type[S],
    progress: Callable[[S], str],
    text: Callable[[S], str],
) -> ExitCode:
    """Wait until the object in the cluster is finished, print its result and return its verdict's code."""
    # The API client takes half a second to import, and the other commands have no need of it.
    from sshload_operator.cli.watch import Watched, WatchError, watch  # noqa: PLC0415

    if arguments.kubeconfig and not Path(arguments.kubeconfig).is_file():
        _complain(f"there is no kubeconfig {arguments.kubeconfig}")
        return ExitCode.ERROR
    line = ProgressLine(sys.stderr)
    watched = Watched(
        kind=kind,
        namespace=arguments.namespace,
        name=arguments.name,
        kubeconfig=arguments.kubeconfig,
        context=arguments.context,
        timeout_s=arguments.timeout,
        shape=shape,
        progress=progress,
    )
    try:
        finished = asyncio.run(watch(watched, line.show))
    except WatchError as error:
        line.close()
        _complain(str(error))
        return ExitCode.ERROR
    except KeyboardInterrupt:
        line.close()
        _complain(f"no longer watched; the {kind.name} goes on in the cluster")
        return ExitCode.INTERRUPTED
    line.close()
    status = read_fitting(shape, finished["status"])
    _print(finished, text(status), arguments.output)
    return exit_code(status.verdict)


def _validate(arguments: Namespace) -> ExitCode:
    checks = [check(path) for path in arguments.files]
    return ExitCode.PASSED if all(checks) else ExitCode.ERROR


def _trace(arguments: Namespace) -> ExitCode:
    try:
        notes = make_trace(arguments)
    except (TraceError, OSError) as error:
        _complain(f"{', '.join(map(str, arguments.files))}: {error}")
        return ExitCode.ERROR
    for note in notes:
        _complain(note)
    return ExitCode.PASSED


def _only_test(path: Path, name: str | None) -> Document:
    """Return the file's one test, or the one of this name; raises SpecError."""
    documents = read_load_tests(path)
    if name is None and len(documents) == 1:
        return documents[0]
    for document in documents:
        if document.name == name:
            return document
    known = ", ".join(document.name for document in documents)
    raise SpecError("metadata.name", f"choose one of {known} with --name")


def _local_options(arguments: Namespace, line: ProgressLine) -> LocalOptions:
    if arguments.logs is not None:
        arguments.logs.mkdir(parents=True, exist_ok=True)
    return LocalOptions(
        own=own_files(arguments),
        allowed_targets=tuple(arguments.allow_target),
        baseline=read_finished_test(arguments.baseline) if arguments.baseline is not None else None,
        logs=arguments.logs,
        note=line.say,
        progress=lambda status: line.show(progress_text(status)),
    )


def _keep_summary(result: LocalResult, logs: Path) -> None:
    if result.summary is not None:
        (logs / "summary.json").write_text(to_json(result.summary), encoding="utf-8")


def _print(finished: Mapping[str, Any], text: str, output: str) -> None:
    """Print a finished object, as text or whole."""
    sys.stdout.write(f"{json.dumps(finished, indent=2)}\n" if output == "json" else text)


def _complain(text: str) -> None:
    sys.stderr.write(f"sshload: {printable(text)}\n")
