"""What the command of CI says at its end."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
RED = """test:
\t@mkdir -p .cache/test
\t@echo "failed: unit: a test: why" > .cache/test/failed
\t@echo "1 passed, 1 failed" > .cache/test/summary
\t@false
"""
BROKEN = "test:\n\t@echo nothing could be installed; false\n"
GREEN = 'test:\n\t@echo "2 passed, 0 failed"\n'


@pytest.mark.parametrize(
    ("makefile", "code", "last"),
    [
        pytest.param(RED, 2, ["failed: unit: a test: why", "1 passed, 1 failed"], id="a test failed"),
        pytest.param(BROKEN, 2, ["0 passed, 1 failed"], id="no test could run"),
        pytest.param(GREEN, 0, ["2 passed, 0 failed"], id="all passed"),
    ],
)
def test_a_run_ends_with_why_it_failed_and_the_counts(
    tmp_path: Path, makefile: str, code: int, last: list[str]
) -> None:
    """Also below what make adds. The counts of a run before it are never told again."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci/run", tmp_path / ".ci")
    (tmp_path / "Makefile").write_text(makefile)
    before = tmp_path / ".cache/test"
    before.mkdir(parents=True)
    (before / "summary").write_text("9 passed, 0 failed\n")
    done = subprocess.run([tmp_path / ".ci/run"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()[-len(last) :]) == (code, last)
    assert "9 passed" not in done.stdout
