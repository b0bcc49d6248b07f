"""Usage: what a container uses."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """CPU time and throttled time since the container's start, memory and processes now.

    `memory_bytes` is the working set: what is charged, less page cache that the kernel can drop at once; where
    `memory_is_upper_bound`, what processes share counts for each of them. `memory_peak_bytes` is 0 where the source
    keeps no peak. `oom_kills` are the processes that were killed for want of memory, `refused_forks` those that could
    not be started for a limit of their number, both since the container's start, as far as the source tells.
    """

    cpu_s: float
    cpu_throttled_s: float
    memory_bytes: int
    memory_is_upper_bound: bool
    memory_peak_bytes: int
    processes: int
    oom_kills: int
    refused_forks: int


def flat_keyed(text: str) -> dict[str, int]:
    """Return the numbers of a cgroup file of `name value` lines."""
    pairs = (line.split() for line in text.splitlines())
    return {name: int(value) for name, value in pairs}
