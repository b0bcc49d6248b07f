"""Usage: what a container uses."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """CPU time and throttled time since the container's start, memory and processes now.

    `memory_bytes` is the working set: what is charged, less page cache that the kernel can drop at once.
    `memory_peak_bytes` is 0 where the source keeps no peak.
    """

    cpu_s: float
    cpu_throttled_s: float
    memory_bytes: int
    memory_peak_bytes: int
    processes: int


def flat_keyed(text: str) -> dict[str, int]:
    """Return the numbers of a cgroup file of `name value` lines."""
    pairs = (line.split() for line in text.splitlines())
    return {name: int(value) for name, value in pairs}
