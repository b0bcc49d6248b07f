"""The command `sshload`: run a test here, follow one in a cluster, or check files.

Results go to standard output, everything else to standard error. The exit code is the verdict's (`exit_code.py`).
"""

import asyncio
import json
import sys
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn
from uuid import UUID

from sshload_contract.codec import to_json

from sshload_operator.api.errors import SpecError
from sshload_operator.api.load_test_file import API_VERSION, KIND, LoadTestDocument, read_load_tests
from sshload_operator.api.parse import parse
from sshload_operator.cli.arguments import command_line
from sshload_operator.cli.exit_code import ExitCode, exit_code
from sshload_operator.cli.own_files import own_files
from sshload_operator.cli.progress_line import ProgressLine
from sshload_operator.cli.result_table import printable, result_text
from sshload_operator.control.keys import KeysError
from sshload_operator.local.run import LocalOptions, LocalResult, run_locally
from sshload_operator.local.sshd import LocalRunError
from sshload_operator.planning.cautions import cautions
from sshload_operator.planning.plan import AllowedTarget, Installation, TestIdentity, make_plan
from sshload_operator.planning.preflight import preflight
from sshload_operator.state import Reason

_ANY_TARGET = (AllowedTarget(host="*", ports=()),)


def main() -> NoReturn:
    """Run the command line and exit with its code."""
    arguments = command_line().parse_args()
    commands = {"run": _run, "watch": _watch, "validate": _validate}
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
    if result.status["reason"] == Reason.TARGET_NOT_ALLOWED:
        _complain("here, --allow-target HOST[:PORT] allows it")
    namespace = document.namespace or "default"
    return _report(
        {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": {"name": document.name, "namespace": namespace},
            "spec": document.spec,
            "status": result.status,
        },
        arguments.output,
    )


def _watch(arguments: Namespace) -> int:
    # The API client takes half a second to import, and the other commands have no need of it.
    from sshload_operator.cli.watch import Watched, WatchError, watch  # noqa: PLC0415

    if arguments.kubeconfig and not Path(arguments.kubeconfig).is_file():
        _complain(f"there is no kubeconfig {arguments.kubeconfig}")
        return ExitCode.ERROR
    line = ProgressLine(sys.stderr)
    watched = Watched(
        namespace=arguments.namespace,
        name=arguments.name,
        kubeconfig=arguments.kubeconfig,
        context=arguments.context,
        timeout_s=arguments.timeout,
    )
    try:
        test = asyncio.run(watch(watched, line.show))
    except WatchError as error:
        line.close()
        _complain(str(error))
        return ExitCode.ERROR
    except KeyboardInterrupt:
        line.close()
        _complain("no longer watched; the test goes on in the cluster")
        return ExitCode.INTERRUPTED
    line.close()
    return _report(test, arguments.output)


def _validate(arguments: Namespace) -> ExitCode:
    checks = [_check(path) for path in arguments.files]
    return ExitCode.PASSED if all(checks) else ExitCode.ERROR


def _check(path: Path) -> bool:
    """Say of each test in a file whether it is valid; the installation's list of allowed targets is not known here."""
    try:
        documents = read_load_tests(path)
    except (SpecError, OSError) as error:
        _complain(f"{path}: {error}")
        return False
    valid = [_check_test(f"{path}: {document.name}", document) for document in documents]
    return all(valid)


def _check_test(label: str, document: LoadTestDocument) -> bool:
    """Say whether a test is valid, what is wrong with it by the field's name, and what its author should know."""
    test = TestIdentity(namespace="default", name=document.name, uid=str(UUID(int=0)), generation=1)
    nowhere = Installation(
        worker_image="",
        target_image="",
        image_pull_policy="",
        image_pull_secrets=(),
        worker_resources={},
        allowed_targets=_ANY_TARGET,
        one_address=False,
    )
    try:
        plan = make_plan(test, parse(document.spec), nowhere, 1)
    except SpecError as error:
        _complain(f"{label}: {error}")
        return False
    refusal = preflight(plan)
    if refusal is not None:
        reason, message = refusal
        _complain(f"{label}: {reason}: {message}")
        return False
    sys.stdout.write(f"{label}: valid\n")
    for caution in cautions(plan):
        _complain(f"{label}: note: {caution}")
    return True


def _only_test(path: Path, name: str | None) -> LoadTestDocument:
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
        logs=arguments.logs,
        note=line.say,
        progress=line.show,
    )


def _keep_summary(result: LocalResult, logs: Path) -> None:
    if result.summary is not None:
        (logs / "summary.json").write_text(to_json(result.summary), encoding="utf-8")


def _report(test: Mapping[str, Any], output: str) -> ExitCode:
    """Print the finished test and return its verdict's code."""
    status = test["status"]
    text = f"{json.dumps(test, indent=2)}\n" if output == "json" else result_text(status)
    sys.stdout.write(text)
    return exit_code(status["verdict"])


def _complain(text: str) -> None:
    sys.stderr.write(f"sshload: {printable(text)}\n")
