"""The runner of the test layers, run on small projects of its own: what it counts, and what it lets nobody pass by."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
Run = Callable[..., subprocess.CompletedProcess[str]]

PASSES = "def test_it(): pass\n"
FAILS = "def test_it(): assert False, 'the reason'\n"
SKIPS = "import pytest\n\ndef test_it(): pytest.skip('sshd is missing')\n"
BREAKS = "import no_such_module\n"
KILLS = "import os\n\ndef test_it(): os._exit(0)\n"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run one layer of a project that has these files in tests/."""

    def run_layer(layer: str, **files: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "scripts").mkdir()
        for script in ("run_tests.py", "debian-packages"):
            shutil.copy(ROOT / "scripts" / script, tmp_path / "scripts")
        (tmp_path / ".venv").symlink_to(sys.prefix)
        for name, text in files.items():
            path = tmp_path / "tests" / f"{name.replace('__', '/')}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        command = [sys.executable, tmp_path / "scripts/run_tests.py", layer]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, cwd=tmp_path)

    return run_layer


def test_passing_tests_of_every_folder_are_counted(run: Run) -> None:
    """The last line counts them all."""
    done = run("unit", unit__one__test_a=PASSES, unit__two__test_a=PASSES)
    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines()[-1] == "2 passed, 0 failed"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param(FAILS, "the reason", id="a failure"),
        pytest.param(SKIPS, "sshd is missing", id="a skip"),
        pytest.param(BREAKS, "collection failure", id="a file that cannot be imported"),
        pytest.param(KILLS, "no report", id="a process that ends early with exit code 0"),
    ],
)
def test_what_did_not_pass_fails_with_its_reason(run: Run, text: str, reason: str) -> None:
    """Nothing passes because it did not run."""
    done = run("simulation", simulation__test_a=text)
    assert done.returncode == 1
    assert reason in done.stdout.split("layer  ")[-1]
    assert done.stdout.splitlines()[-1] == "0 passed, 1 failed"


def test_a_layer_without_tests_fails(run: Run) -> None:
    """An empty layer would otherwise look like a passing one."""
    done = run("simulation", simulation__test_a="")
    assert done.returncode == 1
    assert "no tests" in done.stdout
    assert done.stdout.splitlines()[-1] == "0 passed, 1 failed"


def test_one_failing_folder_does_not_hide_the_others(run: Run) -> None:
    """Each folder runs, whatever happened to the ones before."""
    done = run("unit", unit__one__test_a=FAILS, unit__two__test_a=PASSES)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "1 passed, 1 failed"
