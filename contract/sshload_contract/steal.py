"""Steal: the CPU time that the host of a virtual machine gave to others, while the machine had work for it."""

import os
import re
from dataclasses import dataclass

from sshload_contract.bounds import Amount, Count

_IDLE_COLUMNS = slice(3, 5)  # idle, and idle while a disk is waited for
_STEAL_COLUMN = 7
_ONE_CPU = re.compile(r"cpu[0-9]")
_STOLEN_FROM = 0.03


@dataclass(frozen=True, slots=True)
class MachineCpu:
    """The sum of the time of all CPUs of a machine since it started: the total, what was stolen, what nobody used.

    `idle_s` is None and `cpus` 0 if they are not known.
    """

    total_s: Amount
    stolen_s: Amount
    idle_s: Amount | None = None
    cpus: Count = 0


def machine_cpu(proc_stat: str) -> MachineCpu | None:
    """Return the CPU time in /proc/stat (proc_stat(5)), None if there is none: outside Linux, or in a sandbox."""
    lines = proc_stat.splitlines()
    words = lines[0].split() if lines else []
    if len(words) <= _STEAL_COLUMN + 1 or words[0] != "cpu":
        return None
    ticks_per_s = os.sysconf("SC_CLK_TCK")
    columns_s = [int(word) / ticks_per_s for word in words[1 : _STEAL_COLUMN + 2]]  # user includes guest
    cpus = sum(_ONE_CPU.match(line) is not None for line in lines)
    return MachineCpu(sum(columns_s), columns_s[_STEAL_COLUMN], sum(columns_s[_IDLE_COLUMNS]), cpus)


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


def is_stolen(share: float | None) -> bool:
    """Return whether so much CPU time was stolen that messages name it as the cause of the generator's delay."""
    return share is not None and share >= _STOLEN_FROM
