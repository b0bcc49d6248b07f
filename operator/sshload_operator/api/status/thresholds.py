"""A threshold in a test's status: what it asks for, what was seen, and whether it was met."""

from dataclasses import dataclass
from typing import Annotated, Final

from sshload_contract.declared import Text
from sshload_contract.thresholds import Terms

from sshload_operator.api.status.figures import AnyNumber, Percent

THRESHOLD_MESSAGE_CHARACTERS: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdStatus:
    """One threshold."""

    kind: Annotated[str, Text(20), "Its kind, as in the spec, such as latency, errorRate or targetCpu."]
    step: Annotated[str | None, Text(50), "The step of a latency."] = None
    percentile: Annotated[Percent | None, "The percentile of a latency."] = None
    limit: Annotated[AnyNumber, "Its limit, in the unit."]
    unit: Annotated[
        str,
        Text(30),
        "The unit of limit, value, low and high: ms, %, /s, bytes, sessions, that of a search (arrivals/s, users,"
        " connections, sessions, times), or % of the baseline.",
    ]
    value: Annotated[
        AnyNumber | None,
        "What was seen; absent if there were too few samples. With the unit % of the baseline, how far above it (or,"
        " negative, below).",
    ] = None
    low: Annotated[
        AnyNumber | None,
        "The lower end of its 95 % confidence interval, or the lower bound of a capacity. Absent if it is not known.",
    ] = None
    high: Annotated[AnyNumber | None, "The upper end."] = None
    met: Annotated[bool | None, "Whether it was met. Absent if that cannot be judged."] = None
    message: Annotated[
        str,
        Text(THRESHOLD_MESSAGE_CHARACTERS),
        "The same in words: p99 of total below 2 s: 90 ms, 95.5 % below; or why it cannot be judged.",
    ]

    @property
    def words(self) -> str:
        """What it asks for, in words."""
        return Terms(self.kind, self.limit, self.unit, self.step or "", self.percentile).words
