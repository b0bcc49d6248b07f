"""Load models as pure functions of time: when iterations are due, and which worker they belong to, in which trial."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import accumulate, count, islice, pairwise
from random import Random
from typing import TypeVar

from sshload_contract.load import (
    ArrivalProcess,
    ArrivalsLoad,
    ArrivalsStage,
    BurstLoad,
    HoldLoad,
    Load,
    UsersLoad,
    UsersStage,
)
from sshload_contract.run_config import RunConfig
from sshload_contract.vocabulary import Window

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Share:
    """One worker's place among all: it takes the elements `index`, `index + of`, `index + 2 of` and so on."""

    index: int
    of: int

    def take(self, items: Iterator[T]) -> Iterator[T]:
        """Yield this worker's elements of the whole schedule."""
        return islice(items, self.index, None, self.of)

    def owns(self, number: int) -> bool:
        """Return whether the element `number` of the whole schedule is this worker's."""
        return number % self.of == self.index

    def part(self, total: int) -> int:
        """Return this worker's part of `total`; the parts of all workers add up to it."""
        return total // self.of + (self.index < total % self.of)


@dataclass(frozen=True, slots=True)
class UserChange:
    """At `at_s` the user `user` (counted over all workers) begins, or finishes its iteration and leaves."""

    at_s: float
    user: int
    begins: bool


def window_at(offset_s: float, warm_up_s: float) -> Window:
    """Return the window of an iteration that is due at `offset_s`."""
    return Window.WARM_UP if offset_s < warm_up_s else Window.MEASURED


def before_iterations_s(load: Load) -> float:
    """Return the time of the measured part before iterations are begun: the ramp of held sessions."""
    return load.ramp_up_s if isinstance(load, HoldLoad) else 0.0


def arrivals(load: ArrivalsLoad | BurstLoad | HoldLoad, warm_up_s: float) -> Iterator[float]:
    """Yield the offsets at which iterations are due, over all workers, never decreasing."""
    match load:
        case ArrivalsLoad(stages=stages, process=process, seed=seed):
            warm_up = (ArrivalsStage(rate=stages[0].rate, duration_s=warm_up_s),)
            yield from _staged_arrivals(warm_up + stages, process, Random(seed))  # noqa: S311 - spacing, no secrets
        case BurstLoad():
            for instant in _burst_instants(load, warm_up_s):
                for _ in range(load.connections):
                    yield instant
        case HoldLoad(probe_rate=rate):
            before = ArrivalsStage(rate=rate, duration_s=warm_up_s)
            ramp_up = ArrivalsStage(rate=0.0, duration_s=load.ramp_up_s)
            holding = ArrivalsStage(rate=rate, duration_s=load.duration_s)
            yield from _staged_arrivals((before, ramp_up, holding), ArrivalProcess.CONSTANT, Random(0))  # noqa: S311


def held_logins(load: HoldLoad, warm_up_s: float) -> Iterator[float]:
    """Yield the offset at which each of the held sessions is to log in, over all workers, never decreasing."""
    for number in range(load.sessions):
        yield warm_up_s + load.ramp_up_s * number / load.sessions


def keep_alives(load: HoldLoad, warm_up_s: float) -> Iterator[tuple[float, int]]:
    """Yield when which held session (counted over all workers) asks for a sign of life: evenly, each in its turn."""
    if load.keep_alive_s <= 0:
        return
    end_s = warm_up_s + load.lasts_s
    for number in count(1):
        at_s = warm_up_s + load.keep_alive_s * number / load.sessions
        if at_s >= end_s:
            return
        yield at_s, (number - 1) % load.sessions


def user_changes(load: UsersLoad, warm_up_s: float) -> Iterator[UserChange]:
    """Yield who begins and who leaves when, over all workers, in time; the end of the load is not told."""
    warm_up = (UsersStage(users=load.stages[0].users, duration_s=warm_up_s),)
    stages = warm_up + load.stages
    starts = accumulate((stage.duration_s for stage in stages), initial=0.0)
    running = 0
    for stage, (start, end) in zip(stages, pairwise(starts), strict=True):
        for step, change in enumerate(_towards(stage.users, running)):
            at_s = start + (step / load.spawn_rate if load.spawn_rate else 0.0)
            if at_s >= end:
                break
            running += 1 if change.begins else -1
            yield UserChange(at_s=at_s, user=change.user, begins=change.begins)


def _staged_arrivals(stages: tuple[ArrivalsStage, ...], process: ArrivalProcess, random: Random) -> Iterator[float]:
    start = 0.0
    for stage in stages:
        if stage.rate > 0:
            spaced = _even_arrivals(stage) if process is ArrivalProcess.CONSTANT else _poisson_arrivals(stage, random)
            yield from (start + offset for offset in spaced)
        start += stage.duration_s


def _even_arrivals(stage: ArrivalsStage) -> Iterator[float]:
    number = 0
    while (offset := number / stage.rate) < stage.duration_s:
        yield offset
        number += 1


def _poisson_arrivals(stage: ArrivalsStage, random: Random) -> Iterator[float]:
    offset = random.expovariate(stage.rate)
    while offset < stage.duration_s:
        yield offset
        offset += random.expovariate(stage.rate)


def _burst_instants(load: BurstLoad, warm_up_s: float) -> Iterator[float]:
    if warm_up_s > 0:
        yield 0.0
    for repetition in range(load.repeat):
        yield warm_up_s + repetition * load.interval_s


def _towards(users: int, running: int) -> Iterator[UserChange]:
    for user in range(running, users):
        yield UserChange(at_s=0.0, user=user, begins=True)
    for user in range(running - 1, users - 1, -1):
        yield UserChange(at_s=0.0, user=user, begins=False)


@dataclass(frozen=True, slots=True)
class TrialOrder:
    """One trial. `number` counts those of a search from 1; a run that searches nothing is one trial, of number 0.

    `amount` is that of the load (contract capacity.py), for number 0 as it is configured.
    """

    number: int
    amount: float

    def config(self, run: RunConfig) -> RunConfig:
        """Return the config of this trial: the run's, but for the amount of its load."""
        return replace(run, load=run.load.at(self.amount)) if self.number else run
