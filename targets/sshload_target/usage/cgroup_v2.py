"""Usage from cgroup v2 (Linux, Documentation/admin-guide/cgroup-v2.rst)."""

from dataclasses import dataclass
from pathlib import Path

from sshload_target.usage.cgroup_files import cgroup_and_parents, parse_flat_keyed, read_mounts, read_own_paths
from sshload_target.usage.values import Limits, Usage, smallest

_US_PER_S = 1_000_000
_NO_LIMIT = "max"
_NEEDED = ("cpu.stat", "memory.current", "memory.stat", "cgroup.procs")


@dataclass(frozen=True, slots=True)
class CgroupV2Reader:
    """Reads one cgroup's directory, and the limits in those above it, as far as they are seen."""

    path: Path
    above: tuple[Path, ...] = ()

    def read(self) -> Usage:
        """Return the usage now. memory.peak is there from Linux 5.19 on."""
        cpu = parse_flat_keyed((self.path / "cpu.stat").read_text())
        memory = parse_flat_keyed((self.path / "memory.stat").read_text())
        charged = int((self.path / "memory.current").read_text())
        peak = self.path / "memory.peak"
        return Usage(
            cpu_s=cpu["usage_usec"] / _US_PER_S,
            cpu_throttled_s=cpu.get("throttled_usec", 0) / _US_PER_S,
            memory_bytes=max(0, charged - memory.get("inactive_file", 0)),
            memory_is_upper_bound=False,
            memory_peak_bytes=int(peak.read_text()) if peak.exists() else 0,
            processes=len((self.path / "cgroup.procs").read_text().splitlines()),
            oom_kills=self._events("memory.events").get("oom_kill", 0),
            refused_forks=self._events("pids.events").get("max", 0),
        )

    def limits(self) -> Limits:
        """Return the limits now: a running container's can be changed."""
        places = (self.path, *self.above)
        return Limits(
            cpu_cores=smallest(_cpu_cores(place) for place in places),
            memory_bytes=smallest(_limit(place / "memory.max") for place in places),
            processes=smallest(_limit(place / "pids.max") for place in places),
        )

    def _events(self, name: str) -> dict[str, int]:
        events = self.path / name
        return parse_flat_keyed(events.read_text()) if events.exists() else {}


def _limit(file: Path) -> int | None:
    """Return a limit, None where the file says that there is none, or is not there (no such controller; the root)."""
    text = file.read_text().strip() if file.exists() else _NO_LIMIT
    return None if text == _NO_LIMIT else int(text)


def _cpu_cores(place: Path) -> float | None:
    file = place / "cpu.max"
    quota, period = file.read_text().split() if file.exists() else (_NO_LIMIT, "")
    return None if quota == _NO_LIMIT else int(quota) / int(period)


def find_reader(own_cgroups: str, mountinfo: str) -> CgroupV2Reader | None:
    """Return the reader of our cgroup; None where there is none, or where it is the machine's own (no memory.current).

    Both arguments are texts, of /proc/self/cgroup and of /proc/self/mountinfo.
    """
    path = read_own_paths(own_cgroups).get("")
    for mount in read_mounts(mountinfo):
        if mount.version == 2 and path is not None:  # noqa: PLR2004 -- the version is its name
            place, *above = cgroup_and_parents(mount, path)
            if all((place / name).is_file() for name in _NEEDED):
                return CgroupV2Reader(place, tuple(above))
    return None
