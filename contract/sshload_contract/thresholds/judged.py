"""Judged: the result of a threshold, and what is in doubt about it."""

from dataclasses import dataclass, replace

from sshload_contract.thresholds.kind import Terms


@dataclass(frozen=True, slots=True)
class ThresholdResult:
    """The result of one threshold: what was observed, in words, and whether it was met; None with too few samples.

    `value` is the observed value in the unit of the limit, and `low` and `high` are its 95 % confidence interval as far
    as it is known.
    """

    terms: Terms
    observed: str | None
    met: bool | None
    value: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def broken_words(self) -> str:
        """The threshold, and what was observed in its place."""
        return f"{self.terms.words}, but it was {self.observed or 'not observed'}"


@dataclass(frozen=True, slots=True)
class Judged:
    """A judged threshold. `result.met` is None with too few samples, or if it is in doubt; `doubt` then says why.

    A threshold is in doubt if the generator's own delay may have changed the result. `as_measured` is the result that a
    sound generator measured for a threshold in doubt, None if the generator was not sound. `caution` says what the
    latency may include although the threshold was met; it is empty if there is nothing to say. `unread` says why the
    target's own figure is not known, empty if it is known or not asked for.
    """

    result: ThresholdResult
    doubt: str = ""
    as_measured: bool | None = None
    caution: str = ""
    unread: str = ""

    def settled(self) -> "Judged":
        """Return the same, but with what a sound generator measured in place of a doubt.

        Trials of a search are judged so: a search approaches the limit on purpose, and its bounds rest on several
        trials.
        """
        if self.as_measured is None:
            return self
        return Judged(replace(self.result, met=self.as_measured))
