"""Simulated servers with a known limit and a known noise, and searches for it: ours, and MLRsearch's."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp, log
from random import Random

from MLRsearch.config import Config
from MLRsearch.multiple_loss_ratio_search import MultipleLossRatioSearch
from MLRsearch.search_goal import SearchGoal
from MLRsearch.search_goal_tuple import SearchGoalTuple
from MLRsearch.trial_measurement.abstract_measurer import AbstractMeasurer
from MLRsearch.trial_measurement.measurement_result import MeasurementResult
from run_configs import search_for
from sshload_contract.load import Search
from sshload_worker.search import belief
from sshload_worker.search.capacity_search import NextTrial, PastTrial, SearchResult, next_step

PROMISE = 0.05
LEAST, MOST = 10.0, 2000.0
_SENT = 10**7
_COMPLETED_NOISE = 0.01

# The product keeps what one search needs. Searches of many servers meet the same loads, and begin with the same trials.
belief._chances = lru_cache(512)(belief._chances.__wrapped__)
belief._weights = lru_cache(128)(belief._weights.__wrapped__)


@dataclass(frozen=True, slots=True)
class Noise:
    """How trials err: `sigma` is the limit's own standard deviation in log space from trial to trial.

    A share `flakes` of the trials ends by the toss of a coin, whatever the load. A share `lapses` of those that would
    pass fails.
    """

    sigma: float = 0.0
    flakes: float = 0.0
    lapses: float = 0.0


@dataclass(frozen=True, slots=True)
class Overload:
    """What an overloaded server completes: `headroom` times its limit, less up to the share `collapse`, by chance."""

    headroom: float = 1.0
    collapse: float = 0.0


OVERLOADS = (Overload(), Overload(1.15), Overload(1.0, 0.5), Overload(1.3, 0.5))


class LimitedServer:
    """A server of which a trial passes with probability one half at `limit`, by chance within a search's loads.

    `drift` multiplies the limit after each trial. The same seed makes the same server.
    """

    def __init__(
        self,
        seed: int,
        noise: Noise,
        *,
        overload: Overload | None = None,
        limit: float | None = None,
        drift: float = 1.0,
    ) -> None:
        self.random = Random(seed)  # noqa: S311 - chance, no secrets
        within = exp(self.random.uniform(log(LEAST * 1.2), log(MOST * 0.9)))
        self.limit = within if limit is None else limit
        self.noise, self.overload, self.drift = noise, overload, drift
        self.trials = 0

    def trial(self, load: float) -> PastTrial:
        """Try one load. What was completed is told if there is an `overload`."""
        passed = self._passes(load)
        completed = None if self.overload is None else self._completed(load, self.overload)
        self.trials += 1
        self.limit *= self.drift
        return PastTrial(load, passed, completed)

    def _passes(self, load: float) -> bool:
        if self.random.random() < self.noise.flakes:
            return self.random.random() < 0.5
        held = log(self.limit / load) + self.random.gauss(0, self.noise.sigma) >= 0
        return held and (not self.noise.lapses or self.random.random() >= self.noise.lapses)

    def _completed(self, load: float, overload: Overload) -> float:
        capacity = self.limit * overload.headroom
        completed = load if load <= capacity else capacity * (1 - overload.collapse * self.random.random())
        return completed * exp(self.random.gauss(0, _COMPLETED_NOISE))


def servers(noise: Noise, count: int, *, completed: bool) -> list[LimitedServer]:
    """Return servers with limits of all sizes, the same ones at each call, in the order of their limits."""
    made = (
        LimitedServer(seed, noise, overload=OVERLOADS[seed % len(OVERLOADS)] if completed else None)
        for seed in range(count)
    )
    return sorted(made, key=lambda server: server.limit)


def search(goal: Search, trial: Callable[[float], PastTrial]) -> tuple[SearchResult, list[PastTrial]]:
    """Search as the master does; return what was found and every trial."""
    seen: list[PastTrial] = []
    while isinstance(step := next_step(goal, seen), NextTrial):
        seen.append(trial(step.load))
    return step, seen


@dataclass(frozen=True, slots=True)
class Ended:
    """One search of one server: its bounds, its number of trials, and the server's limit."""

    limit: float
    lower: float | None
    upper: float | None
    trials: int

    def within(self, precision: float) -> bool:
        """Tell whether the value that is reported, the lower bound, is as near to the limit as asked."""
        return self.lower is not None and abs(log(self.lower / self.limit)) <= log(1 + precision)

    @property
    def between(self) -> bool:
        """Tell whether the limit is between the bounds."""
        return self.lower is not None and self.upper is not None and self.lower <= self.limit <= self.upper


def ours(server: LimitedServer, precision: float = PROMISE, confirm: int = 2) -> Ended:
    """Search one server for the limit that it has at first."""
    limit = server.limit
    found, seen = search(search_for(LEAST, MOST, precision, confirm, whole=False), server.trial)
    return Ended(limit, found.lower, found.upper, len(seen))


def mlrsearch(server: LimitedServer, width: float = PROMISE / 2, confirm: int = 2) -> Ended:
    """Let MLRsearch search one server, by the majority of so many trials that confirm + 1 decide; of 1 s each.

    `width` is at what relative distance of the bounds it ends.
    """
    limit = server.limit
    config = Config()
    config.min_load, config.max_load, config.search_duration_max, config.warmup_duration = LEAST, MOST, 1e9, 0.0
    goal_searched = SearchGoal(
        loss_ratio=0.0,
        exceed_ratio=0.5,
        relative_width=1 - 1 / (1 + width),
        initial_trial_duration=1.0,
        final_trial_duration=1.0,
        duration_sum=2 * confirm + 1,
        fail_fast=False,
    )
    config.goals = SearchGoalTuple((goal_searched,))
    results = MultipleLossRatioSearch(config=config).search(measurer=_Measurer(server), debug=lambda _: None)
    (goal,) = results.values()
    lower, upper = goal.relevant_lower_bound, goal.relevant_upper_bound
    return Ended(limit, float(lower) if lower else None, float(upper) if upper else None, server.trials)


class _Measurer(AbstractMeasurer):
    """Gives MLRsearch what the server completed as packets: all came back of a trial that passed."""

    def __init__(self, server: LimitedServer) -> None:
        self.server = server

    def measure(self, intended_duration: float, intended_load: float) -> MeasurementResult:
        seen = self.server.trial(intended_load)
        completed = min(1.0, (seen.completed or 0.0) / intended_load)
        lost = 0 if seen.passed else max(1, round(_SENT * (1 - completed)))
        return MeasurementResult(intended_duration, intended_load, offered_count=_SENT, loss_count=lost)


@dataclass(frozen=True, slots=True)
class Figures:
    """Many searches in figures: shares of 1, and trials per search."""

    within: float
    between: float
    trials_mean: float
    trials_median: int
    trials_p95: int
    trials_max: int


def figures(ended: Sequence[Ended], precision: float = PROMISE) -> Figures:
    """Sum up searches that were to end within `precision`."""
    trials = sorted(one.trials for one in ended)
    return Figures(
        within=sum(one.within(precision) for one in ended) / len(ended),
        between=sum(one.between for one in ended) / len(ended),
        trials_mean=sum(trials) / len(trials),
        trials_median=trials[len(trials) // 2],
        trials_p95=trials[int(len(trials) * 0.95)],
        trials_max=trials[-1],
    )
