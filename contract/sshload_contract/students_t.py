"""Student's t: how much wider than the normal distribution the mean of a few values is."""

from functools import cache
from math import cos, pi, sin, sqrt, tan

_BISECTIONS = 60


@cache
def two_sided_t(confidence: float, degrees: int) -> float:
    """Return the t for which a value is between -t and t with this confidence (0 to 1, both excluded)."""
    low, high = 0.0, pi / 2
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, degrees) < confidence else (low, middle)
    return sqrt(degrees) * tan(low)


def _within(angle: float, degrees: int) -> float:
    """Abramowitz and Stegun (1964), 26.7.3 and 26.7.4, with `angle` the arc tangent of t over the root of `degrees`."""
    odd = degrees % 2 == 1
    term = cos(angle) if odd else 1.0
    total = term if degrees > 1 else 0.0
    for step in range(3 if odd else 2, degrees - 1, 2):
        term *= cos(angle) ** 2 * (step - 1) / step
        total += term
    return 2 / pi * (angle + sin(angle) * total) if odd else sin(angle) * total
