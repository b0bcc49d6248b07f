"""`client.users`: the population that logs in to a server that exists."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum, unique
from typing import Annotated, ClassVar, Final

from sshload_contract.client import in_cel
from sshload_contract.declared import Absent, Default, Named, Number, Rule, Whole
from sshload_contract.names import SecretName
from sshload_contract.users import DRAWN, NumberedUsers, Pick, UsersFile, UsersInTurn, UsersSource

_EXPONENT: Final = 1.0
_SEED: Final = 1


@unique
class UsersKey(StrEnum):
    """The keys of a Secret under which a file of users may be. The file itself says how it is to be read."""

    CSV = "users.csv"
    YAML = "users.yaml"
    PACKED_CSV = "users.csv.gz"
    PACKED_YAML = "users.yaml.gz"


@dataclass(frozen=True, slots=True)
class Users:
    """Who logs in to the target: each login is that of the user of a population whose turn it is.

    Those of target.external are in a Secret, or have numbers in their names and share the credentials of the target.
    Those of target.managed.system are its accounts.
    """

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule("!has(self.key) || has(self.secretRef)", "is for secretRef only", at=".key"),
        Rule(
            f"!has(self.seed) || self.pick in {in_cel(DRAWN)}",
            f"is for {', '.join(DRAWN[:-1])} and {DRAWN[-1]} only: the other picks draw nothing",
            at=".seed",
        ),
        Rule("!has(self.exponent) || self.pick == 'zipf'", "is for zipf only", at=".exponent"),
        Rule(
            "self.pick != 'weighted' || has(self.secretRef)",
            "weighted needs secretRef: the weights are in its file",
            at=".pick",
        ),
    )
    pick: Annotated[
        Pick,
        Default("roundRobin"),
        "Who has the next turn. roundRobin: each user in each round; random: anyone; weighted: by the weights in the"
        " file; zipf: the k-th user with a chance in proportion to 1/k^exponent; oncePerUser: each user once, and then"
        " the load ends.",
    ]
    seed: Annotated[
        int | None,
        Whole(0, 2**31 - 1),
        "What random, weighted and zipf draw by: 1 without it. One seed always draws the same users.",
    ]
    exponent: Annotated[float | None, Number(0, 10, above=True), "That of zipf: 1 without it."]
    secret: Annotated[
        SecretName, Named("secretRef"), Absent(""), "The Secret of this namespace with the file of the users."
    ]
    key: Annotated[
        UsersKey | None,
        "Its key in the Secret: users.csv without it. CSV names the fields in its first line; YAML is a list of users."
        " The fields are user, password, key, certificate, totp, weight and sourceAddress. With .gz, gzip has made the"
        " file smaller, because a Secret has room for 1 MiB.",
    ]
    names: NumberedUsers | None

    @property
    def file(self) -> str:
        """The key of the Secret with the users, empty if there is none."""
        return str(self.key or UsersKey.CSV) if self.secret else ""

    def of_author(self, paths: Mapping[str, str]) -> UsersInTurn:
        """Return the users in turn for workers that have the author's file of the Secret at a path."""
        return self.in_turn(UsersFile(paths[self.file]) if self.names is None else self.names)

    def in_turn(self, source: UsersSource) -> UsersInTurn:
        """Return users in turn, as they are picked."""
        return UsersInTurn(
            source,
            self.pick,
            _SEED if self.seed is None else self.seed,
            _EXPONENT if self.exponent is None else self.exponent,
        )


ALL_IN_TURN: Final = Users(Pick.ROUND_ROBIN, None, None, "", None, None)
"""How the accounts of a target log in if its author says nothing of it."""
