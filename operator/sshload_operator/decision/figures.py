"""Figures as a status has them: in the unit that their name says, and none that was not seen."""

from collections.abc import Mapping
from typing import Any


def milliseconds(latency_us: float | None) -> float | None:
    """Return microseconds as milliseconds."""
    return None if latency_us is None else round(latency_us / 1_000, 3)


def percent(share: float | None) -> float | None:
    """Return a share as percent."""
    return None if share is None else round(share * 100, 6)


def rounded(figure: float) -> float:
    """Return a figure to three decimals, which is as far as it means anything."""
    return round(figure, 3)


def stated(figures: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures that are known: one that could not be stated is absent, never null and never 0."""
    return {key: value for key, value in figures.items() if value is not None}
