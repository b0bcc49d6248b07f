"""Usage from the cgroups of this process, by the files of v1 and of v2.

The files are those of Linux, Documentation/admin-guide/cgroup-v1 and Documentation/admin-guide/cgroup-v2.rst.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sshload_contract.wire.target import Usage

from sshload_target.usage.values import Limits, smallest

_NS_PER_S = 1_000_000_000
_NEEDED_OF_V1 = (
    ("cpuacct", "cpuacct.usage"),
    ("memory", "memory.usage_in_bytes"),
    ("memory", "memory.stat"),
    ("memory", "cgroup.procs"),
)
_NO_MEMORY_LIMIT_FROM_BYTES = 2**62  # without a limit the kernel says LONG_MAX, rounded down to whole pages

_US_PER_S = 1_000_000
_NO_V2_LIMIT = "max"
_NEEDED_OF_V2 = ("cpu.stat", "memory.current", "memory.stat", "cgroup.procs")


@dataclass(frozen=True, slots=True)
class _CgroupMount:
    """One cgroup file system: the cgroup at its top, where it is mounted, and its v1 controllers (v2: none)."""

    version: int
    top: str
    mounted_at: Path
    controllers: frozenset[str]


def _read_mounts(mountinfo: str) -> Iterator[_CgroupMount]:
    """Yield the cgroup mounts in the text of /proc/self/mountinfo."""
    for line in mountinfo.splitlines():
        mount, _, file_system = line.partition(" - ")
        _, _, _, top, mounted_at, *_ = mount.split(" ")
        kind, _, options, *_ = file_system.split(" ")  # what is mounted may be called nothing at all
        if kind == "cgroup2":
            yield _CgroupMount(2, _unescaped(top), Path(_unescaped(mounted_at)), frozenset())
        elif kind == "cgroup":
            yield _CgroupMount(1, _unescaped(top), Path(_unescaped(mounted_at)), frozenset(options.split(",")))


def _unescaped(path: str) -> str:
    """Return a path of mountinfo, in which the kernel writes blanks and backslashes in octal (proc(5))."""
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), path)


def _read_own_paths(own_cgroups: str) -> dict[str, str]:
    """Return the cgroup path by v1 controller in the text of /proc/self/cgroup; that of v2 has the key ''."""
    paths = {}
    for line in own_cgroups.splitlines():
        _, controllers, path = line.split(":", 2)
        paths.update(dict.fromkeys(controllers.split(","), path))
    return paths


def _cgroup_directory(mount: _CgroupMount, path: str) -> Path:
    """Return the directory of the cgroup `path` below `mount`.

    In a container without a cgroup namespace the path is the host's while the mount shows the container's own cgroup
    at its top: then that is the one.
    """
    inside = path.removeprefix(mount.top) if mount.top != "/" else path
    seen = mount.mounted_at / inside.lstrip("/")
    return seen if seen.is_dir() else mount.mounted_at


def _cgroup_and_parents(mount: _CgroupMount, path: str) -> tuple[Path, ...]:
    """Return the directories of the cgroup `path` and of its visible ancestors, whose limits apply to it too."""
    place = _cgroup_directory(mount, path)
    return tuple(seen for seen in (place, *place.parents) if seen.is_relative_to(mount.mounted_at))


def _parse_flat_keyed(text: str) -> dict[str, int]:
    """Return the numbers of a cgroup file of `name value` lines."""
    pairs = (line.split() for line in text.splitlines())
    return {name: int(value) for name, value in pairs}


@dataclass(frozen=True, slots=True)
class CgroupV1Reader:
    """Reads the directories of the controllers cpuacct, memory, cpu and pids.

    Each is the container's own and those above it, as far as they are seen; cpu and pids are empty if there is none.
    """

    cpuacct: tuple[Path, ...]
    memory: tuple[Path, ...]
    cpu: tuple[Path, ...]
    pids: tuple[Path, ...]

    def read(self) -> Usage:
        """Return the usage now."""
        own = self.memory[0]
        peak = own / "memory.max_usage_in_bytes"
        memory = _parse_flat_keyed((own / "memory.stat").read_text())
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
            cpu_cores=smallest(_v1_cpu_cores(place) for place in self.cpu),
            memory_bytes=smallest(_v1_memory_bytes(place) for place in self.memory),
            processes=smallest(_v1_processes(place) for place in self.pids),
        )

    def _throttled_s(self) -> float:
        return _read_counts(self.cpu, "cpu.stat").get("throttled_time", 0) / _NS_PER_S


def _read_counts(places: tuple[Path, ...], name: str) -> dict[str, int]:
    """Return the numbers in a file of the container's own cgroup, none if it is not there."""
    file = places[0] / name if places else None
    return _parse_flat_keyed(file.read_text()) if file is not None and file.exists() else {}


