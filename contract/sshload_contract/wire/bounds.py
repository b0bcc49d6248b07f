"""Bounds of what another process says, declared at each field. The codec refuses anything else by ContractError.

A summary or an answer of `/stats` may come from a tenant's own program. The operator computes with its figures and
writes them into statuses, whose schemas have bounds of their own. So no figure may be negative or larger than a float
can count to.
"""

from typing import Annotated, NamedTuple, TypeAlias

_MOST = 2**53
"""Up to here a float represents each whole number."""
MOST_STAGES = 50
"""The most stages of a load."""


class Range(NamedTuple):
    """The least and the most that a number may be."""

    least: float
    most: float

    def problem(self, value: float) -> str:
        """Return what is wrong with a number, empty where nothing is."""
        return "" if self.least <= value <= self.most else f"is not from {self.least:g} to {self.most:g}"


class PercentileText(NamedTuple):
    """A percentile as it is written, "99.9": above 0 and below 100."""

    characters: int = 12

    def problem(self, value: str) -> str:
        """Return what is wrong with a text, empty where nothing is."""
        try:
            found = 0 < float(value) < 100 and len(value) <= self.characters  # noqa: PLR2004 - percent
        except ValueError:
            found = False
        return "" if found else "is no percentile"


Count: TypeAlias = Annotated[int, Range(0, _MOST)]


Ordinal: TypeAlias = Annotated[int, Range(1, _MOST)]


StageNumber: TypeAlias = Annotated[int, Range(0, MOST_STAGES)]


Amount: TypeAlias = Annotated[float, Range(0, _MOST)]


PercentileKey: TypeAlias = Annotated[str, PercentileText()]


class ContractError(ValueError):
    """A text from another process does not conform to its version of the contract.

    `path` names the offending place (`load.stages[1].rate`), `problem` says what is wrong there.
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path or 'document'}: {problem}")
        self.path = path
        self.problem = problem
