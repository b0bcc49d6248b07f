"""A percentile with its 95 % confidence interval, and which percentiles have fields of their own."""

from dataclasses import dataclass
from typing import Annotated, Final

from sshload_operator.api.status.figures import Amount, Percent


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
    low_ms: Annotated[Amount | None, "The lower bound of its interval. Absent if the samples do not bound it."] = None
    high_ms: Annotated[Amount | None, "The upper bound of its interval. Absent if the samples do not bound it."] = None

    @property
    def is_bounded(self) -> bool:
        """Whether its interval has an end."""
        return self.low_ms is not None or self.high_ms is not None
