"""UsersLoad: a closed model. Users iterate, wait, and iterate again."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import accumulate
from math import floor
from random import Random
from typing import Annotated, ClassVar, Final, Self

from sshload_contract.declared import Default, Duration, Number, Rule, Whole
from sshload_contract.load.model import AMOUNT, GREATEST, LEAST, MOST, STAGES, LoadDuration, SearchModel, StagedLoad

_THINK_TIME = Duration("0s", "1h", example="1s")
_USERS: Final = Whole(0, MOST, read_by_rule=True)

NO_THINK_TIME: Final = Default({"min": "0s", "max": "0s"})


@dataclass(frozen=True, slots=True)
class UsersStage:
    """One stage: a number of concurrent users, or with toUsers one that changes evenly over the stage."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.users > 0 || (has(self.toUsers) && self.toUsers > 0)",
            "must be above 0, or toUsers must be",
            at=".users",
        ),
    )
    users: Annotated[int, _USERS, "Concurrent users, over all workers. With toUsers, those at the stage's beginning."]
    duration_s: Annotated[LoadDuration, "How long the stage lasts."]
    to_users: Annotated[
        int | None,
        _USERS,
        "Concurrent users at the end: users begin or leave evenly until then (a linear ramp).",
    ] = None

    @property
    def most_users(self) -> int:
        """The most users of the stage."""
        return max(self.users, self.to_users or 0)

    @property
    def words(self) -> str:
        """The users and the time."""
        users = f"{self.users}" if self.to_users is None else f"{self.users} to {self.to_users}"
        return f"{users} users for {self.duration_s:g} s"


@dataclass(frozen=True, slots=True)
class ThinkTime:
    """How long a user waits between two iterations: a time drawn evenly from min to max."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "duration(self.min) <= duration(self.max)",
            "must not be less than min",
            at=".max",
        ),
    )
    min_s: Annotated[float, _THINK_TIME, Default("0s"), "The shortest wait."]
    max_s: Annotated[float, _THINK_TIME, Default("0s"), "The longest wait."]


@dataclass(frozen=True, slots=True)
class UserChange:
    """At `at_s` the user `user` (counted over all workers) begins, or finishes its iteration and leaves."""

    at_s: float
    user: int
    begins: bool


@dataclass(frozen=True, slots=True)
class UsersLoad(StagedLoad):
    """Closed model: each user iterates, waits, and iterates again."""

    kind: ClassVar[str] = "users"
    unit: ClassVar[str] = "users"
    begins_together: ClassVar[bool] = True
    stages: Annotated[tuple[UsersStage, ...], STAGES, "How many users for how long, in order."]
    spawn_rate: Annotated[
        float,
        Number(0, MOST),
        Default(0),
        "Users started per second until the stage has its number of users. 0 starts them all at once.",
    ]
    think_time: Annotated[ThinkTime, NO_THINK_TIME]

    @property
    def amount(self) -> float:
        """The users of the first stage."""
        return self.stages[0].users

    def at(self, amount: float) -> Self:
        """Return the same load with another number of users."""
        return replace(self, stages=(replace(self.stages[0], users=round(amount)),))

    @property
    def words(self) -> str:
        """The users of each stage, and how long they wait."""
        first, *others = self.stages
        thought = f"{self.think_time.min_s:g} to {self.think_time.max_s:g} s of thought"
        if others or first.to_users is not None:
            spawned = f"{self.spawn_rate:g} more per second" if self.spawn_rate else "all at once"
            return f"{', '.join(stage.words for stage in self.stages)}, {spawned}, {thought}"
        return f"{first.users} users, {thought}"

    @property
    def most_users(self) -> int:
        """The users of the largest stage."""
        return max(stage.most_users for stage in self.stages)

    @property
    def least_pause_s(self) -> float:
        """The shortest think time."""
        return self.think_time.min_s

    @property
    def mean_pause_s(self) -> float:
        """The average think time."""
        return (self.think_time.min_s + self.think_time.max_s) / 2

    @property
    def is_steady(self) -> bool:
        """Whether the number of users stays the same."""
        levels = {users for stage in self.stages for users in (stage.users, stage.to_users) if users is not None}
        return len(levels) == 1

    @property
    def most_connections(self) -> int:
        """One for each user."""
        return self.most_users

    def users_of(self, stage: int) -> tuple[int, int | None]:
        """Return those of the stage."""
        chosen = self.stages[stage - 1]
        return chosen.users, chosen.to_users

    def pause_s(self, random: Random) -> float:
        """Return a think time."""
        return random.uniform(self.think_time.min_s, self.think_time.max_s)

    def most_iterations(self, pause_s: float) -> float | None:
        """Return the most iterations for which the users' pauses leave time."""
        pause_s += self.think_time.min_s
        if pause_s == 0:
            return None
        return sum(stage.most_users * (floor(stage.duration_s / pause_s) + 1) for stage in self.stages)

    def changes(self, warm_up_s: float) -> Iterator[UserChange]:
        """Yield which user begins or leaves when, in order. The warm-up has the initial users of the first stage."""
        stages = (UsersStage(self.stages[0].users, warm_up_s), *self.stages)
        starts = accumulate((stage.duration_s for stage in stages), initial=0.0)
        running, free_s = 0, 0.0
        for stage, start_s in zip(stages, starts, strict=False):
            steps = _between(running, stage.users)
            for change, frees_s in self._changes_of(stage, steps, max(free_s - start_s, 0.0)):
                if change.at_s >= stage.duration_s:
                    break
                running += 1 if change.begins else -1
                free_s = start_s + frees_s
                yield replace(change, at_s=start_s + change.at_s)

    def _changes_of(
        self, stage: UsersStage, steps: Iterator[tuple[int, bool]], free_s: float
    ) -> Iterator[tuple[UserChange, float]]:
        """Yield the changes to a stage's initial users, then those to its final users; offsets from its beginning.

        The spawn rate allows the first one at `free_s`: it counts over all stages, so that a short stage gets no user
        sooner. Each comes with the time at which it allows the next one.
        """
        at_s, first_s = 0.0, free_s
        for number, (user, begins) in enumerate(steps, start=1):
            at_s = free_s
            free_s = first_s + number / self.spawn_rate if self.spawn_rate else 0.0
            yield UserChange(at_s, user, begins), free_s
        if stage.to_users is None:
            return
        moves = abs(stage.to_users - stage.users)
        for number, (user, begins) in enumerate(_between(stage.users, stage.to_users)):
            yield UserChange(max(at_s, stage.duration_s * (number + 0.5) / moves), user, begins), free_s


@dataclass(frozen=True, slots=True)
class UsersSearch(SearchModel):
    """The highest number of concurrent users."""

    kind: ClassVar[str] = "users"
    min: Annotated[int, AMOUNT, LEAST]
    max: Annotated[int, AMOUNT, GREATEST]
    duration_s: Annotated[LoadDuration, "How long each trial lasts, after its warm-up."]
    spawn_rate: Annotated[
        float,
        Number(0, MOST),
        Default(0),
        "Users started per second until the trial has its number of users. 0 starts them all at once.",
    ]
    think_time: Annotated[ThinkTime, NO_THINK_TIME]

    def least_load(self) -> UsersLoad:
        """Return the load of the least trial."""
        return UsersLoad((UsersStage(self.min, self.duration_s),), self.spawn_rate, self.think_time)


def _between(running: int, users: int) -> Iterator[tuple[int, bool]]:
    """Yield each user who begins or leaves until `users` are running, and whether that user begins."""
    yield from ((user, True) for user in range(running, users))
    yield from ((user, False) for user in range(running - 1, users - 1, -1))
