"""Regular expressions that the API server takes and the workers' RE2 does not."""

import pytest
from specs.small import with_steps
from sshload_operator.api.expressions import expression_fault
from sshload_operator.api.load_test import parse


@pytest.mark.parametrize(
    ("expression", "fault"),
    [
        pytest.param("(a{100}){100}", "must be a regular expression of RE2", id="repeats of repeats"),
        pytest.param(r"[\b]", "must be a regular expression of RE2", id="a backspace"),
        pytest.param("[ab]{1000}[ab]{1000}[ab]{1000}", "must be smaller: it makes", id="too many instructions"),
    ],
)
def test_the_fault_of_an_expression_is_told(expression: str, fault: str) -> None:
    assert expression_fault(expression).startswith(fault)


def test_an_expression_that_the_workers_take_has_none() -> None:
    assert expression_fault(r"^load average: [0-9]+\.[0-9]{2}, .*$") == ""


def test_an_expression_that_python_would_try_for_years_is_not_searched_for() -> None:
    parse(with_steps({"exec": {"command": "x", "expectStdout": r"(?:|a?|b?){40}\b"}}))
