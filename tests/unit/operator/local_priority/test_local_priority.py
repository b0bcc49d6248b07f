"""Needs root, as the project's test runs do anyway for the cluster: the rights are what is tested."""

import subprocess
import sys

import pytest
from real_time import is_granted
from sshload_operator.local.process_tree import at_real_time, may_run_at_real_time

SAY_POLICY = ["python3", "-c", "import os; print(os.sched_getscheduler(0) == os.SCHED_RR)"]
AS_NOBODY = "import os; from sshload_operator.local import process_tree as p; os.setuid(65534); print(p.{})"


@pytest.mark.root
def test_root_may_where_the_kernel_grants_it_and_the_command_then_runs_at_real_time_priority() -> None:
    assert may_run_at_real_time() is is_granted()
    said = subprocess.run(at_real_time(SAY_POLICY), capture_output=True, text=True, check=False)
    assert said.stdout.strip() == ("True" if is_granted() else "")


@pytest.mark.root
def test_a_user_without_the_right_may_not() -> None:
    ask = AS_NOBODY.format("may_run_at_real_time()")
    said = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=False)
    assert (said.stdout.strip(), said.stderr) == ("False", "")
