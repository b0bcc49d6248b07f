"""The cgroups of this process in the file system: mounts, paths and the format of their files."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class CgroupMount:
    """One cgroup file system: the cgroup at its top, where it is mounted, and its v1 controllers (v2: none)."""

    version: int
    top: str
    mounted_at: Path
    controllers: frozenset[str]


def read_mounts(mountinfo: str) -> Iterator[CgroupMount]:
    """Yield the cgroup mounts in the text of /proc/self/mountinfo."""
    for line in mountinfo.splitlines():
        mount, _, file_system = line.partition(" - ")
        _, _, _, top, mounted_at, *_ = mount.split(" ")
        kind, _, options, *_ = file_system.split(" ")  # what is mounted may be called nothing at all
        if kind == "cgroup2":
            yield CgroupMount(2, _unescaped(top), Path(_unescaped(mounted_at)), frozenset())
        elif kind == "cgroup":
            yield CgroupMount(1, _unescaped(top), Path(_unescaped(mounted_at)), frozenset(options.split(",")))


def _unescaped(path: str) -> str:
    """Return a path of mountinfo, in which the kernel writes blanks and backslashes in octal (proc(5))."""
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), path)


def read_own_paths(own_cgroups: str) -> dict[str, str]:
    """Return the cgroup path by v1 controller in the text of /proc/self/cgroup; that of v2 has the key ''."""
    paths = {}
    for line in own_cgroups.splitlines():
        _, controllers, path = line.split(":", 2)
        paths.update(dict.fromkeys(controllers.split(","), path))
    return paths


def cgroup_directory(mount: CgroupMount, path: str) -> Path:
    """Return the directory of the cgroup `path` below `mount`.

    In a container without a cgroup namespace the path is the host's while the mount shows the container's own cgroup
    at its top: then that is the one.
    """
    inside = path.removeprefix(mount.top) if mount.top != "/" else path
    seen = mount.mounted_at / inside.lstrip("/")
    return seen if seen.is_dir() else mount.mounted_at


def cgroup_and_parents(mount: CgroupMount, path: str) -> tuple[Path, ...]:
    """Return the directories of the cgroup `path` and of its visible ancestors, whose limits apply to it too."""
    place = cgroup_directory(mount, path)
    return tuple(seen for seen in (place, *place.parents) if seen.is_relative_to(mount.mounted_at))


def parse_flat_keyed(text: str) -> dict[str, int]:
    """Return the numbers of a cgroup file of `name value` lines."""
    pairs = (line.split() for line in text.splitlines())
    return {name: int(value) for name, value in pairs}
