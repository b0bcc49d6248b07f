"""HoldLoad: many idle sessions, and a few fresh iterations that show how the server responds meanwhile."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count
from math import ceil, floor
from typing import Annotated, ClassVar, Self, TypeAlias

from sshload_contract.declared import Default, Duration, Number, Rule, Whole
from sshload_contract.load.arrivals import ArrivalProcess, ArrivalsStage, staged_arrivals
from sshload_contract.load.model import (
    AMOUNT,
    GREATEST,
    LEAST,
    MOST,
    LoadDuration,
    LoadModel,
    SearchModel,
)
from sshload_contract.load.stats import LoadStats
from sshload_contract.vocabulary import Timing

KeepAlive: TypeAlias = Annotated[
    float,
    Duration("0s", "1h"),
    Default("30s"),
    "How often each held session checks that the server answers. 0s is never.",
]
ProbeRate: TypeAlias = Annotated[
    float,
    Number(0, MOST, above=True),
    Default(1),
    "Probes begun per second, over all workers, from the end of the ramp on.",
]

_SLOWEST_LOGIN_RATE = 0.01
_KEEP_ALIVES_TOGETHER_S = 0.025
_LEAST_GROUPS = 100
"""The sessions of one interval form at least so many groups, however short the interval is."""


@dataclass(frozen=True, slots=True)
class HoldLoad(LoadModel):
    """Many idle sessions, while a few new iterations of the scenario (probes) show how the server responds meanwhile.

    The sessions log in evenly within the ramp-up and are held for the duration after that. Only the probes count as
    iterations. They also run in the warm-up, without held sessions. The logins of the held sessions are timed under the
    name `held`, the checks as `held.keepAlive`, and the time for which each was held as `held.hold`, which a lost
    session fails.
    """

    kind: ClassVar[str] = "hold"
    fits_in_cel: ClassVar[str] = "time >= duration(load.rampUp) + duration(load.duration)"
    unit: ClassVar[str] = "sessions"
    sessions: Annotated[int, Whole(1, MOST), "Sessions that are logged in and held, over all workers."]
    ramp_up_s: Annotated[float, Duration("0s", "24h"), "The time over which the logins of the held sessions spread."]
    duration_s: Annotated[LoadDuration, "How long the sessions are held after that."]
    keep_alive_s: KeepAlive
    probe_rate: ProbeRate

    @property
    def lasts_s(self) -> float:
        """The ramp, and the time after it."""
        return self.ramp_up_s + self.duration_s

    @property
    def amount(self) -> float:
        """The held sessions."""
        return self.sessions

    def at(self, amount: float) -> Self:
        """Return the same load with another number of sessions, which log in at the same rate as before."""
        ramp_up_s = self.ramp_up_s * round(amount) / self.sessions
        return replace(self, sessions=round(amount), ramp_up_s=ramp_up_s)

    @property
    def words(self) -> str:
        """The sessions, their ramp and checks, and the probes."""
        ramp = f"{self.sessions} sessions within {self.ramp_up_s:g} s"
        return f"{ramp}, kept alive each {self.keep_alive_s:g} s, {self.probe_rate:g} probes/s"

    @property
    def most_connections(self) -> int:
        """The held sessions."""
        return self.sessions

    @property
    def most_at_once(self) -> None:
        """Nothing limits how many probes are in flight."""

    @property
    def held_sessions(self) -> int:
        """The held sessions."""
        return self.sessions

    def held_samples(self, timing: str) -> float:
        """Return one of each session, and of keep-alives as many as they send."""
        if timing != Timing.KEEP_ALIVE:
            return self.sessions
        if self.keep_alive_s == 0:
            return 0
        return self.sessions * floor((self.ramp_up_s + self.duration_s) / self.keep_alive_s)

    @property
    def before_iterations_s(self) -> float:
        """The ramp: no probe begins in it."""
        return self.ramp_up_s

    @property
    def iterations(self) -> float:
        """The probes."""
        return self.probe_rate * self.duration_s

    @property
    def offered_rate(self) -> float:
        """The probes per second."""
        return self.probe_rate

    @property
    def most_rate(self) -> float:
        """The probes or the logins per second, whichever are more."""
        return max(self.probe_rate, self.sessions / self.ramp_up_s if self.ramp_up_s else self.sessions)

    def completed_amount(self, stats: LoadStats) -> float | None:
        """Return the fewest sessions that were held at once after the ramp."""
        return stats.held_least

    def most_begun_within(self, warm_up_s: float, stretch_s: float) -> int:
        """Return all held sessions, and the probes of that time."""
        del warm_up_s
        return self.sessions + ceil(self.probe_rate * stretch_s)

    def due(self, warm_up_s: float) -> Iterator[float]:
        """Yield the offset of each probe: evenly in the warm-up and after the ramp."""
        before = ArrivalsStage(rate=self.probe_rate, duration_s=warm_up_s)
        ramp_up = ArrivalsStage(rate=0.0, duration_s=self.ramp_up_s)
        holding = ArrivalsStage(rate=self.probe_rate, duration_s=self.duration_s)
        yield from staged_arrivals((before, ramp_up, holding), ArrivalProcess.CONSTANT, seed=0)

    def logins(self, warm_up_s: float) -> Iterator[float]:
        """Yield the offset at which each of the held sessions is to log in."""
        for number in range(self.sessions):
            yield warm_up_s + self.ramp_up_s * number / self.sessions

    def keep_alives(self, warm_up_s: float) -> Iterator[tuple[float, int]]:
        """Yield when each held session (counted over all workers) sends a keep-alive request: in turn, evenly.

        Sessions whose turns are within 25 ms send together, none before its turn: a worker that wakes for each of them
        takes twice as much CPU. A session's first turn may come sooner than `keep_alive_s` after its login. A
        session that has not logged in yet sends none.
        """
        if self.keep_alive_s <= 0:
            return
        end_s = warm_up_s + self.lasts_s
        groups = min(self.sessions, max(ceil(self.keep_alive_s / _KEEP_ALIVES_TOGETHER_S), _LEAST_GROUPS))
        for number in count(1):
            group = -(-number * groups // self.sessions)
            at_s = warm_up_s + self.keep_alive_s * group / groups
            if at_s >= end_s:
                return
            yield at_s, (number - 1) % self.sessions


@dataclass(frozen=True, slots=True)
class HoldSearch(SearchModel):
    """The highest number of idle sessions, while probes show how the server responds. Only probes are iterations."""

    kind: ClassVar[str] = "hold"
    lasts_ms_in_cel: ClassVar[str] = (
        f"(load.loginRate >= {_SLOWEST_LOGIN_RATE} ? duration(load.duration).getMilliseconds()"
        " + int(double(load.min) / load.loginRate * 1000.0) : 0)"
    )
    min: Annotated[int, AMOUNT, LEAST]
    max: Annotated[int, AMOUNT, GREATEST]
    login_rate: Annotated[
        float,
        Number(0, MOST, above=True),
        # No `minimum`: the API server compares it with a whole number after cutting it to 0.
        Rule(
            f"self >= {_SLOWEST_LOGIN_RATE}",
            f"must be at least {_SLOWEST_LOGIN_RATE}",
        ),
        "Sessions logged in per second, over all workers, until the trial holds all of its sessions.",
    ]
    duration_s: Annotated[LoadDuration, "How long each trial holds them after that."]
    keep_alive_s: KeepAlive
    probe_rate: ProbeRate

    def least_load(self) -> HoldLoad:
        """Return the load of the least trial."""
        ramp_up_s = self.min / self.login_rate
        return HoldLoad(self.min, ramp_up_s, self.duration_s, self.keep_alive_s, self.probe_rate)
