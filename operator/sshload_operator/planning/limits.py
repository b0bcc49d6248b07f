"""What the installer lets tests do: how large one may be, and how many may run at once."""

from dataclasses import dataclass

from sshload_operator.api.spec import LoadTestSpec
from sshload_operator.planning.estimates import most_load


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
    duration_s = spec.deadline_s if spec.capacity is not None else spec.warm_up_s + load.lasts_s
    asked = (
        ("spec.workers.replicas", spec.workers.replicas, limits.worker_pods, "worker pods"),
        ("spec.load", load.most_rate, limits.rate, "iterations per second"),
        ("spec.load", load.most_connections, limits.connections, "connections at once"),
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
