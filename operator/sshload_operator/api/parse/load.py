"""How many iterations begin when."""

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
from sshload_operator.api.parse.readers import choice, duration, integer, items, number, positive, whole

_STAGE_DURATION = duration("1s", "24h")
_THINK_TIME = duration("0s", "1h")
_STAGES_MOST = 50
_MANY = 100_000


def read_load(value: Any, path: str) -> Load:
    """Read the load: exactly one model."""
    readers = {"users": _read_users, "arrivals": _read_arrivals, "burst": _read_burst, "hold": _read_hold}
    fields = Fields(value, path)
    model = fields.one_of(*readers)
    load = fields.required(model, readers[model])
    fields.end()
    return load


def _read_users(value: Any, path: str) -> Load:
    fields = Fields(value, path)
    think_time_min_s, think_time_max_s = fields.defaulted("thinkTime", _read_think_time, {})
    load = UsersLoad(
        stages=fields.required("stages", items(_read_users_stage, least=1, most=_STAGES_MOST)),
        spawn_rate=fields.defaulted("spawnRate", number(0, _MANY), 0),
        think_time_min_s=think_time_min_s,
        think_time_max_s=think_time_max_s,
    )
    fields.end()
    return load


def _read_users_stage(value: Any, path: str) -> UsersStage:
    fields = Fields(value, path)
    stage = UsersStage(
        users=fields.required("users", whole(1, _MANY)), duration_s=fields.required("duration", _STAGE_DURATION)
    )
    fields.end()
    return stage


def _read_think_time(value: Any, path: str) -> tuple[float, float]:
    fields = Fields(value, path)
    least_s = fields.defaulted("min", _THINK_TIME, "0s")
    most_s = fields.defaulted("max", _THINK_TIME, "0s")
    fields.end()
    if most_s < least_s:
        raise SpecError(fields.at("max"), "must not be less than min")
    return least_s, most_s


def _read_arrivals(value: Any, path: str) -> Load:
    fields = Fields(value, path)
    load = ArrivalsLoad(
        stages=fields.required("stages", items(_read_arrivals_stage, least=1, most=_STAGES_MOST)),
        process=ArrivalProcess(fields.defaulted("process", choice(*ArrivalProcess), ArrivalProcess.CONSTANT.value)),
        max_in_flight=fields.defaulted("maxInFlight", whole(1, _MANY), 10_000),
        seed=fields.defaulted("seed", whole(0, 2**32 - 1), 1),
    )
    fields.end()
    return load


def _read_arrivals_stage(value: Any, path: str) -> ArrivalsStage:
    fields = Fields(value, path)
    stage = ArrivalsStage(
        rate=fields.required("rate", positive(_MANY)), duration_s=fields.required("duration", _STAGE_DURATION)
    )
    fields.end()
    return stage


def _read_burst(value: Any, path: str) -> Load:
    fields = Fields(value, path)
    load = BurstLoad(
        connections=fields.required("connections", whole(1, _MANY)),
        repeat=fields.defaulted("repeat", integer(1, 1000), 1),
        interval_s=fields.defaulted("interval", duration("1s", "24h", whole_seconds=True), "30s"),
    )
    fields.end()
    return load


def _read_hold(value: Any, path: str) -> Load:
    fields = Fields(value, path)
    load = HoldLoad(
        sessions=fields.required("sessions", whole(1, _MANY)),
        ramp_up_s=fields.required("rampUp", duration("0s", "24h")),
        duration_s=fields.required("duration", _STAGE_DURATION),
        keep_alive_s=fields.defaulted("keepAlive", duration("0s", "1h"), "30s"),
        probe_rate=fields.defaulted("probeRate", positive(_MANY), 1),
    )
    fields.end()
    return load
