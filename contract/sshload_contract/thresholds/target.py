"""Thresholds on what a managed target itself reports: its CPU, its memory and its sessions."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Final

from sshload_contract.declared import Number, Percentage, Size
from sshload_contract.digits import to_digits
from sshload_contract.thresholds.kind import Terms, ThresholdKind

_PERCENT: Final = 100
_MEGA: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class TargetUsage:
    """What a managed target used in the measured window, by `readings` of its counts. None is a figure that is unknown.

    `cpu_share` is the mean, as a share of its limit, or of its machine's cores if it has none. `memory_bytes` (its
    working set) and `sessions` are the most of all readings. With `memory_is_upper_bound` it may have used less.
    """

    readings: int
    cpu_share: float | None
    memory_bytes: int | None
    memory_is_upper_bound: bool
    sessions: int | None


class TargetFigureThreshold(ThresholdKind):
    """An upper limit for a figure of the target's own."""

    __slots__ = ()
    is_upper_limit: ClassVar[bool] = True
    is_on_target: ClassVar[bool] = True
    why_unseen: ClassVar[str] = "the target did not report it"
    unit: ClassVar[str]
    below: float

    @property
    def terms(self) -> Terms:
        """The limit in the unit."""
        return Terms(self.kind, self.below, self.unit)

    def of(self, usage: TargetUsage) -> float | None:
        """Return the figure in the unit of the limit, None if it is not known."""
        raise NotImplementedError

    def may_be_less(self, usage: TargetUsage) -> bool:
        """Return whether the figure is only an upper bound of what the target used."""
        del usage
        return False


@dataclass(frozen=True, slots=True)
class TargetCpuThreshold(TargetFigureThreshold):
    """For target.managed only: a limit for the CPU time that the target uses in the measured window, on average."""

    kind: ClassVar[str] = "targetCpu"
    figure: ClassVar[str] = "CPU of the target"
    unit: ClassVar[str] = "%"
    below: Annotated[
        float,
        Percentage("0.1%", "100%"),
        "The limit, as a share of its CPU limit, or of its machine's cores if it has none, such as 80%.",
    ]

    @property
    def terms(self) -> Terms:
        """The limit in percent."""
        return Terms(self.kind, self.below * _PERCENT, self.unit)

    def of(self, usage: TargetUsage) -> float | None:
        """Return the share in percent."""
        return None if usage.cpu_share is None else usage.cpu_share * _PERCENT

    @staticmethod
    def limit_in_words(limit: float, unit: str) -> str:
        """Return a share with at most four digits."""
        return f"{limit:.4g} {unit}"


@dataclass(frozen=True, slots=True)
class TargetMemoryThreshold(TargetFigureThreshold):
    """For target.managed only: a limit for the largest working set of it that is read in the measured window."""

    kind: ClassVar[str] = "targetMemory"
    figure: ClassVar[str] = "memory of the target"
    unit: ClassVar[str] = "bytes"
    below: Annotated[int, Size("1Mi", "1000Gi", "512Mi", only_text=True), "The limit, such as 512Mi."]

    def of(self, usage: TargetUsage) -> float | None:
        """Return the bytes."""
        return usage.memory_bytes

    def may_be_less(self, usage: TargetUsage) -> bool:
        """Return whether shared memory counts several times."""
        return usage.memory_is_upper_bound

    @staticmethod
    def limit_in_words(limit: float, unit: str) -> str:
        """Return a number of bytes in megabytes."""
        del unit
        return f"{to_digits(limit / _MEGA, 4)} MB"


@dataclass(frozen=True, slots=True)
class SessionsThreshold(TargetFigureThreshold):
    """For target.managed only: a limit for the most sessions at once that are read in the measured window."""

    kind: ClassVar[str] = "sessions"
    figure: ClassVar[str] = "sessions of the target"
    unit: ClassVar[str] = "sessions"
    below: Annotated[float, Number(1, 1_000_000), "The limit."]

    def of(self, usage: TargetUsage) -> float | None:
        """Return the sessions."""
        return usage.sessions

    @staticmethod
    def limit_in_words(limit: float, unit: str) -> str:
        """Return a number without its unit, which its figure names."""
        del unit
        return f"{limit:g}"


TargetThreshold = TargetCpuThreshold | TargetMemoryThreshold | SessionsThreshold
