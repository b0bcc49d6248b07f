"""`sshload validate`: checks objects as the API server would, and as the operator would before a run.

The installation's allow-list and permissions are not known here: every external target counts as allowed.
"""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import click

from sshload_operator.api.kinds import COMPARISON, SCHEDULE
from sshload_operator.api.load_test import NOT_ITS_OWN_BASELINE, parse
from sshload_operator.api.load_test_file import Document, NoObjectsError, files_in, read_objects
from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.api.shapes.values import broken
from sshload_operator.api.spec import LoadTestSpec
from sshload_operator.cli.exit_code import ExitCode, complain, failed_on
from sshload_operator.cli.options import FILE
from sshload_operator.planning.cautions import cautions
from sshload_operator.planning.installation import NOT_INSTALLED
from sshload_operator.planning.plan import TestIdentity, make_plan
from sshload_operator.planning.preflight import allowing, preflight


@click.command()
@click.argument("files", metavar="FILE...", type=FILE, nargs=-1, required=True)
def command(files: tuple[Path, ...]) -> ExitCode:
    """Check files of all our kinds, and name each field that is wrong.

    FILE is a YAML or JSON file with objects of our kinds, a directory of such files, or - for the standard input.
    """
    checks = [check(path) for path in files]
    return ExitCode.PASSED if all(checks) else ExitCode.ERROR


def check(path: Path) -> bool:
    """Say of each object in a file, or in the files of a directory, whether it is valid; return whether all are.

    Files of a directory that have no object of ours are ignored.
    """
    if not path.is_dir():
        return bool(_check_file(path))
    checks = [_check_file(one, in_directory=True) for one in files_in(path)]
    if all(one is None for one in checks):
        complain(f"{path}: no object of ours in its YAML and JSON files")
        return False
    return all(one is not False for one in checks)


def _check_file(path: Path, *, in_directory: bool = False) -> bool | None:
    """Return whether all objects in a file are valid; None for a file of a directory that has none of ours."""
    try:
        documents = read_objects(path)
    except (SpecError, OSError) as error:
        if in_directory and isinstance(error, NoObjectsError):
            return None
        failed_on(path, error)
        return False
    checks = [_check_object(f"{path}: {document.name}", document) for document in documents]  # a list: check each
    return all(checks)


def _check_object(label: str, document: Document) -> bool:
    """Say whether an object is valid, which fields are wrong and why, and what its author should know."""
    try:
        tests = dict(_tests(document))
    except SpecError as error:
        for problem in error.problems:
            complain(f"{label}: {problem}")
        return False
    test = TestIdentity(namespace="default", name=document.name, uid=str(UUID(int=0)), generation=1)
    plans = {
        of: make_plan(test, spec, replace(NOT_INSTALLED, external_targets=allowing(spec)), 1)
        for of, spec in tests.items()
    }
    for of, plan in plans.items():
        refusal = preflight(plan)
        if refusal is not None:
            reason, message = refusal
            complain(f"{label}{of}: {reason}: {message}")
            return False
    sys.stdout.write(f"{label}: valid\n")
    for of, plan in plans.items():
        for caution in cautions(plan):
            complain(f"{label}{of}: note: {caution}")
    return True


def _tests(document: Document) -> Iterator[tuple[str, LoadTestSpec]]:
    """Yield the spec of each test that would be run, with a label for it; raises SpecError."""
    if document.kind is SCHEDULE:
        from sshload_operator.api.schedule.spec import parse_schedule  # noqa: PLC0415 - most objects are tests

        yield "", parse(parse_schedule(document.spec).template.spec)
    elif document.kind is COMPARISON:
        from sshload_operator.api.comparison.spec import parse_comparison  # noqa: PLC0415 - likewise

        for variant in parse_comparison(document.spec).variants:
            yield f": variant {variant.name}", variant.spec
    else:
        spec = parse(document.spec)
        named = {"metadata": {"name": document.name}, "spec": document.spec}
        if problems := list(broken((NOT_ITS_OWN_BASELINE,), named, spec, "")):
            raise SpecError.of(problems)
        yield "", spec
