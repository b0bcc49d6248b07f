"""The errors that a person's input can cause, each naming the place."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from sshload_contract.shortened import shortened

T = TypeVar("T")

_SHOWN_CHARACTERS: Final = 60
_MOST_IN_ONE_TEXT: Final = 5


class Problem(NamedTuple):
    """What is wrong in one place: `load.arrivals.stages[1].rate` (empty for the whole), and what is expected there."""

    path: str
    text: str

    def __str__(self) -> str:
        """Return both, as one message."""
        return f"{self.path}: {self.text}" if self.path else self.text


class SpecError(ValueError):
    """A spec, or a file of ours, does not say what its schema asks for.

    `problems` are all that was found, in the order of the file. Its text names the first five. `path` and `problem` are
    those of the first.
    """

    def __init__(self, path: str, problem: str, *others: Problem) -> None:
        self.problems = (Problem(path, problem), *others)
        shown_problems = "; ".join(map(str, self.problems[:_MOST_IN_ONE_TEXT]))
        more = len(self.problems) - _MOST_IN_ONE_TEXT
        super().__init__(f"{shown_problems}; and {more} more" if more > 0 else shown_problems)
        self.path = path
        self.problem = problem

    @classmethod
    def of(cls, problems: Iterable[Problem]) -> "SpecError":
        """Return the error of these problems; there must be at least one."""
        first, *others = problems
        return cls(first.path, first.text, *others)


def collect(part: Callable[[], T], problems: list[Problem]) -> T | None:
    """Call `part`. If it raises SpecError, add its problems to those known and return None."""
    try:
        return part()
    except SpecError as error:
        problems += error.problems
    return None


def naming(text: str, found: Sequence[str]) -> str:
    """Return a message about the first of these, in place of its `{}`; empty if there is none."""
    return text.replace("{}", shown(found[0])) if found else ""


def kind(value: Any) -> str:
    """Return the type of a value, in JSON's words."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "a list"
        case _:
            return "an object"


def shown(value: Any) -> str:
    """Return a value for a message: strings in quotes and shortened, others by their type."""
    if not isinstance(value, str):
        return kind(value)
    return f'"{shortened(value, _SHOWN_CHARACTERS)}"'
