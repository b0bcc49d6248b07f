"""The figures of a run. What is shown, compared and published of a run iterates over them.

A figure is declared once: by `Measured`, at its field in the status. `figures` yields all that a status states.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, get_args, get_type_hints

from sshload_operator.api.shapes.reading import camel_case
from sshload_operator.api.status.figures import Measured
from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.api.status.percentiles import FIELDS_OF_PERCENTILES, latency_name
from sshload_operator.api.status.results import (
    IN_PATH,
    GeneratorResult,
    HoldResult,
    Results,
    TargetResult,
)
from sshload_operator.api.status.steps import StepResult

CAPACITY: Final = "capacity"
COMPLETED_RATE: Final = "completedRate"
ERROR_PERCENT: Final = "errorPercent"


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure, its 95 % confidence interval as far as it is known, and its step, empty for one of the whole run.

    `value` is None for a capacity of which only bounds are known.
    """

    name: str
    value: float | None
    low: float | None
    high: float | None
    unit: str
    step: str = ""

    @property
    def key(self) -> str:
        """The figure with its step: `completedRate`, `login.p50Ms`."""
        return f"{self.step}.{self.name}" if self.step else self.name

    @property
    def interval(self) -> dict[str, float | None]:
        """The value with its interval, as reports have it."""
        return {"value": self.value, "low": self.low, "high": self.high}


@dataclass(frozen=True, slots=True)
class Declared:
    """A figure as its field declares it. `means` is what it is, in words."""

    name: str
    attribute: str
    unit: str
    compared: bool
    means: str


@cache
def declared(part: type, prefix: str = "") -> tuple[Declared, ...]:
    """Return the figures that a class of a status declares. `prefix` begins their names."""
    hints: dict[str, Any] = get_type_hints(part, include_extras=True)
    noted = ((attribute, get_args(hint)) for attribute, hint in hints.items())
    return tuple(
        Declared(
            note.name or camel_case(f"{prefix}_{attribute}" if prefix else attribute),
            attribute,
            note.unit,
            note.compared,
            notes[-1],
        )
        for attribute, notes in noted
        for note in notes
        if isinstance(note, Measured)
    )


OF_RUN: Final[Mapping[str, tuple[Declared, ...]]] = {
    "": declared(Results),
    "hold": declared(HoldResult),
    "target": declared(TargetResult),
    **{part: declared(kind, part) for part, kind in IN_PATH.items()},
    "generator": declared(GeneratorResult, "generator"),
}
"""The figures of a whole run, by the part of its results that has them."""

COMPARED: Final = frozenset(
    {CAPACITY, *(one.name for of in (*OF_RUN.values(), declared(StepResult)) for one in of if one.compared)}
)
"""The names of the figures that comparisons compare."""


def figures(status: TestStatus) -> Iterator[Figure]:
    """Yield each figure that a status states: of the whole run, then of each step in the order in which they happen."""
    capacity, results = status.capacity, status.results
    if capacity is not None:
        yield Figure(CAPACITY, capacity.found, capacity.lower_bound, capacity.upper_bound, capacity.unit)
    if results is None:
        return
    for part, known in OF_RUN.items():
        holder = getattr(results, part) if part else results
        for one in known:
            value = getattr(holder, one.attribute, None)
            if value is not None:
                low, high = (getattr(holder, f"{one.attribute}_{end}", None) for end in ("low", "high"))
                yield Figure(one.name, value, low, high, one.unit)
    for step in results.all_steps:
        yield from figures_of_step(step)


def figures_of_run(status: TestStatus) -> Iterator[Figure]:
    """Yield the figures of the whole run, without the capacity of a search: the others are of one of its trials."""
    return (one for one in figures(status) if not one.step and one.name != CAPACITY)


def find_figure(status: TestStatus, name: str, step: str = "") -> Figure | None:
    """Return a figure of a run, None if its status does not state it."""
    return next((one for one in figures(status) if one.name == name and one.step == step), None)


def figures_of_step(step: StepResult) -> Iterator[Figure]:
    """Yield each figure that a step states."""
    bounds = {latency_name(one.percentile): (one.low_ms, one.high_ms) for one in step.intervals}
    for one in declared(StepResult):
        value = getattr(step, one.attribute)
        if value is not None:
            yield Figure(one.name, value, *bounds.get(one.name, (None, None)), one.unit, step.step)
    for other in step.intervals:
        if other.percentile not in FIELDS_OF_PERCENTILES:
            yield Figure(latency_name(other.percentile), other.ms, other.low_ms, other.high_ms, "ms", step.step)
