"""A search for the capacity in a test's status: `status.capacity`, and `status.progress.search` before that."""

from dataclasses import dataclass
from typing import Annotated, Final, get_args

from sshload_contract.declared import Items, Text, Words
from sshload_contract.load import Load
from sshload_contract.vocabulary import SearchEnd, TrialState

from sshload_operator.api.status.figures import Amount, Count, Ordinal, Percent
from sshload_operator.api.status.thresholds import ThresholdStatus
from sshload_operator.state import Resource

MOST_TRIALS: Final = 100
TRIAL_MESSAGE_CHARACTERS: Final = 400
_UNIT = Words(tuple(dict.fromkeys(load.unit for load in get_args(Load))))
_TRIAL_MESSAGE = Text(TRIAL_MESSAGE_CHARACTERS)


@dataclass(frozen=True, slots=True)
class SearchStatus:
    """The state of the search for the capacity (load.capacity only). The other figures are of its trial."""

    trial: Annotated[Count, "The number of the trial under way, from 1."]
    amount: Annotated[Amount, "Its amount of load."]
    unit: Annotated[str, _UNIT, "What the amounts count."]
    lower_bound: Annotated[Amount | None, "The highest amount so far that keeps every threshold."] = None
    upper_bound: Annotated[Amount | None, "The lowest amount above it that breaks one."] = None


@dataclass(frozen=True, slots=True)
class ShortageStatus:
    """One shortage."""

    resource: Annotated[Resource, "Of what."]
    message: Annotated[str, _TRIAL_MESSAGE, "The figure that shows it, and what to change."]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limitation:
    """What limits the server at the upper bound. Absent if no amount is known to fail."""

    amount: Annotated[Amount, "The upper bound, at which it was seen."]
    threshold: Annotated[
        ThresholdStatus | None,
        "The threshold that breaks first, which is the one that broke in most of the trials there, with what was seen"
        " of it in the last of these.",
    ] = None
    observed: Annotated[
        str | None, _TRIAL_MESSAGE, "What the last of these trials says, where none of them broke a threshold."
    ] = None
    short_of: Annotated[
        tuple[ShortageStatus, ...],
        Items(most=7, key=("resource",)),
        "What the server was short of in most of these trials: a managed target by its own counts, an external one by"
        " what it says to those whom it drops (docs/reference/validity.md has the limits).",
    ]
    message: Annotated[
        str | None, Text(1_000), "The finding if the server shows no shortage, or if its counts are not known."
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialStatus:
    """One trial."""

    number: Annotated[Ordinal, "Its number, from 1."]
    amount: Annotated[Amount, "Its amount of load."]
    state: Annotated[
        TrialState,
        "Every threshold held (passed), one was broken (failed), or the trial cannot be judged and counts for nothing"
        " (invalid).",
    ]
    message: Annotated[str | None, _TRIAL_MESSAGE, "What broke, or why it cannot be judged."] = None
    start_seconds: Annotated[Amount, "When it began, from the start of the first."]
    completed_rate: Annotated[Amount, "Iterations per second that ended well in its measured window."]
    error_percent: Annotated[
        Percent | None, "The share of failed iterations. Absent for held sessions, which have heldLeast."
    ] = None
    held_least: Annotated[Count | None, "The fewest sessions that were held at once after the ramp (hold only)."] = None
    p99_ms: Annotated[Amount | None, "The 99th percentile of the whole iteration, successes only."] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityStatus:
    """What the search for the capacity found (load.capacity only). The results are those of one of its trials."""

    in_words: Annotated[
        str | None,
        Text(64),
        "The capacity in words, with its unit. Only a capacity that was found is a plain amount, such as 118"
        " arrivals/s.",
    ] = None
    value: Annotated[
        Amount | None,
        "The highest amount of load that was tried and met every threshold. It is the capacity if end is found;"
        " otherwise the capacity is this or more.",
    ] = None
    unit: Annotated[str, _UNIT, "What the amounts count."]
    lower_bound: Annotated[Amount | None, "The value again, as the lower of the two bounds."] = None
    upper_bound: Annotated[Amount | None, "The lowest amount above it that was tried and broke a threshold."] = None
    end: Annotated[
        SearchEnd,
        "Why the search ended: the bounds have the requested precision (found), even the largest amount meets every"
        " threshold (mostHeld), even the smallest breaks one (leastBroken), the generator reached its own limit"
        " (generatorLimit), or the search did not finish.",
    ]
    reported_trial: Annotated[Ordinal | None, "The number of the trial that results and thresholds describe."] = None
    limited_by: Limitation | None = None
    trials: Annotated[
        tuple[TrialStatus, ...],
        Items(most=MOST_TRIALS, key=("number",)),
        "The trials in their order; if there are more than a hundred, the last hundred.",
    ]

    @property
    def found(self) -> float | None:
        """The capacity, None if the search ended at a bound, which is no capacity."""
        return self.value if self.end is SearchEnd.FOUND else None
