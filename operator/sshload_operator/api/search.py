"""The search for the capacity: between which amounts of a load model it looks, how closely, and how long it takes."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Final

from sshload_contract.declared import Default, Inline, Percentage, Whole
from sshload_contract.load import LoadSearch, Search

ENDING_RESERVE_S: Final = 90.0
"""What is kept of the deadline for what follows the last trial: its drain (a minute at most), reports and results."""

CONFIRM_MOST = 5


@dataclass(frozen=True, slots=True)
class WrittenSearch:
    """The search for the capacity: the highest load that meets every threshold.

    sshload runs one trial after another, each with its own warmUp and amount of load, until it knows the limit with the
    requested precision. Exactly one load model sets what the amount counts.
    """

    kind: ClassVar[str] = "capacity"
    precision: Annotated[
        float,
        Percentage("0.1%", "50%"),
        Default("5%"),
        "The precision of the capacity, in percent of it. A finer precision needs more trials.",
    ]
    confirm: Annotated[
        int,
        Whole(0, CONFIRM_MOST, read_by_rule=True),
        Default(2),
        "How many further trials must confirm each bound. Trials near the limit can contradict each other: with 0,"
        " chance may decide a bound.",
    ]
    model: Annotated[LoadSearch, Inline()]

    def search(self, budget_s: float) -> Search:
        """Return the search of a run that has so many seconds for all trials."""
        return Search(
            least=self.model.least_load(),
            most=self.model.max,
            precision=self.precision,
            confirm=self.confirm,
            budget_s=budget_s,
        )


def search_budget_s(deadline_s: float, start_timeout_s: float) -> float:
    """Return how long all trials together may take, though the start takes as long as it may; never below 0."""
    return max(0.0, deadline_s - start_timeout_s - ENDING_RESERVE_S)


def least_trials(confirm: int) -> int:
    """Return how many trials a search that finds both bounds takes at least: each of them, and what confirms it."""
    return 2 * (confirm + 1)
