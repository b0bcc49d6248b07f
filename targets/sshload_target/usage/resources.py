"""Resources: CPU and memory of the container, from cgroup v2, else v1, else of the process tree under us."""

import os
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from sshload_contract.wire.target import Usage

from sshload_target.usage.cgroups import find_v1_reader, find_v2_reader
from sshload_target.usage.process_tree import ProcessTreeReader
from sshload_target.usage.values import Limits


class UsageReader(Protocol):
    """One source of Usage and Limits."""

    def read(self) -> Usage:
        """Return the usage now."""
        ...

    def limits(self) -> Limits:
        """Return the limits now."""
        ...


@dataclass(frozen=True, slots=True)
class CgroupFiles:
    """The kernel's files about the cgroups of this process."""

    own_cgroups: Path = Path("/proc/self/cgroup")
    mounts: Path = Path("/proc/self/mountinfo")


def choose_reader(files: CgroupFiles | None = None) -> UsageReader:
    """Return the reader to use in this process.

    A cgroup is the container's only where we are PID 1; elsewhere it is shared with whoever started us, and only the
    process tree is ours.
    """
    if os.getpid() != 1:
        return ProcessTreeReader()
    files = files or CgroupFiles()
    try:
        own, mounts = files.own_cgroups.read_text(), files.mounts.read_text()
    except FileNotFoundError:  # a kernel without cgroups
        return ProcessTreeReader()
    return find_v2_reader(own, mounts) or find_v1_reader(own, mounts) or ProcessTreeReader()


class Resources:
    """Usage over time, from any thread: totals never fall, and the memory peak is at least the highest reading."""

    def __init__(self, reader: UsageReader) -> None:
        self._reader = reader
        self._lock = threading.Lock()
        self._last: Usage | None = None

    def read(self) -> Usage:
        """Return the usage now."""
        with self._lock:
            now = self._reader.read()
            last = self._last or now
            self._last = replace(
                now,
                cpu_s=max(now.cpu_s, last.cpu_s),
                cpu_throttled_s=max(now.cpu_throttled_s, last.cpu_throttled_s),
                memory_peak_bytes=max(now.memory_peak_bytes, now.memory_bytes, last.memory_peak_bytes),
            )
            return self._last

    def limits(self) -> Limits:
        """Return the limits now."""
        return self._reader.limits()
