"""Usage and Limits: what a container uses, and what it may use at most."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

_Limit = TypeVar("_Limit", int, float)


@dataclass(frozen=True, slots=True)
class Usage:
    """CPU time and throttled time since the container's start, memory and processes now.

    `memory_bytes` is the working set: what is charged, less page cache that the kernel can drop at once; where
    `memory_is_upper_bound`, what processes share counts for each of them. `memory_peak_bytes` is 0 if the source
    keeps no peak. `oom_kills` are the processes that were killed for lack of memory, `refused_forks` those that could
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


@dataclass(frozen=True, slots=True)
class Limits:
    """CPU in cores, memory, and processes (each thread counts as one); None if no limit is visible."""

    cpu_cores: float | None = None
    memory_bytes: int | None = None
    processes: int | None = None


def smallest(limits: Iterable[_Limit | None]) -> _Limit | None:
    """Return the one that binds: the smallest of those that there are, None if there is none."""
    return min((limit for limit in limits if limit is not None), default=None)
