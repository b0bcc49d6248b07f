"""From records to figures: one for each server and measurement, with its interval."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, stdev

from measurements import FILE_MB, HELD_SESSIONS, LOGIN_EQUAL, Figure, Measurement
from results import Record, Results
from sshload_contract.students_t import two_sided_t

_CONFIDENCE = 0.95
_FEWEST_ROUNDS = 3
_MS = 1_000
_BYTES_PER_MB = 1_000_000


@dataclass(frozen=True)
class Value:
    """A figure: the mean of its rounds, with its 95 % interval; with fewer than three rounds, no interval.

    It is the least that a server takes where the load generator was what could do no more.
    """

    mean: float
    rounds: int
    low: float | None = None
    high: float | None = None
    at_least: bool = False


@dataclass(frozen=True)
class Refusal:
    """What a server cannot do: what the product says of every try."""

    message: str


def value_of(results: Results, server: str, measurement: Measurement) -> Value | Refusal | None:
    """Return the figure of a server; None where there is no record that holds."""
    records = [one for one in results.records if (one.server, one.measurement) == (server, measurement.name)]
    read = [amount for one in records if one.holds and (amount := _amount(results, one, measurement)) is not None]
    if read:
        return _value(read)
    bounds = [one.capacity for one in records if one.is_lower_bound and one.capacity is not None]
    if bounds:
        return Value(max(bounds), len(bounds), at_least=True)
    cannot = [one for one in records if one.cannot]
    return Refusal(cannot[-1].message) if cannot else None


def _value(amounts: Sequence[float]) -> Value:
    rounds, mean = len(amounts), fmean(amounts)
    if rounds < _FEWEST_ROUNDS:
        return Value(mean, rounds)
    half = two_sided_t(_CONFIDENCE, rounds - 1) * stdev(amounts) / sqrt(rounds)
    return Value(mean, rounds, max(0.0, mean - half), mean + half)


def _amount(results: Results, record: Record, measurement: Measurement) -> float | None:
    match measurement.figure:
        case Figure.LOGIN_CPU:
            return _MS * record.cpu_s / record.logins
        case Figure.CAPACITY:
            return record.capacity
        case Figure.HELD_BYTES:
            return None if record.held_bytes is None else record.held_bytes / HELD_SESSIONS / _BYTES_PER_MB
    login_ms = _login_ms(results, record)
    of_steps_s = 0.0 if login_ms is None else record.cpu_s - record.logins * login_ms / _MS
    if of_steps_s <= 0 or not record.done:  # then it is lost in what the logins took
        return None
    return (
        _MS * of_steps_s / record.done if measurement.figure is Figure.STEP_CPU else FILE_MB * record.done / of_steps_s
    )


def _login_ms(results: Results, record: Record) -> float | None:
    """Return what a login with the same algorithms took of the same server in the same round, or else in all rounds."""
    of_server: Mapping[int, float] = {
        one.round: _MS * one.cpu_s / one.logins
        for one in results.records
        if (one.server, one.measurement) == (record.server, LOGIN_EQUAL.name) and one.holds
    }
    return of_server.get(record.round, fmean(of_server.values())) if of_server else None


def left_out(results: Results) -> int:
    """Return how many runs are in no figure, because the product does not vouch for them."""
    return sum(not (one.holds or one.cannot or one.is_lower_bound) for one in results.records)
