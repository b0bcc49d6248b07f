"""ReplayLoad: recorded arrivals of a real server, played again: faster, slower, more or fewer; and their Trace."""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil, inf, isfinite
from random import Random
from typing import Annotated, ClassVar, Self, TypeAlias

from sshload_contract.bounds import ContractError
from sshload_contract.declared import Default, Named, Number, Unwritten, Whole
from sshload_contract.load.arrivals import MaxInFlight
from sshload_contract.load.model import GREATEST, LEAST, MOST, LoadDuration, LoadModel, SearchModel
from sshload_contract.names import ConfigMapKey, ConfigMapName

MOST_ARRIVALS = 1_000_000
MOST_SECONDS = 8 * 86_400.0
_LONGEST_LINE = 200
_LASTS = "# lasts:"
_TITLE = "# sshload trace"

FACTOR = Number(0, 1000, above=True)
Speed: TypeAlias = Annotated[
    float, FACTOR, Default(1), "How many times faster than recorded the arrivals follow each other."
]
MaxRate: TypeAlias = Annotated[
    float,
    Number(0, MOST, above=True),
    Default(1000),
    "The most iterations that may begin in any second. A trace that makes more ends the run in Error at its start.",
]
CopySeed: TypeAlias = Annotated[int, Whole(0, 2**32 - 1), Default(1), "The seed of the random decisions."]


@dataclass(frozen=True, slots=True)
class Trace:
    """The arrivals of `lasts_s` seconds, in seconds from their beginning, never decreasing.

    As text it has one arrival per line, in seconds from the beginning, after a line `# lasts: 600`: there may be no
    arrival at the end of the time for which it was recorded. Other lines that begin with # are comments.
    """

    offsets: Sequence[float]
    lasts_s: float

    def busiest(self, stretch_s: float) -> tuple[int, float]:
        """Return the largest number of arrivals within any `stretch_s` seconds, and when these begin."""
        most, at_s = 0, 0.0
        for first, offset in enumerate(self.offsets):
            found = bisect_left(self.offsets, offset + stretch_s, lo=first) - first
            if found > most:
                most, at_s = found, offset
        return most, at_s


def read_trace(lines: Iterable[str]) -> Trace:
    """Return the trace in a text; raises ContractError, which names the line but does not quote it."""
    offsets, lasts_s, before = array("d"), inf, 0.0
    for number, line in enumerate(lines, start=1):
        if len(line) > _LONGEST_LINE:
            raise ContractError(f"line {number}", f"has more than {_LONGEST_LINE} characters")
        if line.startswith(_LASTS):
            lasts_s = _seconds(line.removeprefix(_LASTS), number)
            continue
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        offset = _seconds(text, number)
        if offset < before:
            raise ContractError(f"line {number}", "is earlier than the line before: the arrivals must be in order")
        if len(offsets) == MOST_ARRIVALS:
            raise ContractError(f"line {number}", f"is one arrival too many: a trace has at most {MOST_ARRIVALS}")
        offsets.append(offset)
        before = offset
    if not offsets:
        raise ContractError("", "has no arrival: a line is expected for each, with its seconds from the beginning")
    if lasts_s == inf:
        lasts_s = before
    if lasts_s < before:
        raise ContractError("", f"lasts {lasts_s:g} s by its {_LASTS!r} line, and has an arrival after that")
    return Trace(offsets, lasts_s)


def write_trace(trace: Trace, comments: Iterable[str] = ()) -> str:
    """Return the text of a trace, to the microsecond."""
    lines = [_TITLE, *(f"# {comment}" for comment in comments), f"{_LASTS} {_written(trace.lasts_s)}"]
    return "\n".join([*lines, *map(_written, trace.offsets)]) + "\n"


def _seconds(text: str, number: int) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not isfinite(seconds) or not 0 <= seconds <= MOST_SECONDS:
        raise ContractError(f"line {number}", f"must be seconds from 0 to {MOST_SECONDS:.0f}")
    return seconds


def _written(seconds: float) -> str:
    return f"{seconds:.6f}".rstrip("0").rstrip(".")


@dataclass(frozen=True, slots=True)
class TraceRef:
    """The recorded arrivals, as `sshload trace` writes them: a line for each, with its seconds from the beginning."""

    config_map: Annotated[ConfigMapName, Named("configMapRef"), "The ConfigMap of this namespace that holds the trace."]
    key: Annotated[ConfigMapKey, Default("trace.txt"), "Its key in the ConfigMap."]


