"""The error rate: how many attempts failed, what that proves, and how many may fail without a threshold.

A failure that the generator's own delay may have caused proves nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sshload_contract.judgement.binomial import is_below, is_not_below, tries_needed
from sshload_contract.judgement.figures import TOLERATED_SHORTFALL, find_step, shortfall, total_step
from sshload_contract.judgement.own_delay import SOUND_BELOW_US, own_delay
from sshload_contract.judgement.pauses import DELAYABLE
from sshload_contract.load import Load
from sshload_contract.percentiles import percentile_key
from sshload_contract.thresholds import ErrorRateThreshold, Judged, Threshold, ThresholdResult
from sshload_contract.vocabulary import Outcome, RunEnd, Timing, Trait, Window, measured_step
from sshload_contract.wire.report import ErrorCount
from sshload_contract.wire.run_summary import Trial

_HELD_TO_THE_END = measured_step("held", Timing.HOLD)
_OF_HELD = "held."

BURST_SHARE_OF_MEDIAN = 0.25
SHARE_OF_WINDOW = 0.1
"""The longest pause of the generator that is tolerated, as a share of the measured window."""

_PERCENT = 100
_US_PER_S = 1_000_000
_LONG_PAUSE_US = 100_000
"""Of a worker whose longest pause is shorter, those below 20 ms matter as much, which nobody notes."""

FAILED_SHARE_LIMIT = 0.1
"""The share of attempts below which failures must stay if no threshold is on the error rate."""


@dataclass(frozen=True, slots=True)
class Attempts:
    """The number of attempts in the measured window that ended, and of those that failed."""

    ended: int
    failed: int

    @property
    def error_rate(self) -> float | None:
        """The share of failures, None if nothing ended."""
        return self.failed / self.ended if self.ended else None

    def is_below(self, limit: float) -> bool:
        """Whether the share of failures that was seen is below the limit."""
        return self.failed < self.ended * limit


def attempts(load: Load, trial: Trial) -> Attempts:
    """Return all attempts: every iteration, and every session that was to be held.

    A held session fails if its login or that of a jump host fails, or if it is lost before the end.
    """
    iterations, held = trial.load, held_sessions(load, trial)
    return Attempts(iterations.succeeded + iterations.failed + held.ended, iterations.failed + held.failed)


def held_sessions(load: Load, trial: Trial) -> Attempts:
    """Return the sessions that were to be held, none for any load but hold.

    In a run that was stopped none was held to the end: there, these are those that were lost before.
    """
    if trial.end is RunEnd.STOPPED:
        lost = sum(error.count for error in _measured_errors(trial) if error.step.startswith(_OF_HELD))
        return Attempts(lost, lost)
    asked = load.held_sessions
    to_the_end = find_step(trial, _HELD_TO_THE_END, Window.MEASURED)
    return Attempts(asked, max(0, asked - (0 if to_the_end is None else to_the_end.count)))


def judge_error_rate(threshold: ErrorRateThreshold, load: Load, trial: Trial) -> Judged:
    """Return whether the share of failures is proven to be below its limit, or not below it, with 95 % confidence."""
    terms, tried = threshold.terms, attempts(load, trial)
    rate = tried.error_rate
    if rate is None:
        return Judged(ThresholdResult(terms, None, None))
    observed = f"{rate * _PERCENT:.4g} % ({tried.failed} of {tried.ended})"
    result = ThresholdResult(terms, observed, None, rate * _PERCENT)
    is_sound = own_delay(trial).is_small_beside_any_limit
    if is_sound and is_below(tried.failed, tried.ended, threshold.below):
        return Judged(replace(result, met=True))
    sure = _sure_failures(load, trial)
    if is_not_below(sure, tried.ended, threshold.below):
        return Judged(replace(result, met=False))
    if is_sound and not _do_unsure_decide(threshold.below, tried, sure):
        doubt = f"{terms.words} cannot be judged: it was {observed}. {_remedy(threshold, tried)}"
        return Judged(result, doubt=doubt, as_measured=tried.is_below(threshold.below))
    if _is_surely_below(threshold.below, tried, load, trial):
        return Judged(replace(result, met=True))
    unsure = tried.failed - sure
    caused = f"caused {unsure} of these failures, or prevented others" if unsure else "prevented failures"
    doubt = (
        f"{terms.words} cannot be judged: it was {observed}, and the generator's own delays may have {caused}"
        f" (timeouts, and refusals of connections that came together)"
    )
    return Judged(result, doubt=doubt)


def _do_unsure_decide(limit: float, tried: Attempts, sure: int) -> bool:
    """Return whether the failures that the generator may have caused decide on which side of the limit the rate is."""
    return is_not_below(tried.failed, tried.ended, limit) or is_below(sure, tried.ended, limit)


def unsure_failures(trial: Trial) -> int:
    """Return how many failures in the measured window the generator's own delay may have caused.

    They depend on time, or on how many connections came together. Where the workers know it, only those count that were
    near a pause of theirs.
    """
    known, workers = _known_by_pauses(trial), max(trial.generator.workers_expected, 1)
    return sum(
        _near_pause(error, workers) if error.outcome in known else error.count for error in _delayable_errors(trial)
    )


def _known_by_pauses(trial: Trial) -> frozenset[Outcome]:
    """Return the outcomes of which a pause was near if the generator's own delay has caused them.

    With a large delay there are none if it lasted. What brought connections together was a pause only if pauses were
    long, and starts no later than they explain. And a penalty may last for much longer than the pause that it is for.
    """
    delay = own_delay(trial)
    if delay.is_small_beside_any_limit:
        return DELAYABLE
    if delay.is_lasting:
        return frozenset()
    longest_us = trial.generator.loop_lag_max_us
    if longest_us < _LONG_PAUSE_US or delay.largest_us > longest_us + SOUND_BELOW_US:
        return Outcome.having(Trait.BY_TIME)
    return DELAYABLE - {Outcome.PENALISED}


def _near_pause(error: ErrorCount, workers: int) -> int:
    """Return how many failures of a kind were near a pause of any worker.

    Each worker counts those near its own pauses. But what one's pause brings together is refused to the others too.
    """
    return min(error.near_pause * workers, error.count) if Trait.BY_CROWD in error.outcome.traits else error.near_pause


def _sure_failures(load: Load, trial: Trial) -> int:
    """Return how many attempts failed for a reason that no delay of the generator affects, such as an exit code."""
    return max(attempts(load, trial).failed - unsure_failures(trial), 0)


def _is_surely_below(limit: float, tried: Attempts, load: Load, trial: Trial) -> bool:
    """Return whether the load was generated, and the rate is below its limit with uncertain failures counted twice.

    A burst that delays spread over time was not generated: its result is known only if the spread is a small part of
    the duration of an iteration. Delays that separate users may also have prevented most uncertain failures.
    """
    unsure = sum(error.count for error in _delayable_errors(trial))
    if load.begins_together and unsure:
        return False
    if load.bursts and not _is_burst_together(trial):
        return False
    stood_still_s = own_delay(trial).largest_us / _US_PER_S
    is_long = stood_still_s <= SHARE_OF_WINDOW * trial.load.duration_s
    is_made = is_long and shortfall(load, trial) <= TOLERATED_SHORTFALL
    return is_made and is_below(min(tried.failed + unsure, tried.ended), tried.ended, limit)


def _remedy(threshold: ErrorRateThreshold, tried: Attempts) -> str:
    needed = tries_needed(tried.failed, tried.ended, threshold.below)
    if needed is None:
        return "It is just at the limit. Allow more or fewer failures"
    failures = "without a failure" if not tried.failed else "with as many failures in a hundred"
    return f"With 95 % confidence that takes {needed} iterations {failures}. Lengthen the load or raise its rate"


def _is_burst_together(trial: Trial) -> bool:
    total = total_step(trial, Window.MEASURED)
    median_us = None if total is None else total.percentiles_us.get(percentile_key(50))
    return median_us is not None and own_delay(trial).largest_us <= BURST_SHARE_OF_MEDIAN * median_us


def _measured_errors(trial: Trial) -> Iterator[ErrorCount]:
    return (error for error in trial.errors if error.window is Window.MEASURED)


def _delayable_errors(trial: Trial) -> Iterator[ErrorCount]:
    """Yield those that depend on time, or on how many connections came together."""
    return (error for error in _measured_errors(trial) if error.outcome in DELAYABLE)


def all_failed(load: Load, trial: Trial) -> str:
    """Return a sentence if nothing worked, whatever the thresholds are; "" if something did."""
    held, iterations = held_sessions(load, trial), trial.load
    if held.ended and held.failed == held.ended:
        return f"not one of {held.ended} sessions was held to the end"
    if iterations.started > 0 and iterations.succeeded == 0:
        return f"not one of {iterations.failed} iterations succeeded"
    return ""


def many_failed(thresholds: Sequence[Threshold], load: Load, trial: Trial) -> str:
    """Return a sentence if more failed than may fail without a threshold on the error rate; "" if not."""
    tried = attempts(load, trial)
    rate = tried.error_rate
    if rate is None or rate < FAILED_SHARE_LIMIT or any(one.allowed_failures is not None for one in thresholds):
        return ""
    return (
        f"{rate * 100:.4g} % failed ({tried.failed} of {tried.ended}). Without an errorRate threshold, less than "
        f"{FAILED_SHARE_LIMIT * 100:g} % may fail"
    )


def failed_by_delay(load: Load, trial: Trial) -> bool:
    """Return whether the generator's own delay may have made so many failures."""
    return unsure_failures(trial) > 0 and _sure_failures(load, trial) < FAILED_SHARE_LIMIT * attempts(load, trial).ended
