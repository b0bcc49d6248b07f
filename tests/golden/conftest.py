"""Comparison with files that stand beside the tests, which `--update-golden` writes again."""

from collections.abc import Callable
from pathlib import Path

import pytest

Compare = Callable[[Path, str], None]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write what the code makes into the golden files")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Compare:
    """Return what compares a text with a golden file; with `--update-golden` it writes the file instead."""
    update = request.config.getoption("--update-golden", default=False)

    def compare(path: Path, made: str) -> None:
        if update:
            path.write_text(made, encoding="utf-8")
        expected = path.read_text(encoding="utf-8") if path.exists() else ""
        assert made == expected, f"{path} differs; if that is meant: pytest tests/golden --update-golden"

    return compare