@dataclass(frozen=True, slots=True)
class ReplayLoad(LoadModel):
    """Open model: iterations begin when connections came to a real server, by a trace that was recorded there.

    The warm-up replays the trace's beginning, and the measured part what follows it. An arrival beyond maxInFlight
    iterations is dropped and counted.
    """

    kind: ClassVar[str] = "replay"
    unit: ClassVar[str] = "times"
    is_whole: ClassVar[bool] = False
    drops_arrivals: ClassVar[bool] = True
    trace: TraceRef
    duration_s: Annotated[
        LoadDuration, "How long the load lasts after its warm-up. The trace must last as long as both, at its speed."
    ]
    speed: Speed
    amplification: Annotated[
        float,
        FACTOR,
        Default(1),
        "Iterations for each recorded arrival. Additional ones start at random before the next arrival. A fraction"
        " is decided at random: 0.1 keeps a tenth of the arrivals.",
    ]
    max_rate: MaxRate
    max_in_flight: MaxInFlight
    seed: CopySeed
    trace_path: Annotated[str, Unwritten("")]  # where a worker finds the trace

    @property
    def lasts_s(self) -> float:
        """The duration."""
        return self.duration_s

    @property
    def amount(self) -> float:
        """The amplification."""
        return self.amplification

    def at(self, amount: float) -> Self:
        """Return the same load with another amplification."""
        return replace(self, amplification=amount)

    @property
    def words(self) -> str:
        """The trace and its factors."""
        factors = f"at {self.speed:g} times its speed with {self.amplification:g} times its arrivals"
        trace = f"{self.trace.key} of the ConfigMap {self.trace.config_map}"
        return f"{self.duration_s:g} s of {trace} {factors}"

    @property
    def most_connections(self) -> int:
        """One for each iteration that may be in flight."""
        return self.max_in_flight

    @property
    def most_rate(self) -> float:
        """The most iterations that may begin in any second."""
        return self.max_rate

    @property
    def is_steady(self) -> bool:
        """False: recorded arrivals vary."""
        return False

    @property
    def most_due(self) -> float:
        """The most that maxRate allows if each fraction of an iteration becomes a whole one."""
        return self.max_rate * (self.duration_s + 1) * ceil(self.amplification) / self.amplification

    def most_begun_within(self, warm_up_s: float, stretch_s: float) -> int:
        """Return 1, because the spec does not say more."""
        del warm_up_s, stretch_s
        return 1

    @property
    def recorded(self) -> TraceRef:
        """Its trace."""
        return self.trace

    def reading(self, path: str) -> Self:
        """Return the same load for workers that have the trace in this file."""
        return replace(self, trace_path=path)

    def problem(self, trace: Trace, warm_up_s: float) -> str:
        """Return why the trace is too short, and what to change; empty if it is long enough."""
        lasts_s, needed_s = trace.lasts_s / self.speed, warm_up_s + self.duration_s
        if lasts_s < needed_s:
            return (
                f"the trace lasts {trace.lasts_s:g} s, which is {lasts_s:g} s at speed {self.speed:g}, and warmUp and"
                f" load.replay.duration take {needed_s:g} s together: shorten them, or lower speed"
            )
        return ""

    def replayed(self, trace: Trace | None, warm_up_s: float) -> Iterator[float]:
        """Yield the offset of each iteration. The first for an arrival begins at its time."""
        if trace is None:
            raise ValueError("a replay needs its trace")
        end_s = warm_up_s + self.duration_s
        random = Random(self.seed)  # noqa: S311 - spacing, no secrets
        whole, fraction = divmod(self.amplification, 1.0)
        for number, recorded_s in enumerate(trace.offsets):
            offset = recorded_s / self.speed
            if offset >= end_s:
                return
            following = trace.offsets[number + 1] if number + 1 < len(trace.offsets) else trace.lasts_s
            copies = int(whole) + (fraction > 0 and random.random() < fraction)
            gap_s = min(following / self.speed, end_s) - offset
            further = sorted(offset + random.random() * gap_s for _ in range(copies - 1))
            if copies:
                yield offset
            yield from (late for late in further if late < end_s)


@dataclass(frozen=True, slots=True)
class ReplaySearch(SearchModel):
    """The highest amplification of recorded arrivals. Each trial replays the trace from its beginning."""

    kind: ClassVar[str] = "replay"
    min: Annotated[float, FACTOR, LEAST]
    max: Annotated[float, FACTOR, GREATEST]
    trace: TraceRef
    duration_s: Annotated[LoadDuration, "How long each trial lasts, after its warm-up."]
    speed: Speed
    max_rate: MaxRate
    max_in_flight: MaxInFlight
    seed: CopySeed

    def least_load(self) -> ReplayLoad:
        """Return the load of the least trial."""
        rest = (self.max_rate, self.max_in_flight, self.seed)
        return ReplayLoad(self.trace, self.duration_s, self.speed, self.min, *rest, trace_path="")
