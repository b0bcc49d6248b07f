"""Capacity: what is searched for: the highest amount of load at which every threshold holds."""

from dataclasses import dataclass

GIVEN_UP_AFTER = 2
"""A search gives an amount up once its unjudged trials, as `unjudged` counts them, are so many."""
_STOLEN_AS_ONE = 4


@dataclass(frozen=True, slots=True)
class Capacity:
    """What is searched: an amount of load from `least` to `most`, both included, in the unit of the run's load.

    The unit is the arrivals per second, the users, the connections of a burst or the held sessions, whole but for the
    first. The search ends where the bounds are apart by `precision` (0.05: 5 %) or less, each confirmed by `confirm`
    further trials. No trial is begun that would end later than `budget_s` after the start of the first.
    """

    least: float
    most: float
    precision: float
    confirm: int
    budget_s: float


def unjudged(invalid: int, stolen: int, judged: int) -> float:
    """Return by how many the invalid trials of an amount outnumber those that were judged.

    `stolen` trials are invalid because the host took CPU time from a worker's machine. They are not among `invalid`.
    Four of them count as one: steal comes and goes whatever the load is, so the next trial may well be judged.
    """
    return invalid + stolen / _STOLEN_AS_ONE - judged
