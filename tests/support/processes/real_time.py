"""What the kernel grants this process of real-time priority, read from the kernel, and not found out by a try."""

import os
from pathlib import Path

_CAP_SYS_NICE = 23
_CPU_CGROUPS_V1 = Path("/sys/fs/cgroup/cpu")


def is_granted() -> bool:
    """Return whether a child of this process may be given real-time priority: sched(7), capabilities(7).

    A container may lack the capability. A kernel with RT_GROUP_SCHED has a share for each cpu cgroup of version 1,
    which is 0 in a new one.
    """
    return _has_capability() and _cgroup_has_a_share()


def granted_policy() -> int:
    """Return the policy of a process that is given real-time priority, where the kernel grants it."""
    return os.SCHED_RR if is_granted() else os.SCHED_OTHER


def _has_capability() -> bool:
    status = Path("/proc/self/status").read_text()
    return bool(int(status.split("CapEff:")[1].split()[0], 16) & 1 << _CAP_SYS_NICE)


def _cgroup_has_a_share() -> bool:
    entries = (line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines())
    own = next((path for _, controllers, path in entries if "cpu" in controllers.split(",")), "/")
    # A container may see the path that its host knows, and its own cgroup alone, as the topmost.
    for place in (_CPU_CGROUPS_V1 / own.lstrip("/"), _CPU_CGROUPS_V1):
        share = place / "cpu.rt_runtime_us"
        if share.exists():
            return int(share.read_text()) != 0
    return True
