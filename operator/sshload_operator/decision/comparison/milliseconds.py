"""How many milliseconds a latency is longer than the first variant's, by the rounds, as its ratio is.

The ratio says how much slower a way is; the milliseconds say what it adds, which stays the same where the rest becomes
slower or faster. The difference is the mean of the rounds' differences. Its interval is over the rounds, too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sshload_operator.decision.comparison.interval import interval

RESOLUTION = 0.001
"""The part of a latency below which nothing was measured: latencies are kept to three digits."""
_DECIMALS: Final = ((100.0, 0), (10.0, 1), (1.0, 2), (0.0, 3))


@dataclass(frozen=True, slots=True)
class Milliseconds:
    """The mean of the rounds' differences in milliseconds, with the bounds of its 95 % interval; None if none is."""

    mean: float
    low: float | None
    high: float | None


def milliseconds_more(pairs: Sequence[tuple[float, float]], seed: int) -> Milliseconds | None:
    """Return by how many milliseconds the first of each round's two latencies is longer; None without any round."""
    if not pairs:
        return None
    differences = [our - their for our, their in pairs]
    mean = sum(differences) / len(differences)
    found = interval(differences, seed)
    if found is None:
        return Milliseconds(mean, None, None)
    least = RESOLUTION * max(sum(side) / len(pairs) for side in zip(*pairs, strict=True))
    return Milliseconds(mean, min(found.low, mean - least), max(found.high, mean + least))


def milliseconds_text(difference_ms: float) -> str:
    """Return a difference with its sign, to three digits or to the microsecond: `+1,120`, `-3.25`, `+0.041`."""
    decimals = next(decimals for least, decimals in _DECIMALS if abs(difference_ms) >= least)
    return f"{difference_ms:+,.{decimals}f}"
