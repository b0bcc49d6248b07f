"""Bounds of values from another process, declared at each field. For other values the codec raises ContractError.

A summary or an answer of `/stats` may come from a tenant's own program. The operator computes with its figures and
writes them into statuses, whose schemas have bounds of their own. So no figure may be negative, or above the range in
which a float represents each whole number.
"""

from typing import Annotated, NamedTuple, TypeAlias

_MOST = 2**53
"""Up to here a float represents each whole number."""
MOST_STAGES = 50
"""The most stages of a load."""


class Range(NamedTuple):
    """The smallest and the largest allowed number."""

    least: float
    most: float

    def problem(self, value: float) -> str:
        """Return what is wrong with a number, empty if it is valid."""
        return "" if self.least <= value <= self.most else f"is not from {self.least:g} to {self.most:g}"


class PercentileText(NamedTuple):
    """A percentile in its written form, such as "99.9": above 0 and below 100."""

    characters: int = 12

    def problem(self, value: str) -> str:
        """Return what is wrong with a text, empty if it is valid."""
        try:
            found = 0 < float(value) < 100 and len(value) <= self.characters  # noqa: PLR2004 - percent
        except ValueError:
            found = False
        return "" if found else "is no percentile"


WIRE_VERSION = 1
"""The version of all that processes write for each other. A release that changes it in any way raises this number."""


Count: TypeAlias = Annotated[int, Range(0, _MOST)]


Ordinal: TypeAlias = Annotated[int, Range(1, _MOST)]


StageNumber: TypeAlias = Annotated[int, Range(0, MOST_STAGES)]


Amount: TypeAlias = Annotated[float, Range(0, _MOST)]


PercentileKey: TypeAlias = Annotated[str, PercentileText()]


class ContractError(ValueError):
    """A text from another process does not conform to its version of the contract.

    `path` is the path of the invalid value (`load.stages[1].rate`), `problem` says what is wrong with it.
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path or 'document'}: {problem}")
        self.path = path
        self.problem = problem
