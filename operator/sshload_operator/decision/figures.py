"""Figures as a status has them: in the unit that their name says."""

from typing import overload


@overload
def milliseconds(latency_us: float) -> float: ...
@overload
def milliseconds(latency_us: None) -> None: ...
@overload
def milliseconds(latency_us: float | None) -> float | None: ...
def milliseconds(latency_us: float | None) -> float | None:
    """Return microseconds as milliseconds."""
    return None if latency_us is None else round(latency_us / 1_000, 3)


def percent(share: float | None) -> float | None:
    """Return a share as percent."""
    return None if share is None else round(share * 100, 6)


def rounded(figure: float) -> float:
    """Return a figure to three decimals, which is as far as it means anything."""
    return round(figure, 3)
