"""Every text of the product, read from its source: none shows how it is made."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
FOLDERS = ("operator", "workers", "contract", "targets", "gateway", "scripts")
PLACEHOLDER = re.compile(r"\{([A-Za-z_]\w*)[\w.\[\]]*(?:![rsa])?(?::[^{}]*)?\}")
PARTS_OF_A_SPEC = {"iteration", "user", "n"}
"""Words in braces that a user writes, and that a worker replaces."""

CUTS = re.compile(r"(?:message|text|error|why|said|problem|reason|words)\w*\)?\[: ?[\w.]*CHARACTERS|\]}…")
"""A text that is cut to a number of characters."""

MODULES = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]


def placeholders(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and name of each placeholder that stands in a sentence and that nothing in the module fills."""
    tree = ast.parse(source)
    filled = {
        word.arg
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "format"
        for word in call.keywords
    }
    documentation = {
        node.value for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in documentation:
            for found in PLACEHOLDER.finditer(node.value) if " " in node.value else ():
                if found[1] not in filled | PARTS_OF_A_SPEC:
                    yield node.lineno, found[0]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_text_has_a_placeholder_that_nothing_fills(path: Path) -> None:
    assert list(placeholders(path.read_text(encoding="utf-8"))) == []


def test_a_placeholder_that_was_meant_to_be_filled_is_found() -> None:
    assert list(placeholders('said = f"{a} per second, at most {{need.most:.3g}}"')) == [(1, "{need.most:.3g}")]
    assert list(placeholders('said = "at most {need}"\nprint(said.format(need=1))')) == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_one_function_cuts_texts(path: Path) -> None:
    """It cuts between two words: `sshload_contract.shortened`."""
    if path.name != "shortened.py":
        assert CUTS.findall(path.read_text(encoding="utf-8")) == []
