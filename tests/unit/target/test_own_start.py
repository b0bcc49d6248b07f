"""What a target imports at its start, looked at in a process of its own."""

import subprocess
import sys

_PROGRAM = """
import sys
import sshload_target.__main__
print(sorted({"asyncio", "prometheus_client", "urllib.request"} & set(sys.modules)))
"""


def test_a_target_begins_without_what_only_an_answer_to_prometheus_takes() -> None:
    done = subprocess.run([sys.executable, "-c", _PROGRAM], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"
