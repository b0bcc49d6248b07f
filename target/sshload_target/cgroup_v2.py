"""Usage from cgroup v2 (Linux, Documentation/admin-guide/cgroup-v2.rst)."""

from dataclasses import dataclass
from pathlib import Path

from sshload_target.cgroup_mounts import directory, read_mounts, read_own_paths
from sshload_target.usage import Usage, flat_keyed

_US_PER_S = 1_000_000
_NEEDED = ("cpu.stat", "memory.current", "memory.stat", "cgroup.procs")


@dataclass(frozen=True, slots=True)
class CgroupV2Reader:
    """Reads one cgroup's directory."""

    path: Path

    def read(self) -> Usage:
        """Return the usage now. memory.peak is there from Linux 5.19 on."""
        cpu = flat_keyed((self.path / "cpu.stat").read_text())
        memory = flat_keyed((self.path / "memory.stat").read_text())
        charged = int((self.path / "memory.current").read_text())
        peak = self.path / "memory.peak"
        return Usage(
            cpu_s=cpu["usage_usec"] / _US_PER_S,
            cpu_throttled_s=cpu.get("throttled_usec", 0) / _US_PER_S,
            memory_bytes=max(0, charged - memory["inactive_file"]),
            memory_peak_bytes=int(peak.read_text()) if peak.exists() else 0,
            processes=len((self.path / "cgroup.procs").read_text().splitlines()),
        )


def find_reader(own_cgroups: str, mountinfo: str) -> CgroupV2Reader | None:
    """Return the reader of our cgroup; None where there is none, or where it is the machine's own (no memory.current).

    Both arguments are texts, of /proc/self/cgroup and of /proc/self/mountinfo.
    """
    path = read_own_paths(own_cgroups).get("")
    for mount in read_mounts(mountinfo):
        if mount.version == 2 and path is not None:  # noqa: PLR2004 -- the version is its name
            place = directory(mount, path)
            if all((place / name).is_file() for name in _NEEDED):
                return CgroupV2Reader(place)
    return None
