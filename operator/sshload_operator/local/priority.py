"""CPU for the workers of a local run, which share their machine with the server that they measure.

A worker that waits for a CPU records its own wait as the server's. Where this user may, workers run at real-time
priority (SCHED_RR, sched(7)): they need a few percent of a core, and get it when they need it.
"""

import subprocess
from collections.abc import Sequence

_CHRT = "/usr/bin/chrt"  # util-linux, as setpriv
_LOWEST_REAL_TIME = "1"


def may_run_at_real_time() -> bool:
    """Tell whether this user may start processes at real-time priority (root, or RLIMIT_RTPRIO)."""
    tried = subprocess.run(at_real_time(["true"]), capture_output=True, check=False)  # noqa: S603 - our own command
    return tried.returncode == 0


def at_real_time(command: Sequence[str]) -> list[str]:
    """Return the command that runs `command` at the lowest real-time priority."""
    return [_CHRT, "--rr", _LOWEST_REAL_TIME, *command]
