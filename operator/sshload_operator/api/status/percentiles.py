"""A percentile with its 95 % confidence interval, and which percentiles have fields of their own."""

from dataclasses import dataclass
from typing import Annotated, Final

from sshload_contract.percentiles import percentile_key

from sshload_operator.api.status.figures import Amount, Percent

FIELDS_OF_PERCENTILES: Final = {50.0: "p50", 90.0: "p90", 95.0: "p95", 99.0: "p99", 99.9: "p999"}
"""The percentiles that have fields of their own, and with what these begin."""

TELLING_PERCENTILES: Final = (50.0, 90.0, 99.0)
"""What is stated of a part, and has an interval in a step in full whether or not a threshold names it."""


def latency_name(percentile: float) -> str:
    """Return the name of a percentile as a figure: p99Ms; p99.95Ms for one without a field of its own."""
    return f"{FIELDS_OF_PERCENTILES.get(percentile, f'p{percentile_key(percentile)}')}Ms"


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
