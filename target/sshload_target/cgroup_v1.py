"""Usage from cgroup v1 (Linux, Documentation/admin-guide/cgroup-v1)."""

from dataclasses import dataclass
from pathlib import Path

from sshload_target.cgroup_mounts import directory, read_mounts, read_own_paths
from sshload_target.usage import Usage, flat_keyed

_NS_PER_S = 1_000_000_000


@dataclass(frozen=True, slots=True)
class CgroupV1Reader:
    """Reads the directories of the controllers cpuacct and memory, and of cpu where there is one."""

    cpuacct: Path
    memory: Path
    cpu: Path | None

    def read(self) -> Usage:
        """Return the usage now."""
        memory = flat_keyed((self.memory / "memory.stat").read_text())
        charged = int((self.memory / "memory.usage_in_bytes").read_text())
        return Usage(
            cpu_s=int((self.cpuacct / "cpuacct.usage").read_text()) / _NS_PER_S,
            cpu_throttled_s=self._throttled_s(),
            memory_bytes=max(0, charged - memory["total_inactive_file"]),
            memory_peak_bytes=int((self.memory / "memory.max_usage_in_bytes").read_text()),
            processes=len((self.memory / "cgroup.procs").read_text().splitlines()),
        )

    def _throttled_s(self) -> float:
        if self.cpu is None or not (self.cpu / "cpu.stat").is_file():
            return 0.0
        return flat_keyed((self.cpu / "cpu.stat").read_text()).get("throttled_time", 0) / _NS_PER_S


def find_reader(own_cgroups: str, mountinfo: str) -> CgroupV1Reader | None:
    """Return the reader of our cgroups; None where there are none, or where they are the machine's own.

    Both arguments are texts, of /proc/self/cgroup and of /proc/self/mountinfo.
    """
    paths = read_own_paths(own_cgroups)
    places: dict[str, Path] = {}
    for mount in read_mounts(mountinfo):
        for controller in mount.controllers & paths.keys():
            place = directory(mount, paths[controller])
            if not (place / "release_agent").exists():  # only at the very top: all of the machine
                places[controller] = place
    if "cpuacct" not in places or "memory" not in places:
        return None
    return CgroupV1Reader(places["cpuacct"], places["memory"], places.get("cpu"))
