"""Regular expressions that the API server takes and the workers' RE2 does not."""

import pytest
from sshload_operator.api.expressions import expression_fault


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
