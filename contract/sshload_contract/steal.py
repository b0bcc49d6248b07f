"""Steal: the CPU time that the host of a virtual machine gave to others, while the machine had work for it."""

import os
from dataclasses import dataclass

from sshload_contract.wire.bounds import Amount

_STEAL_COLUMN = 7


@dataclass(frozen=True, slots=True)
class MachineCpu:
    """The sum of the time of all CPUs of a machine since it started: the total, and what was stolen."""

    total_s: Amount
    stolen_s: Amount


def machine_cpu(proc_stat: str) -> MachineCpu | None:
    """Return the CPU time in /proc/stat (proc_stat(5)), None if there is none: outside Linux, or in a sandbox."""
    words = proc_stat.partition("\n")[0].split()
    if len(words) <= _STEAL_COLUMN + 1 or words[0] != "cpu":
        return None
    ticks_per_s = os.sysconf("SC_CLK_TCK")
    columns_s = [int(word) / ticks_per_s for word in words[1 : _STEAL_COLUMN + 2]]  # user includes guest
    return MachineCpu(sum(columns_s), columns_s[_STEAL_COLUMN])


def passed_since(before: MachineCpu | None, after: MachineCpu | None) -> MachineCpu | None:
    """Return the time between the two, None if either is unknown; a counter that has fallen counts as 0."""
    if before is None or after is None:
        return None
    return MachineCpu(max(after.total_s - before.total_s, 0.0), max(after.stolen_s - before.stolen_s, 0.0))


def stolen_share(before: MachineCpu | None, after: MachineCpu | None) -> float | None:
    """Return the share of the CPU time between the two that was stolen, None if either is unknown."""
    if before is None or after is None or after.total_s <= before.total_s:
        return None
    return min(max((after.stolen_s - before.stolen_s) / (after.total_s - before.total_s), 0.0), 1.0)
