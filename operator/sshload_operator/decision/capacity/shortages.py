"""What a managed target was short of in a trial, by its own counts around it. The limits: docs/reference/validity.md.

A shortage is stated with the figure that shows it, and only where there is one. What these counts do not show (the
network, the kernel, PAM, an authentication backend) is not said to be enough.
"""

from collections.abc import Callable
from dataclasses import dataclass

from sshload_contract.judgement.own_delay import is_stolen
from sshload_contract.steal import stolen_share
from sshload_contract.wire.run_summary import Trial
from sshload_contract.wire.target import COUNTERS, TargetStats

from sshload_operator.state import Resource

CPU_SHARE_LIMIT = 0.9
THROTTLED_SHARE_LIMIT = 0.1
MEMORY_SHARE_LIMIT = 0.9
PROCESSES_SHARE_LIMIT = 0.95
_MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Shortage:
    """What there was too little of, with the figure that shows it, and what to change."""

    resource: Resource
    figure: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Strain:
    """A target before and after a trial, `readings` being all that there are of it."""

    before: TargetStats
    after: TargetStats
    readings: tuple[TargetStats, ...]

    @property
    def wall_s(self) -> float:
        """The time between the two readings."""
        return self.after.at_unix_s - self.before.at_unix_s

    @property
    def cores(self) -> float:
        """How many cores it used, on average over that time."""
        return self.grown("cpu_s") / self.wall_s

    def grown(self, name: str) -> float:
        """Return by how much a counter grew."""
        grown: float = getattr(self.after, name) - getattr(self.before, name)
        return grown


def strain(trial: Trial) -> Strain | None:
    """Return what a target went through, None where it was not read twice, or was started anew in between."""
    before, after = trial.target_before, trial.target_after
    if before is None or after is None:
        return None
    found = Strain(before, after, tuple(one for one in (before, trial.target_held, after) if one is not None))
    whole = found.wall_s > 0 and all(found.grown(name) >= 0 for name in COUNTERS)
    return found if whole else None


def shortages(found: Strain) -> tuple[Shortage, ...]:
    """Return what there was too little of, in the order of Resource."""
    said = ((resource, rule(found), remedy) for resource, (rule, remedy) in _RULES.items())
    return tuple(Shortage(resource, figure, remedy) for resource, figure, remedy in said if figure)


def at_ease(found: Strain) -> str:
    """Return how much CPU it used and how much it dropped, where that is no shortage, or not that of most trials."""
    limit = found.after.cpu_limit_cores
    if limit is None:
        cpu = f"{found.cores:.2f} cores used (it has no CPU limit, and how many the node has is not known here)"
    else:
        cpu = f"{found.cores:.2f} of {limit:g} cores used"
    dropped = found.grown("dropped_max_startups") + found.grown("dropped_penalty") + found.grown("listen_overflows")
    lower_bound = ", as far as its log tells" if found.after.dropped_is_lower_bound else ""
    return f"{cpu}{_stolen(found)}, {f'{dropped:.0f} connections' if dropped else 'no connection'} dropped{lower_bound}"


def _cpu(found: Strain) -> str:
    """Judge the mean over the whole trial, and what the limit held up, which shows shortages shorter than that."""
    limit = found.after.cpu_limit_cores
    if not limit:
        return ""
    if found.cores >= CPU_SHARE_LIMIT * limit:
        return f"it used {found.cores:.2f} of its limit of {limit:g} cores ({found.cores / limit:.0%}){_stolen(found)}"
    held_up_s = found.grown("cpu_throttled_s")
    if held_up_s > THROTTLED_SHARE_LIMIT * found.wall_s * max(1.0, limit):
        return (
            f"its limit of {limit:g} cores held it up for {held_up_s:.1f} s in {found.wall_s:.1f} s, "
            f"summed over the CPUs that it ran on{_stolen(found)}"
        )
    return ""


def _stolen(found: Strain) -> str:
    """Say what its machine's host took, where that is enough to slow it down."""
    share = stolen_share(found.before.machine_cpu, found.after.machine_cpu)
    if share is None or not is_stolen(share):
        return ""
    return f", while the host of its machine gave {share:.0%} of the machine's CPU time to others (steal)"


def _memory(found: Strain) -> str:
    """Leave the peak aside: it counts page cache, which the kernel takes back before anything is short."""
    kills = found.grown("oom_kills")
    if kills:
        return f"{kills:.0f} of its processes were killed for want of memory"
    fullest = max(found.readings, key=lambda reading: reading.memory_bytes)
    used, limit = fullest.memory_bytes, found.after.memory_limit_bytes
    if limit and not fullest.memory_is_upper_bound and used >= MEMORY_SHARE_LIMIT * limit:
        return f"its working set was {used / _MEGABYTE:.0f} of {limit / _MEGABYTE:.0f} MB ({used / limit:.0%})"
    return ""


def _processes(found: Strain) -> str:
    refused = found.grown("refused_forks")
    if refused:
        return f"{refused:.0f} processes could not be started"
    most, limit = max(reading.processes for reading in found.readings), found.after.processes_limit
    if limit and most >= PROCESSES_SHARE_LIMIT * limit:
        return f"{most} processes ran, of {limit} that it may have ({most / limit:.0%})"
    return ""


def _max_startups(found: Strain) -> str:
    return _dropped(found, "dropped_max_startups", "by MaxStartups or PerSourceMaxStartups")


def _penalties(found: Strain) -> str:
    return _dropped(found, "dropped_penalty", "for penalties of their source address (PerSourcePenalties)")


def _dropped(found: Strain, name: str, why: str) -> str:
    """Say what sshd told. What it leaves out of its log it tells with a later drop, which may be another trial's."""
    count = found.grown(name)
    if count and found.before.dropped_is_lower_bound:
        return f"connections were dropped {why}: sshd told of {count:.0f}, some of which may be of an earlier trial"
    at_least = "at least " if found.after.dropped_is_lower_bound else ""
    return f"{at_least}{count:.0f} connections were dropped {why}" if count else ""


def _listen_backlog(found: Strain) -> str:
    count = found.grown("listen_overflows")
    return f"{count:.0f} connections were lost to a full listen queue, before sshd saw them" if count else ""


_RULES: dict[Resource, tuple[Callable[[Strain], str], str]] = {
    Resource.CPU: (_cpu, "Raise spec.target.managed.resources.limits.cpu, or take a cheaper key exchange"),
    Resource.MEMORY: (_memory, "Raise spec.target.managed.resources.limits.memory"),
    Resource.PROCESSES: (_processes, "Raise the limit of processes of a pod (the kubelet's podPidsLimit)"),
    Resource.MAX_STARTUPS: (
        _max_startups,
        "Raise spec.target.managed.sshd.maxStartups (perSourceMaxStartups, where that is set)",
    ),
    Resource.PENALTIES: (_penalties, 'Set spec.target.managed.sshd.perSourcePenalties to "no"'),
    Resource.LISTEN_BACKLOG: (
        _listen_backlog,
        "The queue takes 128 connections, which sshd fixes: let fewer come at one instant",
    ),
}
