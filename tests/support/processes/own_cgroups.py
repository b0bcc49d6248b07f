"""Real cgroups of a test's own, of whichever version this machine has: for root, who can make some."""

import errno
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from running_target import wait_until

_ROOT = Path("/sys/fs/cgroup")
_PERIOD_US = 100_000


@dataclass(frozen=True, slots=True)
class OwnCgroups:
    """The directories of one cgroup: one in v2, one for each controller in v1."""

    places: tuple[Path, ...]

    def put(self, pid: int) -> None:
        """Put a process and what it will start there."""
        for place in self.places:
            (place / "cgroup.procs").write_text(str(pid))


@contextmanager
def own_cgroups(*, cpu_cores: float, memory_bytes: int, processes: int) -> Iterator[OwnCgroups]:
    """Make cgroups with these limits. Whatever is in them must have ended before the end."""
    quota_us = round(cpu_cores * _PERIOD_US)
    of_v2 = {"": {"cpu.max": f"{quota_us} {_PERIOD_US}", "memory.max": memory_bytes, "pids.max": processes}}
    of_v1 = {
        "cpu": {"cpu.cfs_period_us": _PERIOD_US, "cpu.cfs_quota_us": quota_us},
        "cpuacct": {},
        "memory": {"memory.limit_in_bytes": memory_bytes},
        "pids": {"pids.max": processes},
    }
    limits = of_v2 if (_ROOT / "cgroup.controllers").exists() else of_v1
    with ExitStack() as made:
        places = []
        for controller, files in limits.items():
            place = _ROOT / controller / f"sshload-test-{os.getpid()}"
            place.mkdir()
            made.callback(_remove, place)
            for name, value in files.items():
                (place / name).write_text(str(value))
            places.append(place)
        yield OwnCgroups(tuple(places))


def _remove(place: Path) -> None:
    wait_until(lambda: _is_removed(place), f"nothing left in {place}")


def _is_removed(place: Path) -> bool:
    """Remove the directory if nothing is in it any more, whatever it lists; tell whether it is gone."""
    try:
        place.rmdir()
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        return False
    return True
