"""A percentile with its 95 % confidence interval, as a value and as text: `p99 30.4 (from 29.9)`.

The grammar of these texts is declared once, as patterns with named groups. The API server checks by them, and they are
how a text is read.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import isfinite
from typing import Annotated, Final

from sshload_operator.api.status.figures import Amount, Percent

NUMBER: Final = "[0-9]{1,15}(?:[.][0-9]{1,15})?(?:e[+][0-9]{1,3})?"
"""A figure in a text, as `digits` writes it."""

_NAME: Final = "p(?P<percentile>[0-9]{1,3}(?:[.][0-9]{1,15})?)"
_INTERVAL: Final = f"(?:from (?P<at_least>{NUMBER})|to (?P<at_most>{NUMBER})|(?P<low>{NUMBER}) to (?P<high>{NUMBER}))"
_PERCENTILE: Final = rf"{_NAME} (?P<ms>{NUMBER})(?: [(]{_INTERVAL}[)])?"
_BOUND: Final = f"{_NAME} {_INTERVAL}"
_MOST: Final = 100


def without_names(pattern: str) -> str:
    """Return a pattern without the names of its groups: not every dialect has them, and none may stand there twice."""
    return re.sub(r"\?P<\w+>", "?:", pattern)


PERCENTILE_PATTERN: Final = without_names(_PERCENTILE)
"""One percentile in a text."""

BOUNDS_PATTERN: Final = f"{without_names(_BOUND)}(?:, {without_names(_BOUND)}){{0,4}}"
"""The intervals of percentiles whose values stand elsewhere."""


def percentile_name(percentile: float) -> str:
    """Return what the name of a percentile's field or column begins with: p99, or p999 for 99.9."""
    return f"p{percentile:g}".replace(".", "")


FIELDS_OF_PERCENTILES: Final = {one: percentile_name(one) for one in (50.0, 90.0, 95.0, 99.0, 99.9)}
"""The percentiles that have fields of their own, and with what these begin."""

TELLING_PERCENTILES: Final = (50.0, 90.0, 99.0)
"""What is stated of a part, and has an interval in a step in full whether or not a threshold names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Percentile:
    """One percentile."""

    percentile: Annotated[Percent, "Which one, such as 99."]
    ms: Annotated[Amount, "Its value."]
    low_ms: Annotated[Amount | None, "The lower bound of its interval."] = None
    high_ms: Annotated[Amount | None, "The upper bound of its interval."] = None

    @property
    def text(self) -> str:
        """The percentile in a text, with its interval if that has an end."""
        interval = f" ({self._interval})" if self._interval else ""
        return f"p{digits(self.percentile)} {digits(self.ms)}{interval}"

    @property
    def bound(self) -> str:
        """Its interval in a text; empty if that has no end."""
        return f"p{digits(self.percentile)} {self._interval}" if self._interval else ""

    @property
    def _interval(self) -> str:
        low, high = (None if end is None else digits(end) for end in (self.low_ms, self.high_ms))
        if low is None:
            return "" if high is None else f"to {high}"
        return f"from {low}" if high is None else f"{low} to {high}"


def percentiles_in(text: str) -> Iterator[Percentile]:
    """Yield the percentiles that a text states. One that is no figure is left out."""
    for found in re.finditer(_PERCENTILE, text):
        percentile, ms = number(found["percentile"]), number(found["ms"])
        if percentile is not None and percentile <= _MOST and ms is not None:
            low_ms, high_ms = _ends(found)
            yield Percentile(percentile=percentile, ms=ms, low_ms=low_ms, high_ms=high_ms)


def bounds_text(percentiles: Iterable[Percentile]) -> str:
    """Return the intervals of percentiles, without those that have no end."""
    return ", ".join(one.bound for one in percentiles if one.bound)


def bounds_in(text: str) -> dict[float, tuple[float | None, float | None]]:
    """Return the ends of each interval that `bounds_text` has written, by its percentile."""
    return {float(found["percentile"]): _ends(found) for found in re.finditer(_BOUND, text)}


def number(text: str | None) -> float | None:
    """Return a figure of a text, None if there is none, or it is beyond all that can be stated."""
    return None if text is None or not isfinite(found := float(text)) else found


def digits(figure: float) -> str:
    """Return a figure for a text."""
    return f"{figure:.15g}"


def _ends(found: re.Match[str]) -> tuple[float | None, float | None]:
    return number(found["at_least"] or found["low"]), number(found["at_most"] or found["high"])
