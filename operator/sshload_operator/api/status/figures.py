"""Figures of statuses. Units stand in the names of fields: ms, seconds, percent, bytes, and rate, which is per second.

A figure that could not be stated is None, which is absent in JSON; it is never 0.
"""

from dataclasses import dataclass
from datetime import datetime
from math import inf
from typing import Annotated, Final, TypeAlias, overload

from sshload_contract.declared import Number, Text, Timestamp, Whole

_INT64_MOST: Final = 2**63 - 1
Amount: TypeAlias = Annotated[float, Number(0, inf)]
Percent: TypeAlias = Annotated[float, Number(0, 100)]
AnyNumber: TypeAlias = Annotated[float, Number(-inf, inf)]
Count: TypeAlias = Annotated[int, Whole(0, _INT64_MOST)]
Ordinal: TypeAlias = Annotated[int, Whole(1, _INT64_MOST)]
Difference: TypeAlias = Annotated[int, Whole(-_INT64_MOST - 1, _INT64_MOST)]
Generation: TypeAlias = Annotated[int, Whole(-1, _INT64_MOST)]
Time: TypeAlias = Annotated[datetime, Timestamp()]
ReasonWord: TypeAlias = Annotated[str, Text(100, pattern="[A-Za-z]([A-Za-z0-9]*)")]
Message: TypeAlias = Annotated[str, Text(4_096)]
ObjectName: TypeAlias = Annotated[str, Text(253)]
Uid: TypeAlias = Annotated[str, Text(100)]
StepName: TypeAlias = Annotated[str, Text(64)]


@dataclass(frozen=True, slots=True)
class Measured:
    """An annotation of a field that is a figure of a run (`measured.figures`), in the unit that its name says.

    `compared`: comparisons compare it. `name` is the figure's, where that is not the field's.
    """

    unit: str
    compared: bool = True
    name: str = ""


@overload
def milliseconds(latency_us: float) -> float: ...


@overload
def milliseconds(latency_us: None) -> None: ...


@overload
def milliseconds(latency_us: float | None) -> float | None: ...


def milliseconds(latency_us: float | None) -> float | None:
    """Return microseconds as milliseconds."""
    return None if latency_us is None else round(latency_us / 1_000, 3)


@overload
def percent(share: float) -> float: ...


@overload
def percent(share: None) -> None: ...


@overload
def percent(share: float | None) -> float | None: ...


def percent(share: float | None) -> float | None:
    """Return a share as percent."""
    return None if share is None else round(share * 100, 6)


def rounded(figure: float) -> float:
    """Return a figure to three decimals, which is as far as it means anything."""
    return round(figure, 3)
