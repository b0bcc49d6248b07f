"""TargetStats: what a managed target saw, as its `/stats` answers. Counters only grow while the target lives."""

from dataclasses import dataclass

from sshload_contract.bounds import Amount, Count
from sshload_contract.steal import MachineCpu

TARGET_STATS_VERSION = 3


@dataclass(frozen=True, slots=True)
class TargetStats:
    """Counts from sshd's log and the container's resources, at `at_unix_s`.

    That time is right when the target starts, and no step of its machine's clock changes it afterwards.

    sshd does not tell every drop (log_ratelimit_init in sshd.c since 10.0, LogLevel INFO before), so the `dropped_*`
    counts may be lower bounds and say so in `dropped_is_lower_bound`. Drops by PerSourceMaxStartups count as
    `dropped_max_startups`, as sshd's log has it. `auth_failed` counts connections that had named a user and ended
    without a login. `cpu_s` is user and system time of the container since its start; `memory_bytes` its working set
    now, the kernel's memory for it included; outside of a container it is that of its processes, and an upper bound
    since what they share counts for each of them. `machine_cpu` is that of the whole machine, None where its kernel
    does not tell. `sessions` are the logged-in connections now; `listen_overflows`
    those of the network namespace.

    The limits are the container's, None where it has none or the kernel does not tell; that of the processes counts
    their threads too. `oom_kills` are the processes killed for want of memory, `refused_forks` those that could not be
    started for a limit of their number, as far as the kernel or sshd's log tells.
    """

    version: int
    at_unix_s: Amount
    sshd_version: str
    accepted: Count
    auth_failed: Count
    dropped_max_startups: Count
    dropped_penalty: Count
    dropped_is_lower_bound: bool
    sessions: Count
    cpu_s: Amount
    cpu_throttled_s: Amount
    cpu_limit_cores: Amount | None
    machine_cpu: MachineCpu | None
    memory_bytes: Count
    memory_is_upper_bound: bool
    memory_peak_bytes: Count
    memory_limit_bytes: Count | None
    processes: Count
    processes_limit: Count | None
    oom_kills: Count
    refused_forks: Count
    listen_overflows: Count


COUNTERS = (
    "accepted",
    "auth_failed",
    "dropped_max_startups",
    "dropped_penalty",
    "cpu_s",
    "cpu_throttled_s",
    "oom_kills",
    "refused_forks",
    "listen_overflows",
)
"""The fields that only grow: one that has fallen tells that the target was started anew."""
