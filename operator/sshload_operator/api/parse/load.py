"""How many iterations begin when: a load, or the search for the highest one."""

from typing import Any

from sshload_contract.capacity import Capacity
from sshload_contract.load import ArrivalsStage, Load, UsersStage

from sshload_operator.api.parse.capacity import read_capacity
from sshload_operator.api.parse.fields import Fields
from sshload_operator.api.parse.load_models import (
    LOAD_DURATION,
    MOST,
    read_arrivals,
    read_burst,
    read_hold,
    read_users,
)
from sshload_operator.api.parse.readers import duration, items, positive, whole

_STAGES_MOST = 50


def read_load(value: Any, path: str, budget_s: float) -> tuple[Load, Capacity | None]:
    """Read the load: exactly one model, or a search, which may take `budget_s` and whose least trial is the load."""
    readers = {"users": _read_users, "arrivals": _read_arrivals, "burst": _read_burst, "hold": _read_hold}
    fields = Fields(value, path)
    model = fields.one_of(*readers, "capacity")
    load: Load
    capacity: Capacity | None = None
    if model == "capacity":
        load, capacity = fields.required(model, lambda search, at: read_capacity(search, at, budget_s))
    else:
        load = fields.required(model, readers[model])
    fields.end()
    return load, capacity


def _read_users(value: Any, path: str) -> Load:
    fields = Fields(value, path)
    load = read_users(fields, fields.required("stages", items(_read_users_stage, least=1, most=_STAGES_MOST)))
    fields.end()
    return load


def _read_users_stage(value: Any, path: str) -> UsersStage:
    fields = Fields(value, path)
    stage = UsersStage(
        users=fields.required("users", whole(1, MOST)), duration_s=fields.required("duration", LOAD_DURATION)
    )
    fields.end()
    return stage


def _read_arrivals(value: Any, path: str) -> Load:
    fields = Fields(value, path)
    load = read_arrivals(fields, fields.required("stages", items(_read_arrivals_stage, least=1, most=_STAGES_MOST)))
    fields.end()
    return load


def _read_arrivals_stage(value: Any, path: str) -> ArrivalsStage:
    fields = Fields(value, path)
    stage = ArrivalsStage(
        rate=fields.required("rate", positive(MOST)), duration_s=fields.required("duration", LOAD_DURATION)
    )
    fields.end()
    return stage


def _read_burst(value: Any, path: str) -> Load:
    fields = Fields(value, path)
    load = read_burst(fields, fields.required("connections", whole(1, MOST)))
    fields.end()
    return load


def _read_hold(value: Any, path: str) -> Load:
    fields = Fields(value, path)
    sessions = fields.required("sessions", whole(1, MOST))
    load = read_hold(fields, sessions, ramp_up_s=fields.required("rampUp", duration("0s", "24h")))
    fields.end()
    return load
