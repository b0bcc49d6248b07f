"""ErrorRateThreshold: an upper limit for the share of attempts that fail."""

from dataclasses import dataclass, replace
from typing import ClassVar, Final, Self

from sshload_contract.thresholds.kind import Terms, ThresholdKind

_PERCENT: Final = 100


@dataclass(frozen=True, slots=True)
class ErrorRateThreshold(ThresholdKind):
    """The share of failed iterations must be below this fraction."""

    kind: ClassVar[str] = "errorRate"
    figure: ClassVar[str] = "error rate"
    is_upper_limit: ClassVar[bool] = True
    can_abort: ClassVar[bool] = True
    below: float
    abort_on_fail: bool = False

    @property
    def terms(self) -> Terms:
        """The limit in percent."""
        return Terms(self.kind, self.below * _PERCENT, "%")

    @property
    def allowed_failures(self) -> float:
        """Its limit."""
        return self.below

    def aborting(self) -> Self:
        """Return the same, which ends the load as soon as it is certainly broken."""
        return replace(self, abort_on_fail=True)

    @staticmethod
    def limit_in_words(limit: float, unit: str) -> str:
        """Return a share with at most four digits."""
        return f"{limit:.4g} {unit}"
