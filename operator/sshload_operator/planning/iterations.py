"""How many iterations a load makes, and how many of them at once. Pure arithmetic on the load model."""

from sshload_contract.load import ArrivalsLoad, BurstLoad, HoldLoad, Load, UsersLoad


def measured_iterations(load: Load) -> float | None:
    """Return how many iterations the load asks for, warm-up apart; None for users, of whom the server decides."""
    match load:
        case ArrivalsLoad(stages=stages):
            return sum(stage.rate * stage.duration_s for stage in stages)
        case BurstLoad(connections=connections, repeat=repeat):
            return float(connections * repeat)
        case HoldLoad(probe_rate=probe_rate, duration_s=duration_s):
            return probe_rate * duration_s
        case UsersLoad():
            return None


def warm_up_iterations(load: Load, warm_up_s: float) -> float:
    """Return how many iterations the warm-up adds: the first stage's rate, or one burst at its start."""
    match load:
        case ArrivalsLoad(stages=stages):
            return stages[0].rate * warm_up_s
        case BurstLoad(connections=connections):
            return float(connections) if warm_up_s > 0 else 0.0
        case _:
            return 0.0


def most_at_once(load: Load) -> int | None:
    """Return how many iterations may be under way at once; None for probes, which nothing limits."""
    match load:
        case ArrivalsLoad(max_in_flight=max_in_flight):
            return max_in_flight
        case BurstLoad(connections=connections):
            return connections
        case UsersLoad(stages=stages):
            return max(stage.users for stage in stages)
        case HoldLoad():
            return None
