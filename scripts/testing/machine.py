"""The machine: the cache of its checkouts, its CPUs' speed, and what they did, by /proc/stat (proc_stat(5))."""

import os
import time
import zlib
from dataclasses import dataclass
from pathlib import Path

from testing.layers import CORES

CACHE = Path(
    os.environ.get("SSHLOAD_CACHE") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "sshload")
)
"""The folder of what is made once for all checkouts on this machine."""
_STAT = Path("/proc/stat")
_IDLE, _IOWAIT, _STEAL = 3, 4, 7
_COUNTED = 8  # guest time, in the fields after these, is part of user time


@dataclass(frozen=True, slots=True)
class CpuTimes:
    """Ticks of all CPUs since boot: in total, idle (or waiting for a disk), and stolen by the host of this machine."""

    total: int
    idle: int
    stolen: int

    def share_since(self, before: "CpuTimes") -> "CpuShares":
        """Return how the CPUs' time was used since `before`."""
        total = max(self.total - before.total, 1)
        return CpuShares((self.idle - before.idle) / total, (self.stolen - before.stolen) / total)


@dataclass(frozen=True, slots=True)
class CpuShares:
    """The shares of the CPUs' time that were idle and that the host took away, from 0 to 1."""

    idle: float
    stolen: float

    def busy_s(self, seconds: float) -> float:
        """Return the CPU time that all processes together took in this many seconds."""
        return seconds * CORES * (1 - self.idle - self.stolen)


def cpu_times() -> CpuTimes:
    """Return the times of all CPUs together, now."""
    first = _STAT.read_text(encoding="ascii").splitlines()[0]
    ticks = [int(word) for word in first.split()[1 : 1 + _COUNTED]]
    return CpuTimes(sum(ticks), ticks[_IDLE] + ticks[_IOWAIT], ticks[_STEAL])


def fixed_work_s() -> float:
    """Return the CPU time, in seconds, of a fixed piece of work, by which runs on different machines are compared.

    The C library zlib does the work, because a loop of Python depends on how the interpreter was compiled.
    """
    text = b" ".join(b"%d" % (number * number) for number in range(100_000))
    began = time.thread_time()
    zlib.compress(text)
    return time.thread_time() - began
