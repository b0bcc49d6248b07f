"""The load models, without what their amount is: a load has stages of amounts, a search a least and a most."""

from typing import Any

from sshload_contract.load import (
    ArrivalProcess,
    ArrivalsLoad,
    ArrivalsStage,
    BurstLoad,
    HoldLoad,
    Load,
    UsersLoad,
    UsersStage,
)

from sshload_operator.api.errors import SpecError
from sshload_operator.api.parse.fields import Fields
from sshload_operator.api.parse.readers import choice, duration, integer, number, positive, whole

MOST = 100_000
"""The most users, arrivals per second, connections of a burst and held sessions."""

LOAD_DURATION = duration("1s", "24h")
_THINK_TIME = duration("0s", "1h")


def read_users(fields: Fields, stages: tuple[UsersStage, ...]) -> Load:
    """Read what else is said of users."""
    think_time_min_s, think_time_max_s = fields.defaulted("thinkTime", _read_think_time, {})
    return UsersLoad(
        stages=stages,
        spawn_rate=fields.defaulted("spawnRate", number(0, MOST), 0),
        think_time_min_s=think_time_min_s,
        think_time_max_s=think_time_max_s,
    )


def _read_think_time(value: Any, path: str) -> tuple[float, float]:
    fields = Fields(value, path)
    least_s = fields.defaulted("min", _THINK_TIME, "0s")
    most_s = fields.defaulted("max", _THINK_TIME, "0s")
    fields.end()
    if most_s < least_s:
        raise SpecError(fields.at("max"), "must not be less than min")
    return least_s, most_s


def read_arrivals(fields: Fields, stages: tuple[ArrivalsStage, ...]) -> Load:
    """Read what else is said of arrivals."""
    return ArrivalsLoad(
        stages=stages,
        process=ArrivalProcess(fields.defaulted("process", choice(*ArrivalProcess), ArrivalProcess.CONSTANT.value)),
        max_in_flight=fields.defaulted("maxInFlight", whole(1, MOST), 10_000),
        seed=fields.defaulted("seed", whole(0, 2**32 - 1), 1),
    )


def read_burst(fields: Fields, connections: int) -> Load:
    """Read what else is said of bursts."""
    return BurstLoad(
        connections=connections,
        repeat=fields.defaulted("repeat", integer(1, 1000), 1),
        interval_s=fields.defaulted("interval", duration("1s", "24h", whole_seconds=True), "30s"),
    )


def read_hold(fields: Fields, sessions: int, ramp_up_s: float) -> Load:
    """Read what else is said of held sessions."""
    return HoldLoad(
        sessions=sessions,
        ramp_up_s=ramp_up_s,
        duration_s=fields.required("duration", LOAD_DURATION),
        keep_alive_s=fields.defaulted("keepAlive", duration("0s", "1h"), "30s"),
        probe_rate=fields.defaulted("probeRate", positive(MOST), 1),
    )