def _v1_cpu_cores(place: Path) -> float | None:
    quota, period = place / "cpu.cfs_quota_us", place / "cpu.cfs_period_us"
    if not quota.exists():
        return None
    quota_us = int(quota.read_text())
    return quota_us / int(period.read_text()) if quota_us > 0 else None


def _v1_memory_bytes(place: Path) -> int | None:
    file = place / "memory.limit_in_bytes"
    limit = int(file.read_text()) if file.exists() else _NO_MEMORY_LIMIT_FROM_BYTES
    return limit if limit < _NO_MEMORY_LIMIT_FROM_BYTES else None


def _v1_processes(place: Path) -> int | None:
    file = place / "pids.max"
    text = file.read_text().strip() if file.exists() else "max"
    return None if text == "max" else int(text)


def find_v1_reader(own_cgroups: str, mountinfo: str) -> CgroupV1Reader | None:
    """Return the reader of our cgroups; None if there are none, or if they are the machine's own.

    Both arguments are texts, of /proc/self/cgroup and of /proc/self/mountinfo.
    """
    paths = _read_own_paths(own_cgroups)
    places: dict[str, tuple[Path, ...]] = {}
    for mount in _read_mounts(mountinfo):
        for controller in mount.controllers & paths.keys():
            seen = _cgroup_and_parents(mount, paths[controller])
            if not (seen[0] / "release_agent").exists():  # only at the very top: all of the machine
                places[controller] = seen
    if any(not (places[name][0] / file).is_file() for name, file in _NEEDED_OF_V1 if name in places):
        return None  # another kernel's, such as gVisor's, that has cgroups without these files
    if "cpuacct" not in places or "memory" not in places:
        return None
    return CgroupV1Reader(places["cpuacct"], places["memory"], places.get("cpu", ()), places.get("pids", ()))


@dataclass(frozen=True, slots=True)
class CgroupV2Reader:
    """Reads one cgroup's directory, and the limits in those above it, as far as they are seen."""

    path: Path
    above: tuple[Path, ...] = ()

    def read(self) -> Usage:
        """Return the usage now. memory.peak is there from Linux 5.19 on."""
        cpu = _parse_flat_keyed((self.path / "cpu.stat").read_text())
        memory = _parse_flat_keyed((self.path / "memory.stat").read_text())
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
            cpu_cores=smallest(_v2_cpu_cores(place) for place in places),
            memory_bytes=smallest(_v2_limit(place / "memory.max") for place in places),
            processes=smallest(_v2_limit(place / "pids.max") for place in places),
        )

    def _events(self, name: str) -> dict[str, int]:
        events = self.path / name
        return _parse_flat_keyed(events.read_text()) if events.exists() else {}


def _v2_limit(file: Path) -> int | None:
    """Return a limit, None if the file says that there is none, or is not there (no such controller; the root)."""
    text = file.read_text().strip() if file.exists() else _NO_V2_LIMIT
    return None if text == _NO_V2_LIMIT else int(text)


def _v2_cpu_cores(place: Path) -> float | None:
    file = place / "cpu.max"
    quota, period = file.read_text().split() if file.exists() else (_NO_V2_LIMIT, "")
    return None if quota == _NO_V2_LIMIT else int(quota) / int(period)


def find_v2_reader(own_cgroups: str, mountinfo: str) -> CgroupV2Reader | None:
    """Return the reader of our cgroup; None if there is none, or if it is the machine's own (no memory.current).

    Both arguments are texts, of /proc/self/cgroup and of /proc/self/mountinfo.
    """
    path = _read_own_paths(own_cgroups).get("")
    for mount in _read_mounts(mountinfo):
        if mount.version == 2 and path is not None:  # noqa: PLR2004 -- the version is its name
            place, *above = _cgroup_and_parents(mount, path)
            if all((place / name).is_file() for name in _NEEDED_OF_V2):
                return CgroupV2Reader(place, tuple(above))
    return None
