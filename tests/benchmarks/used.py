"""What a process has used since its start, from outside of it."""

import ctypes
import time
from dataclasses import dataclass
from pathlib import Path

_BYTES_PER_KIB = 1_024
_BYTES_PER_MB = 1_000_000


@dataclass(frozen=True, slots=True)
class Used:
    """The CPU of a process by an instant (monotonic), and the memory that it holds then."""

    at_s: float
    cpu_s: float
    resident_mb: float
    proportional_mb: float


def used(pid: int) -> Used:
    """Return what a process that runs has used."""
    fields = (line.split() for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines())
    mb = {name: int(value) * _BYTES_PER_KIB / _BYTES_PER_MB for name, value, *_ in fields if name in ("Rss:", "Pss:")}
    return Used(time.monotonic(), _cpu_s(pid), mb["Rss:"], mb["Pss:"])


def _cpu_s(pid: int) -> float:
    """Return the CPU time of a process and all its threads, to the nanosecond."""
    clock = ctypes.c_int()
    error = ctypes.CDLL(None).clock_getcpuclockid(pid, ctypes.byref(clock))
    assert not error, f"process {pid} has no CPU clock: error {error}"
    return time.clock_gettime(clock.value)
