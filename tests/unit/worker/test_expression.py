"""What expectStdout finds, and the CPU time of a search, whatever a server sends."""

from random import Random
from time import thread_time

import pytest
from sshload_contract.steps import ExecStep
from sshload_operator.api.shapes.reading import read
from sshload_worker.expression import Expression
from sshload_worker.outcomes import GeneratorFaultError

MOST_CPU_S = 0.25  # 50 ms on a machine five times as slow
MEBIBYTE = 1_048_576
RANDOM_LETTERS = bytes(Random(1).choices(b"ab", k=MEBIBYTE))  # noqa: S311 - no secrets
OUTPUTS = {
    "digits": b"1" * MEBIBYTE,
    "one letter": b"a" * MEBIBYTE,
    "random letters": RANDOM_LETTERS,
    "no text": b"\xff" * MEBIBYTE,
    "line breaks": b"\n" * MEBIBYTE,
    "blanks": b" " * MEBIBYTE,
}
SLOW_IN_PYTHON = ["[0-9]+ users", "(a+)+$", "(a|a)*b", "(a|aa)+c", ".*.*.*=", r"^(\s+)*x", r"(\w+\s?)*!", "(x+x+)+y"]
SLOW_IN_RE2 = ["[ab]*a[ab]{15}c", "[ab]*a[ab]{100}c", "[ab]*a[ab]{900}c", "(a{1,20}){1,20}c", "(a?){400}c"]


@pytest.mark.parametrize("output", OUTPUTS.values(), ids=OUTPUTS)
@pytest.mark.parametrize("expression", SLOW_IN_PYTHON + SLOW_IN_RE2)
def test_no_output_makes_a_search_slow(expression: str, output: bytes) -> None:
    compiled = Expression(expression)
    compiled.is_in(b"")
    begin_s = thread_time()
    compiled.is_in(output)
    assert thread_time() - begin_s < MOST_CPU_S


@pytest.mark.parametrize(
    ("expression", "output", "found"),
    [
        pytest.param("welcome", b"you are welcome here", True, id="within"),
        pytest.param("^welcome$", b"welcome\n", True, id="before the last line break"),
        pytest.param("^welcome$", b"welcome", True, id="without a line break"),
        pytest.param("^welcome$", b"welcome\nback\n", False, id="not each line is the whole"),
        pytest.param("^welcome$", b"welcome\n\n", False, id="not before two line breaks"),
        pytest.param("caf\u00e9.$", "café!".encode(), True, id="a character of several bytes"),
        pytest.param("a.c", b"a\xffc", True, id="a byte that is no text"),
        pytest.param(r"\d{3}", "\u0661\u0662\u0663".encode(), False, id="digits are ASCII's"),
        pytest.param("", b"", True, id="nothing in nothing"),
    ],
)
def test_an_expression_is_found_as_a_person_reads_it(expression: str, output: bytes, *, found: bool) -> None:
    assert Expression(expression).is_in(output) is found


@pytest.mark.parametrize("expression", ["(a", "a(?=b)", r"(a)\1", "(a{100}){100}", "[ab]{1000}[ab]{1000}[ab]{1000}"])
def test_what_re2_does_not_take_is_a_fault_of_the_test(expression: str) -> None:
    with pytest.raises(GeneratorFaultError, match="regular expression"):
        Expression(expression)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("expression", ["[a&&b]", "[a||b]", "[a~~b]", "[+--]"])
def test_sets_that_only_a_later_python_may_read_in_another_way_are_taken_without_a_warning(expression: str) -> None:
    assert read(ExecStep, {"command": "true", "expectStdout": expression}).expect_stdout == expression
    Expression(expression)
