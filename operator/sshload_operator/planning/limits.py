"""What the installer lets tests do: how large one may be, and how many may run at once."""

from dataclasses import dataclass

from sshload_contract.load import ArrivalsLoad, BurstLoad, HoldLoad, Load, UsersLoad

from sshload_operator.api.durations import load_duration_s
from sshload_operator.api.spec import LoadTestSpec
from sshload_operator.planning.search import most_load


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of an installation; None stands for no limit.

    Of one test: `worker_pods`, `rate` in iterations per second, `connections` open at once, `duration_s` of warm-up and
    load, of a search its whole deadline. Of all tests: how many may run at once, in a namespace and altogether.
    """

    worker_pods: int | None = None
    rate: float | None = None
    connections: int | None = None
    duration_s: float | None = None
    tests_per_namespace: int | None = None
    tests: int | None = None


def beyond_limits(spec: LoadTestSpec, limits: Limits) -> str:
    """Return which limit a test exceeds, with both numbers; empty where it keeps all."""
    load = most_load(spec)
    duration_s = spec.deadline_s if spec.capacity is not None else spec.warm_up_s + load_duration_s(load)
    asked = (
        ("spec.workers.replicas", spec.workers.replicas, limits.worker_pods, "worker pods"),
        ("spec.load", _most_rate(load), limits.rate, "iterations per second"),
        ("spec.load", _most_connections(load), limits.connections, "connections at once"),
        ("spec.load", duration_s, limits.duration_s, "seconds"),
    )
    return next(
        (
            f"{field} asks for {amount:g} {unit}, and this installation allows {limit:g} (chart value limits.perTest)"
            for field, amount, limit, unit in asked
            if limit is not None and amount > limit
        ),
        "",
    )


def _most_rate(load: Load) -> float:
    match load:
        case ArrivalsLoad(stages=stages):
            return max(stage.rate for stage in stages)
        case HoldLoad(sessions=sessions, ramp_up_s=ramp_up_s, probe_rate=probe_rate):
            return max(probe_rate, sessions / ramp_up_s if ramp_up_s else sessions)
        case UsersLoad() | BurstLoad():
            return 0.0  # what these ask for is connections


def _most_connections(load: Load) -> int:
    match load:
        case ArrivalsLoad(max_in_flight=in_flight):
            return in_flight
        case UsersLoad(stages=stages):
            return max(stage.users for stage in stages)
        case BurstLoad(connections=connections):
            return connections
        case HoldLoad(sessions=sessions):
            return sessions
