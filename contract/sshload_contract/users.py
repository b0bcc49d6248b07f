"""The population that logs in: where its users are, and how each turn finds its user.

Turns are numbered over all workers. So which user has a turn depends neither on the number of workers nor on their
pace: the shares of the workers are parts of one sequence.
"""

from dataclasses import dataclass
from enum import StrEnum, unique
from typing import Annotated, ClassVar, Final, TypeAlias

from sshload_contract.declared import Default, Named, Rule, Text, Whole
from sshload_contract.population import MOST_USERS

USER_CHARACTERS: Final = 100
USER_PATTERN: Final = r"[A-Za-z0-9_][A-Za-z0-9_.@+\\-]*"
"""A name with which somebody logs in: no character of it means anything in a path, nor to a shell but the backslash."""

USER_MARK: Final = "{user}"
"""What stands for the user's name in a command, path or text of a step."""

NUMBER_MARK: Final = "{n}"
_PART: Final = r"[A-Za-z0-9_.@+\\-]"
_LARGEST_NUMBER: Final = 9_999_999


@unique
class Pick(StrEnum):
    """Which user has the next turn.

    `ROUND_ROBIN`: each in each round. `RANDOM`: anyone, with equal chances. `WEIGHTED`: by the weights in the file.
    `ZIPF`: the k-th with a chance in proportion to 1 / k^exponent. `ONCE_PER_USER`: each once, and then the load ends.
    """

    ROUND_ROBIN = "roundRobin"
    RANDOM = "random"
    WEIGHTED = "weighted"
    ZIPF = "zipf"
    ONCE_PER_USER = "oncePerUser"


DRAWN: Final = (Pick.RANDOM, Pick.WEIGHTED, Pick.ZIPF)
"""The picks that depend on a seed."""


@dataclass(frozen=True, slots=True)
class UsersFile:
    """The users in a file."""

    kind: ClassVar[str] = "file"
    path: str


@dataclass(frozen=True, slots=True)
class NumberedUsers:
    """Users whose names differ in a number. They share the credentials of the target."""

    kind: ClassVar[str] = "names"
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            f"self.to >= self.from && self.to - self.from < {MOST_USERS}",
            f"must not be below from, and for at most {MOST_USERS} users",
            at=".to",
        ),
    )
    pattern: Annotated[
        str,
        Text(
            longest=64,
            pattern=rf"([A-Za-z0-9_]{_PART}*)?[{{]n[}}]{_PART}*",
            wanted="a user's name with {n} for the number, such as user{n}",
        ),
        "The names, with `{n}` for the number.",
    ]
    first: Annotated[int, Whole(0, _LARGEST_NUMBER, read_by_rule=True), Named("from"), Default(1), "The first number."]
    last: Annotated[int, Whole(0, _LARGEST_NUMBER, read_by_rule=True), Named("to"), "The last number."]
    digits: Annotated[
        int, Whole(1, 10), Default(1), "The least number of digits. Shorter numbers have zeros before them."
    ]

    def __len__(self) -> int:
        """Return how many there are."""
        return self.last - self.first + 1

    def name(self, place: int) -> str:
        """Return the name of the user at a place, from 0."""
        return self.pattern.replace(NUMBER_MARK, str(self.first + place).zfill(self.digits))


@dataclass(frozen=True, slots=True)
class DerivedUsers:
    """The first users of a population (population.py), whose secret is in a file."""

    kind: ClassVar[str] = "derived"
    path: str
    count: int


UsersSource: TypeAlias = UsersFile | NumberedUsers | DerivedUsers


def is_read_otherwise(name: str) -> bool:
    """Return whether a shell would read a user's name in a command in another way than it is written."""
    return "\\" in name


@dataclass(frozen=True, slots=True)
class UsersInTurn:
    """The users who log in to a server, and who of them has the next turn. `seed` is that of a pick that is drawn."""

    source: UsersSource
    pick: Pick
    seed: int
    exponent: float
