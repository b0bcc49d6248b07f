"""A threshold in a test's status: what it asks for, what was seen, and how far the two are apart."""

from dataclasses import dataclass
from typing import Annotated, Final

from sshload_contract.declared import Absent, Text

from sshload_operator.api.status.figures import AnyNumber

BASELINE_UNIT: Final = "% of the baseline"
CAPACITY: Final = "capacity"
_PERCENT: Final = "%"
_AT_THE_LIMIT: Final = "at the limit"
_UPPER_LIMITS: Final = ("latency", "errorRate")
_HUNDRED: Final = 100
_ONLY_WITH_INTERVAL: Final = " Only for a threshold on the capacity or within a baseline, like all fields below."


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdStatus:
    """One threshold."""

    threshold: Annotated[str, Text(200), "The threshold in words."]
    observed: Annotated[str | None, Text(200), "The measured value. Absent if there were too few samples."] = None
    passed: Annotated[bool | None, "Whether it was met. Absent if that cannot be judged."] = None
    margin: Annotated[
        str,
        Text(100),
        Absent(""),
        "How far the measured value is from the limit, such as 98.1 % below or 1 point above; or why that is not"
        " known.",
    ] = ""
    kind: Annotated[
        str | None,
        Text(20),
        f"Its kind, as in the spec: latency, errorRate, throughput or capacity.{_ONLY_WITH_INTERVAL}",
    ] = None
    step: Annotated[str | None, Text(50), "The step of a latency."] = None
    percentile: Annotated[AnyNumber | None, "The percentile of a latency."] = None
    limit: Annotated[AnyNumber | None, "Its limit."] = None
    unit: Annotated[
        str | None,
        Text(30),
        "The unit of the limit, of value, low and high: that of the search, or % of the baseline.",
    ] = None
    value: Annotated[
        AnyNumber | None,
        "What was seen. With the unit % of the baseline, how far above it (or, negative, below).",
    ] = None
    low: Annotated[
        AnyNumber | None, "The lower end of its 95 % confidence interval, or the lower bound of a capacity."
    ] = None
    high: Annotated[AnyNumber | None, "The upper end."] = None

    @property
    def has_interval(self) -> bool:
        """Whether its kind has low and high, if they are known."""
        return self.kind == CAPACITY or self.unit == BASELINE_UNIT

    @property
    def distance(self) -> str:
        """What `margin` says or, as an earlier operator did not write it, would say by the other fields."""
        if self.margin or self.value is None or self.limit is None or self.kind is None:
            return self.margin or (self._why_unseen() if self.passed is None and not self.observed else "")
        below = self.kind in _UPPER_LIMITS
        if self.unit == BASELINE_UNIT:
            room = self.limit - self.value if below else self.limit + self.value
            return f"{_points(room)} {'to spare' if room > 0 else 'too many'}" if room else _AT_THE_LIMIT
        apart = self.value - self.limit
        if not apart:
            return _AT_THE_LIMIT
        side = "below" if apart < 0 else "above"
        if self.unit == _PERCENT:
            return f"{_points(apart)} {side}"
        return f"{abs(apart) / self.limit * _HUNDRED:.3g} % {side}" if self.limit > 0 else ""

    def _why_unseen(self) -> str:
        if self.unit == BASELINE_UNIT:
            return "not compared with a baseline"
        return "no capacity is known" if self.kind == CAPACITY else "too few samples"


def _points(apart: float) -> str:
    return f"{abs(apart):.3g} {'point' if abs(apart) == 1 else 'points'}"
