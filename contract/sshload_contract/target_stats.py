"""TargetStats: what a managed target saw, as its `/stats` answers. Counters only grow while the target lives."""

from dataclasses import dataclass

TARGET_STATS_VERSION = 1


@dataclass(frozen=True, slots=True)
class TargetStats:
    """Counts from sshd's log and the container's resources, at `at_unix_s`.

    sshd limits the rate of its own drop lines (log_ratelimit_init in sshd.c since 9.8), so the `dropped_*` counts are
    lower bounds and say so in `dropped_is_lower_bound`. `cpu_s` is user and system time of the container since its
    start; `memory_bytes` its working set now; `sessions` the logged-in connections now.
    """

    version: int
    at_unix_s: float
    sshd_version: str
    accepted: int
    auth_failed: int
    dropped_max_startups: int
    dropped_penalty: int
    dropped_is_lower_bound: bool
    sessions: int
    cpu_s: float
    cpu_throttled_s: float
    memory_bytes: int
    memory_peak_bytes: int
    processes: int
    listen_overflows: int
