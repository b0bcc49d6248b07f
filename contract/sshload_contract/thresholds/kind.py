"""ThresholdKind: what every kind of threshold answers; and Terms: a threshold for programs, with its words."""

from dataclasses import dataclass
from typing import ClassVar, Final, Self

from sshload_contract.digits import to_digits
from sshload_contract.percentiles import percentile_key, samples_needed

BASELINE_UNIT: Final = "% of the baseline"
_US_PER_S: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Terms:
    """A threshold for programs: its `kind` as in a spec, its limit, and the unit of the limit.

    A threshold on a latency has a `step` and a percentile. One that is relative to a baseline has the BASELINE_UNIT.
    """

    kind: str
    limit: float
    unit: str
    step: str = ""
    percentile: float | None = None

    @property
    def words(self) -> str:
        """The threshold as text: "p99 of total below 2 s"."""
        answers = _answers(self.kind)
        figure = answers.figure or self.kind
        if self.percentile is not None:
            figure = AskedPercentile(self.step, self.percentile).words
        if self.unit == BASELINE_UNIT:
            return f"{figure} within {self.limit:.4g} {BASELINE_UNIT}"
        side = "below" if answers.is_upper_limit else "above"
        return f"{figure} {side} {answers.limit_in_words(self.limit, self.unit)}"

    @property
    def is_upper_limit(self) -> bool:
        """Whether the figure must be below the limit; otherwise it must be above."""
        return _answers(self.kind).is_upper_limit

    @property
    def why_unseen(self) -> str:
        """Why nothing was observed."""
        return "not compared with a baseline" if self.unit == BASELINE_UNIT else _answers(self.kind).why_unseen


@dataclass(frozen=True, slots=True)
class AskedPercentile:
    """The percentile of a step that a threshold is on."""

    step: str
    percentile: float

    @property
    def key(self) -> str:
        """The percentile in its written form, such as "99.9"."""
        return percentile_key(self.percentile)

    @property
    def words(self) -> str:
        """It as text: "p99 of total"."""
        return f"p{self.key} of {self.step}"

    @property
    def samples_needed(self) -> int:
        """How many samples it takes."""
        return samples_needed(self.percentile)


class ThresholdKind:
    """A kind of threshold. The defaults are those of a lower limit for a figure that only the end of a run shows.

    Whoever needs something of a threshold asks for it here, and not which kind it is of.
    """

    __slots__ = ()
    kind: ClassVar[str]
    figure: ClassVar[str] = ""
    """What it limits, in words; empty if that is its kind."""
    is_upper_limit: ClassVar[bool] = False
    """Whether the figure must be below the limit; otherwise it must be above."""
    why_unseen: ClassVar[str] = "too few samples"
    """Why nothing was observed."""
    is_on_capacity: ClassVar[bool] = False
    """Whether it is on the capacity that a search finds, and not on each of its trials."""
    is_on_target: ClassVar[bool] = False
    """Whether it is on a figure that only a target of the run's own reports."""
    can_abort: ClassVar[bool] = False
    """Whether it may be certain before the end of the load that it is broken."""
    abort_on_fail: bool = False
    """Whether the load ends as soon as it is certainly broken."""

    def __init_subclass__(cls) -> None:
        """Let the terms of this kind find their words."""
        if "kind" in cls.__dict__:
            _KINDS[cls.kind] = cls

    @property
    def terms(self) -> Terms:
        """The threshold for programs."""
        raise NotImplementedError

    @property
    def words(self) -> str:
        """The threshold as text: "p99 of total below 2 s"."""
        return self.terms.words

    def aborting(self) -> Self:
        """Return the same, which ends the load as soon as it is certainly broken, if that can be known."""
        return self

    @property
    def asked_percentile(self) -> AskedPercentile | None:
        """The percentile that it is on, None if it is on another figure."""
        return None

    @property
    def allowed_failures(self) -> float | None:
        """The share of attempts that may fail by it, None if it is not on failures."""
        return None

    @property
    def promised_s(self) -> float | None:
        """The latency that it promises, None if it promises none."""
        return None

    @property
    def promised_rate(self) -> float | None:
        """The iterations per second that it promises, None if it promises none."""
        return None

    @staticmethod
    def limit_in_words(limit: float, unit: str) -> str:
        """Return a limit of this kind as text."""
        return f"{limit:.6g} {unit}"


_KINDS: Final[dict[str, type[ThresholdKind]]] = {}


def _answers(kind: str) -> type[ThresholdKind]:
    """Return the kind of this name. A kind that this program does not know has the defaults."""
    return _KINDS.get(kind, ThresholdKind)


def duration_in_words(duration_us: float) -> str:
    """Return a duration in seconds, or in milliseconds below one."""
    seconds = duration_us / _US_PER_S
    return f"{to_digits(seconds, 4)} s" if seconds >= 1 else f"{seconds * 1_000:.4g} ms"
