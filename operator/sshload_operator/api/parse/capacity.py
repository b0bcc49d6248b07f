"""The search for the highest load: from which amount to which, of one load model."""

from typing import Any

from sshload_contract.capacity import Capacity
from sshload_contract.load import ArrivalsStage, Load, UsersStage

from sshload_operator.api.errors import SpecError
from sshload_operator.api.parse.fields import Fields
from sshload_operator.api.parse.load_models import (
    LOAD_DURATION,
    MOST,
    read_arrivals,
    read_burst,
    read_hold,
    read_users,
)
from sshload_operator.api.parse.readers import integer, number, percentage, positive
from sshload_operator.api.search_time import whole_milliseconds

CONFIRM_MOST = 5
_SLOWEST_LOGIN_RATE = 0.01
_MILLISECONDS = 1000

_Bounds = tuple[float, float]


def read_capacity(value: Any, path: str, budget_s: float) -> tuple[Load, Capacity]:
    """Read the search, which may take `budget_s`; the load is that of its least trial."""
    readers = {"users": _read_users, "arrivals": _read_arrivals, "burst": _read_burst, "hold": _read_hold}
    fields = Fields(value, path)
    model = fields.one_of(*readers)
    load, (least, most) = fields.required(model, readers[model])
    capacity = Capacity(
        least=least,
        most=most,
        precision=fields.defaulted("precision", percentage(least="0.1%", most="50%"), "5%"),
        confirm=fields.defaulted("confirm", integer(0, CONFIRM_MOST), 2),
        budget_s=budget_s,
    )
    fields.end()
    return load, capacity


def _read_users(value: Any, path: str) -> tuple[Load, _Bounds]:
    fields = Fields(value, path)
    least, most = _read_whole_bounds(fields)
    stage = UsersStage(users=least, duration_s=fields.required("duration", LOAD_DURATION))
    load = read_users(fields, (stage,))
    fields.end()
    return load, (least, most)


def _read_arrivals(value: Any, path: str) -> tuple[Load, _Bounds]:
    fields = Fields(value, path)
    least = fields.required("min", positive(MOST))
    most = fields.required("max", positive(MOST))
    _check_order(fields, least, most)
    stage = ArrivalsStage(rate=least, duration_s=fields.required("duration", LOAD_DURATION))
    if least * whole_milliseconds(stage.duration_s) < _MILLISECONDS:
        message = "must be high enough for one iteration in a trial's duration: raise it, or lengthen the duration"
        raise SpecError(fields.at("min"), message)
    load = read_arrivals(fields, (stage,))
    fields.end()
    return load, (least, most)


def _read_burst(value: Any, path: str) -> tuple[Load, _Bounds]:
    fields = Fields(value, path)
    least, most = _read_whole_bounds(fields)
    load = read_burst(fields, least)
    fields.end()
    return load, (least, most)


def _read_hold(value: Any, path: str) -> tuple[Load, _Bounds]:
    fields = Fields(value, path)
    least, most = _read_whole_bounds(fields)
    login_rate = fields.required("loginRate", number(_SLOWEST_LOGIN_RATE, MOST))
    load = read_hold(fields, least, ramp_up_s=least / login_rate)
    fields.end()
    return load, (least, most)


def _read_whole_bounds(fields: Fields) -> tuple[int, int]:
    least, most = fields.required("min", integer(1, MOST)), fields.required("max", integer(1, MOST))
    _check_order(fields, least, most)
    return least, most


def _check_order(fields: Fields, least: float, most: float) -> None:
    if most < least:
        raise SpecError(fields.at("max"), "must not be less than min")
