"""Usage from cgroup v1 (Linux, Documentation/admin-guide/cgroup-v1)."""

from dataclasses import dataclass
from pathlib import Path

from sshload_target.usage.cgroup_files import cgroup_and_parents, parse_flat_keyed, read_mounts, read_own_paths
from sshload_target.usage.values import Limits, Usage, smallest

_NS_PER_S = 1_000_000_000
_NEEDED = (
    ("cpuacct", "cpuacct.usage"),
    ("memory", "memory.usage_in_bytes"),
    ("memory", "memory.stat"),
    ("memory", "cgroup.procs"),
)
_NO_MEMORY_LIMIT_FROM_BYTES = 2**62  # without a limit the kernel says LONG_MAX, rounded down to whole pages


@dataclass(frozen=True, slots=True)
class CgroupV1Reader:
    """Reads the directories of the controllers cpuacct, memory, cpu and pids.

    Each is the container's own and those above it, as far as they are seen; cpu and pids are empty where there is none.
    """

    cpuacct: tuple[Path, ...]
    memory: tuple[Path, ...]
    cpu: tuple[Path, ...]
    pids: tuple[Path, ...]

    def read(self) -> Usage:
        """Return the usage now."""
        own = self.memory[0]
        peak = own / "memory.max_usage_in_bytes"
        memory = parse_flat_keyed((own / "memory.stat").read_text())
        charged = int((own / "memory.usage_in_bytes").read_text())
        return Usage(
            cpu_s=int((self.cpuacct[0] / "cpuacct.usage").read_text()) / _NS_PER_S,
            cpu_throttled_s=self._throttled_s(),
            memory_bytes=max(0, charged - memory.get("total_inactive_file", 0)),
            memory_is_upper_bound=False,
            memory_peak_bytes=int(peak.read_text()) if peak.exists() else 0,
            processes=len((own / "cgroup.procs").read_text().splitlines()),
            oom_kills=_read_counts(self.memory, "memory.oom_control").get("oom_kill", 0),
            refused_forks=_read_counts(self.pids, "pids.events").get("max", 0),
        )

    def limits(self) -> Limits:
        """Return the limits now: a running container's can be changed."""
        return Limits(
            cpu_cores=smallest(_cpu_cores(place) for place in self.cpu),
            memory_bytes=smallest(_memory_bytes(place) for place in self.memory),
            processes=smallest(_processes(place) for place in self.pids),
        )

    def _throttled_s(self) -> float:
        return _read_counts(self.cpu, "cpu.stat").get("throttled_time", 0) / _NS_PER_S


def _read_counts(places: tuple[Path, ...], name: str) -> dict[str, int]:
    """Return the numbers in a file of the container's own cgroup, none where it is not there."""
    file = places[0] / name if places else None
    return parse_flat_keyed(file.read_text()) if file is not None and file.exists() else {}


def _cpu_cores(place: Path) -> float | None:
    quota, period = place / "cpu.cfs_quota_us", place / "cpu.cfs_period_us"
    if not quota.exists():
        return None
    quota_us = int(quota.read_text())
    return quota_us / int(period.read_text()) if quota_us > 0 else None


def _memory_bytes(place: Path) -> int | None:
    file = place / "memory.limit_in_bytes"
    limit = int(file.read_text()) if file.exists() else _NO_MEMORY_LIMIT_FROM_BYTES
    return limit if limit < _NO_MEMORY_LIMIT_FROM_BYTES else None


def _processes(place: Path) -> int | None:
    file = place / "pids.max"
    text = file.read_text().strip() if file.exists() else "max"
    return None if text == "max" else int(text)


def find_reader(own_cgroups: str, mountinfo: str) -> CgroupV1Reader | None:
    """Return the reader of our cgroups; None where there are none, or where they are the machine's own.

    Both arguments are texts, of /proc/self/cgroup and of /proc/self/mountinfo.
    """
    paths = read_own_paths(own_cgroups)
    places: dict[str, tuple[Path, ...]] = {}
    for mount in read_mounts(mountinfo):
        for controller in mount.controllers & paths.keys():
            seen = cgroup_and_parents(mount, paths[controller])
            if not (seen[0] / "release_agent").exists():  # only at the very top: all of the machine
                places[controller] = seen
    if any(not (places[name][0] / file).is_file() for name, file in _NEEDED if name in places):
        return None  # another kernel's, such as gVisor's, that has cgroups without these files
    if "cpuacct" not in places or "memory" not in places:
        return None
    return CgroupV1Reader(places["cpuacct"], places["memory"], places.get("cpu", ()), places.get("pids", ()))
