"""The CRD on a real API server: what it refuses, by which message, and what it fills in."""

import pytest
from api_server import DryRun
from specs.bad import Bad
from specs.names import FIT, UNFIT
from specs.relative import RELATIVE
from specs.small import SMALL
from specs.spec import Spec
from specs.tables import BAD, GOOD, WHOLE
from sshload_operator.api.load_test import parse
from sshload_operator.api.names import is_name


@pytest.mark.parametrize("spec", [pytest.param(spec, id=name) for name, spec in GOOD.items()])
def test_a_good_spec_is_accepted(dry_run: DryRun, spec: Spec) -> None:
    assert not dry_run.refusal(spec)


@pytest.mark.parametrize("bad", [pytest.param(bad, id=name) for name, bad in BAD.items()])
def test_a_bad_spec_is_refused_by_a_message_that_names_the_field(dry_run: DryRun, bad: Bad) -> None:
    message = dry_run.refusal(bad.spec)
    assert bad.field in message
    assert bad.says in message


@pytest.mark.parametrize("spec", [pytest.param(spec, id=name) for name, spec in WHOLE.items()])
def test_what_the_server_completes_is_parsed_to_what_was_written(dry_run: DryRun, spec: Spec) -> None:
    completed = dry_run.completed(spec)
    assert parse(completed) == parse(spec)


@pytest.mark.parametrize("name", [*FIT, *UNFIT])
def test_the_server_accepts_the_names_that_the_parser_accepts(dry_run: DryRun, name: str) -> None:
    assert is_name(name) == (not dry_run.refusal(SMALL, name))


def test_a_test_without_a_spec_is_refused(dry_run: DryRun) -> None:
    assert "spec: Required value" in dry_run.refusal(None)


def test_a_test_that_is_its_own_baseline_is_refused(dry_run: DryRun) -> None:
    assert "a test cannot be its own baseline" in dry_run.refusal(RELATIVE, "last-week")
    assert not dry_run.refusal(RELATIVE, "this-week")
