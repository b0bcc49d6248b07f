"""The page on troubleshooting quotes messages that the programs print, and has every reason for which a run fails.

The reasons of good runs are on the page of verdicts.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from guide import ROOT
from sshload_contract.vocabulary import Outcome
from sshload_operator.state import Reason

PAGE = (ROOT / "docs/how-to/troubleshooting.md").read_text(encoding="utf-8")
VERDICTS = (ROOT / "docs/reference/verdicts.md").read_text(encoding="utf-8")
SOURCES = ("operator/sshload_operator", "workers/sshload_worker", "contract/sshload_contract")
VALUE = "…"
OF_GOOD_RUNS = {
    Reason.TARGET_STARTING,
    Reason.TARGET_READY,
    Reason.TARGET_EXTERNAL,
    Reason.TARGET_NOT_READY,
    Reason.WORKERS_STARTING,
    Reason.WORKERS_CONNECTED,
    Reason.LOAD_RUNNING,
    Reason.COLLECTING_RESULTS,
    Reason.CAUTION,
    Reason.RUN_FINISHED,
    Reason.THRESHOLDS_MET,
    Reason.NO_THRESHOLDS,
    Reason.CAPACITY_FOUND,
}
QUOTED = re.findall(r"^\| (?:`\w+` \| )?`([^`]* [^`]*)` \|", PAGE, re.MULTILINE)


def texts(node: ast.AST) -> Iterator[str]:
    """Yield each text of a syntax tree, with VALUE where a value goes."""
    if isinstance(node, ast.JoinedStr):
        yield "".join(str(part.value) if isinstance(part, ast.Constant) else VALUE for part in node.values)
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield re.sub(r"\{\w+\}", VALUE, node.value)
    for child in ast.iter_child_nodes(node):
        yield from texts(child)


@pytest.fixture(name="printed", scope="module")
def _printed() -> str:
    """All texts of the programs, one on a line."""
    modules = (path for source in SOURCES for path in sorted(Path(ROOT / source).rglob("*.py")))
    return "\n".join(text for path in modules for text in texts(ast.parse(path.read_text(encoding="utf-8"))))


def test_the_page_quotes_messages() -> None:
    assert len(QUOTED) > 50


@pytest.mark.parametrize("message", QUOTED)
def test_a_message_that_is_quoted_is_one_of_the_programs(message: str, printed: str) -> None:
    assert message in printed


def test_every_reason_for_which_a_run_waits_fails_or_is_not_judged_is_there() -> None:
    named = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))
    assert named >= {reason.value for reason in Reason} - {reason.value for reason in OF_GOOD_RUNS}


def test_every_reason_of_a_good_run_is_among_the_verdicts_and_nowhere_else() -> None:
    reasons = VERDICTS.partition("\n## Reasons\n")[2].partition("\n## ")[0]
    explained = re.findall(r"^\| `(\w+)` \|", reasons, re.MULTILINE)
    assert sorted(explained) == sorted(reason.value for reason in OF_GOOD_RUNS)
    assert not set(explained) & set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))


def test_every_outcome_that_is_named_is_one() -> None:
    section = PAGE.partition("## Logins fail during the load")[2].partition("\n## ")[0]
    named = {
        word for cell in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE) for word in re.findall(r"`(\w+)`", cell)
    }
    assert named
    assert named <= {outcome.value for outcome in Outcome}
