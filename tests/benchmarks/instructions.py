"""Instructions per operation as callgrind counts them: no clock, no kernel, and the same again at the next run."""

import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace

from cost import HERE, Clients, Work


def per_operation(clients: Clients, work: Work, operations: int) -> float:
    """Return what the least client needs for one operation: that of twice as many, less that of these."""
    base = replace(work, at_once=1)
    few, many = (
        _collected(clients.bare_command(replace(base, operations=count))) for count in (operations, 2 * operations)
    )
    return (many - few) / operations


def of_scenario(iterations: int) -> float:
    """Return what a command takes of the scenario, by a client that answers at once: likewise a difference."""
    few, many = (_collected([str(HERE / "scenario_alone.py"), str(count)]) for count in (iterations, 2 * iterations))
    return (many - few) / iterations


def _collected(command: Sequence[str]) -> int:
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", sys.executable, *command]
    done = subprocess.run(valgrind, check=True, capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    assert found, done.stderr
    return int(found[1])
