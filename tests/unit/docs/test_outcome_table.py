"""Every outcome, and every fault of the case study, is brought about by a test that a table names."""

import ast
import re
from pathlib import Path

import pytest
from guide import ROOT
from sshload_contract.vocabulary import Outcome

NOTE = ROOT / "tests/integration/worker/README.md"
ROWS = [
    (outcome, name, (NOTE.parent / path).resolve().relative_to(ROOT))
    for outcome, name, path in re.findall(
        r"^\| `(\w+)` \| \[`(\w+)`\]\((\S+)\) \|$", NOTE.read_text(encoding="utf-8"), re.MULTILINE
    )
]

CASE_STUDY = ROOT / "docs/explanation/case-study.md"
FAULTS = re.findall(
    r"^\| [^|]+ \| ([^|]+) \| \[`(\w+)`\]\(\.\./\.\./(\S+)\) \|$", CASE_STUDY.read_text(encoding="utf-8"), re.MULTILINE
)


def source_of(path: str | Path, name: str) -> str:
    """Return a test with its decorators."""
    text = (ROOT / path).read_text(encoding="utf-8")
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            return "\n".join(text.splitlines()[first - 1 : node.end_lineno])
    raise AssertionError(f"{path} has no {name}")


def test_every_outcome_has_a_row() -> None:
    assert {outcome for outcome, _, _ in ROWS} == set(Outcome)


@pytest.mark.parametrize(("outcome", "name", "path"), ROWS)
def test_the_test_of_an_outcome_is_there_and_speaks_of_it(outcome: str, name: str, path: Path) -> None:
    source = source_of(path, name)
    assert f"Outcome.{Outcome(outcome).name}" in source or f'"{outcome}"' in source


def test_there_are_faults_of_the_gateway() -> None:
    assert len(FAULTS) >= 8


@pytest.mark.parametrize(("answer", "name", "path"), FAULTS)
def test_the_test_of_a_fault_is_there_and_speaks_of_the_answer(answer: str, name: str, path: str) -> None:
    source = source_of(path, name)
    for status, kind in re.findall(r"\b(\d{3}) (?:with )?`([\w-]+)`", answer):
        assert f'"{kind}"' in source, (status, kind)
