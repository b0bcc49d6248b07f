"""The judgement on one trial, by the master during a search and by the operator at the end of every run.

A trial that cannot be trusted is invalid, whatever its figures are. A broken threshold takes precedence over dropped
arrivals: on an overloaded server iterations pile up, and then broken thresholds are the server's failure. If the
thresholds held although arrivals were dropped, the load was less than intended, so the trial proves nothing. A trial is
also invalid if the delay of a lagging generator may have decided a threshold. The delay of a sound generator matters
only near the limit: there a trial is inconclusive.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sshload_contract.judgement.error_rate import all_failed, failed_by_delay, held_sessions, many_failed
from sshload_contract.judgement.own_delay import own_delay
from sshload_contract.judgement.threshold import judge_threshold, target_in_window, why_too_few
from sshload_contract.judgement.validity import arrivals_dropped, defects
from sshload_contract.load import Load
from sshload_contract.thresholds import Judged, Threshold, ThresholdResult
from sshload_contract.vocabulary import Invalidity, TrialReason, Verdict
from sshload_contract.wire.run_summary import Trial


@dataclass(frozen=True, slots=True)
class Asked:
    """What a trial was to show: its load, its thresholds, and whether its target is the run's own (`is_managed`).

    In a search (`is_searched`) a threshold that a sound generator's delay leaves in doubt counts as measured: a search
    approaches the limit on purpose, and its bounds rest on several trials. The measured window begins `warm_up_s` after
    the load.
    """

    load: Load
    thresholds: Sequence[Threshold]
    is_managed: bool
    is_searched: bool
    warm_up_s: float


@dataclass(frozen=True, slots=True)
class JudgedTrial:
    """The verdict on a trial, its reason, and a message, empty if the trial passed. `judged` are the thresholds."""

    verdict: Verdict
    reason: TrialReason | Invalidity
    message: str
    judged: tuple[Judged, ...]

    @property
    def thresholds(self) -> tuple[ThresholdResult, ...]:
        """The result of each threshold, in their order."""
        return tuple(one.result for one in self.judged)


_Found = tuple[Verdict, TrialReason | Invalidity, str]


def judge(asked: Asked, trial: Trial) -> JudgedTrial:
    """Return the judgement on a trial that was not cut off, by the first rule that applies."""
    measured = target_in_window(trial, asked.warm_up_s)
    judged = tuple(judge_threshold(threshold, asked.load, measured) for threshold in asked.thresholds)
    if asked.is_searched:
        judged = tuple(one.settled() for one in judged)
    for rule in _RULES:
        found = rule(asked, trial, judged)
        if found is not None:
            return JudgedTrial(*found, judged)
    return JudgedTrial(Verdict.PASSED, TrialReason.THRESHOLDS_MET, "", judged)


def _empty(asked: Asked, trial: Trial, _: Sequence[Judged]) -> _Found | None:
    if trial.load.started > 0 or held_sessions(asked.load, trial).ended:
        return None
    message = f"not one iteration began in the measured {trial.load.duration_s:g} s"
    return Verdict.INVALID, Invalidity.NO_REQUESTS, message


def _defective(asked: Asked, trial: Trial, _: Sequence[Judged]) -> _Found | None:
    found = defects(trial, managed=asked.is_managed)
    if not found:
        return None
    return Verdict.INVALID, found[0].invalidity, ". Also: ".join(defect.message for defect in found)


def _broken(_: Asked, __: Trial, judged: Sequence[Judged]) -> _Found | None:
    broken = [one.result.broken_words for one in judged if one.result.met is False]
    return (Verdict.FAILED, TrialReason.THRESHOLD_BROKEN, "; ".join(broken)) if broken else None


def _delayed(_: Asked, trial: Trial, judged: Sequence[Judged]) -> _Found | None:
    """Return Invalid if the delay of a lagging generator may have decided a threshold."""
    doubts = [one.doubt for one in judged if one.doubt and one.as_measured is None]
    if not doubts:
        return None
    delay = own_delay(trial)
    return Verdict.INVALID, delay.invalidity, f"{'; '.join(doubts)}. {delay.advice}"


def _dropped(_: Asked, trial: Trial, __: Sequence[Judged]) -> _Found | None:
    defect = arrivals_dropped(trial)
    return None if defect is None else (Verdict.INVALID, defect.invalidity, defect.message)


def _failing(asked: Asked, trial: Trial, _: Sequence[Judged]) -> _Found | None:
    """Return Failed if too much failed, even without a threshold on errors.

    If the generator's own delay may have caused these failures, they prove nothing.
    """
    nothing_worked = all_failed(asked.load, trial)
    message = nothing_worked or many_failed(asked.thresholds, asked.load, trial)
    if not message:
        return None
    if failed_by_delay(asked.load, trial):
        delay = own_delay(trial)
        return Verdict.INVALID, delay.invalidity, f"{message}. {delay.advice}"
    return Verdict.FAILED, TrialReason.ALL_FAILED if nothing_worked else TrialReason.MANY_FAILED, message


def _unread(_: Asked, __: Trial, judged: Sequence[Judged]) -> _Found | None:
    """Return Inconclusive if the target did not report a figure that a threshold limits."""
    unread = [f"{one.result.terms.words} cannot be judged: {one.unread}" for one in judged if one.unread]
    return (Verdict.INCONCLUSIVE, TrialReason.TARGET_UNREAD, "; ".join(unread)) if unread else None


def _too_few(asked: Asked, trial: Trial, judged: Sequence[Judged]) -> _Found | None:
    unknown = why_too_few(asked.thresholds, judged, trial)
    return (Verdict.INCONCLUSIVE, TrialReason.TOO_FEW_SAMPLES, "; ".join(unknown)) if unknown else None


def _near(_: Asked, __: Trial, judged: Sequence[Judged]) -> _Found | None:
    """Return Inconclusive if a value is nearer to its limit than the delay of a sound generator."""
    doubts = [one.doubt for one in judged if one.doubt]
    return (Verdict.INCONCLUSIVE, TrialReason.WITHIN_NOISE, "; ".join(doubts)) if doubts else None


_RULES: tuple[Callable[[Asked, Trial, Sequence[Judged]], _Found | None], ...] = (
    _empty,
    _defective,
    _broken,
    _delayed,
    _dropped,
    _failing,
    _unread,
    _too_few,
    _near,
)
