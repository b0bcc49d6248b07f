"""Limits: what a container may use at most."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

_Limit = TypeVar("_Limit", int, float)


@dataclass(frozen=True, slots=True)
class Limits:
    """CPU in cores, memory, and processes (each thread counts as one); None if no limit is visible."""

    cpu_cores: float | None = None
    memory_bytes: int | None = None
    processes: int | None = None


def smallest(limits: Iterable[_Limit | None]) -> _Limit | None:
    """Return the one that binds: the smallest of those that there are, None if there is none."""
    return min((limit for limit in limits if limit is not None), default=None)
