"""What `make chaos` says where ONLY chooses nothing: a wrong name must not look like a world that stood every fault."""

import subprocess
import sys
from pathlib import Path

import pytest

CHAOS = Path(__file__).parents[2] / "chaos"


@pytest.mark.slow
@pytest.mark.parametrize("program", ["network/chaos_network.py", "cluster/chaos_cluster.py"])
def test_a_name_that_nothing_has_is_refused_before_anything_runs(program: str) -> None:
    command = [sys.executable, CHAOS / program, "--only", "no such name"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "error: ONLY: no " in done.stderr
    assert "has 'no such name' in its name: " in done.stderr
