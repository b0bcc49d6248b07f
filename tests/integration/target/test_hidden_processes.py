"""A /proc that hides the processes of others (hidepid of proc(5)): for root, who can mount one and become somebody."""

import subprocess
import sys

import pytest

_UID = 10_001  # as in the target's image
_MEASURE = f"""
import os
from sshload_target.usage.process_tree import ProcessTreeReader
os.setgroups([]); os.setgid({_UID}); os.setuid({_UID})
usage = ProcessTreeReader().read()
print(usage.processes, usage.memory_bytes > 0)
"""


@pytest.mark.root
@pytest.mark.parametrize("hidepid", [1, 2])
def test_a_target_counts_its_own_processes_where_those_of_others_may_not_be_read(hidepid: int) -> None:
    mount = f'mount -t proc -o hidepid={hidepid} proc /proc; exec "$@"'
    measure = [sys.executable, "-c", _MEASURE]
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-ec", mount, "sh", *measure], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("1 True\n", "")
