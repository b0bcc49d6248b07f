"""Judged: what a run says of one threshold."""

from dataclasses import dataclass, replace

from sshload_contract.thresholds import ThresholdResult


@dataclass(frozen=True, slots=True)
class Judged:
    """A threshold as judged. `result.passed` None: too few samples, or `doubt` says why the generator's delay hides it.

    `as_measured` is what a sound generator measured of a threshold in doubt, None where the generator was not sound.
    `caution` says of a threshold that was met what the latency may contain; it is empty where there is nothing to say.
    """

    result: ThresholdResult
    doubt: str = ""
    as_measured: bool | None = None
    caution: str = ""

    def settled(self) -> "Judged":
        """Return the same with what a sound generator measured in place of its doubt.

        A trial of a search is judged so: a search comes near to the limit by intention, and its bounds rest on several
        trials.
        """
        if self.as_measured is None:
            return self
        return Judged(replace(self.result, passed=self.as_measured))
