"""Searches for the capacity as the operator gets them: plans that ask for one, trials, and what was found."""

from dataclasses import replace
from typing import Any

from plans import plan, quickstart
from runs import generator, summary, target_stats, trial
from sshload_contract.load import Search
from sshload_contract.load.waves import WaveLoad
from sshload_contract.thresholds import (
    CapacityThreshold,
    ErrorRateThreshold,
    LatencyThreshold,
    ThresholdResult,
)
from sshload_contract.vocabulary import Invalidity, RunEnd, SearchEnd, TrialState
from sshload_contract.wire.run_summary import RunSummary, SearchOutcome, Trial
from sshload_operator.planning.plan import Plan

P99 = LatencyThreshold("total", 99, 2.0).terms
ERRORS = ErrorRateThreshold(0.01).terms
TRIAL_S = 40.0
LOADS: dict[str, Any] = {
    "arrivals": {"stages": [{"rate": 10, "duration": "30s"}]},
    "users": {"stages": [{"users": 10, "duration": "30s"}]},
    "burst": {"connections": 10},
    "hold": {"sessions": 10, "rampUp": "10s", "duration": "30s"},
}
_THRESHOLDS = [
    {"latency": {"step": "total", "percentile": 99, "below": "2s"}},
    {"errorRate": {"below": "1%"}},
]


def search_plan(model: str = "arrivals", above: tuple[float, ...] = (), **changes: Any) -> Plan:
    """Return the plan of a search from 10 to 500 by two workers, with p99 below 2 s and errors below 1 % promised.

    `above` are thresholds on the capacity; `changes` are fields of the spec.
    """
    asked = {"load": {model: LOADS[model]}, "thresholds": _THRESHOLDS, "workers": {"replicas": 2}}
    made = plan(quickstart(**{**asked, **changes}))
    least = made.spec.load.least
    assert not isinstance(least, WaveLoad)
    searched = replace(
        made.spec,
        load=Search(least, most=500, precision=0.05, confirm=1, budget_s=1_500),
        capacity_thresholds=tuple(CapacityThreshold(amount) for amount in above),
    )
    return replace(made, spec=searched)


def passed(amount: float, **changes: Any) -> Trial:
    """Return a trial in which both thresholds held."""
    seen = (ThresholdResult(P99, "90 ms", met=True), ThresholdResult(ERRORS, "0 % (0 of 600)", met=True))
    return _trial(amount, TrialState.PASSED, thresholds=seen, **changes)


def failed(amount: float, *, p99: bool = True, errors: bool = False, **changes: Any) -> Trial:
    """Return a trial in which the thresholds that are named broke."""
    seen = (
        ThresholdResult(P99, "2.41 s" if p99 else "90 ms", met=not p99),
        ThresholdResult(ERRORS, "3.5 % (21 of 600)" if errors else "0 % (0 of 600)", met=not errors),
    )
    broken = "; ".join(one.broken_words for one in seen if not one.met)
    return _trial(amount, TrialState.FAILED, thresholds=seen, **{"message": broken, **changes})


def invalid(amount: float, why: Invalidity = Invalidity.GENERATOR_SATURATED, **changes: Any) -> Trial:
    """Return a trial that cannot be judged."""
    said = {"message": "a worker used 99% of its core", "generator": generator(cpu_share=0.99)}
    return _trial(amount, TrialState.INVALID, invalidity=why, **{**said, **changes})


def searched(
    *trials: Trial,
    end: SearchEnd = SearchEnd.FOUND,
    lower: float | None = None,
    upper: float | None = None,
    reported: int = 0,
    run_end: RunEnd = RunEnd.COMPLETED,
    **changes: Any,
) -> RunSummary:
    """Return the summary of a search of these trials, numbered in their order.

    Without `reported` it describes the last one that passed at `lower`, or else the last of all.
    """
    numbered = tuple(
        replace(one, number=number, started_s=(number - 1) * TRIAL_S) for number, one in enumerate(trials, start=1)
    )
    kept = [one.number for one in numbered if one.amount == lower and one.state is TrialState.PASSED]
    number = min(reported or (kept[-1] if kept else len(numbered)), len(numbered))
    others = tuple(one.in_short for one in numbered if one.number != number)
    found = SearchOutcome(end, lower, upper, others)
    described = numbered[number - 1] if numbered else trial()
    return replace(summary(**{"search": found, "trial": described, **changes}), end=run_end)


def found_118(*others: Trial, **changes: Any) -> RunSummary:
    """Return a search that found 118, where 121 breaks the latency; `others` are trials before these."""
    trials = (passed(10), failed(140), *others, passed(118), failed(121), passed(118), failed(121))
    return searched(*trials, lower=118, upper=121, **changes)


def strained(amount: float, wall_s: float = TRIAL_S, limits: dict[str, Any] | None = None, **grown: Any) -> Trial:
    """Return a trial that broke the latency, with a managed target of these limits whose counters grew so.

    `limits`, and readings that are no counters, are as after the trial.
    """
    before = target_stats(0, cpu_s=10.0, at_unix_s=1_800_000_000.0)
    counters = {name: getattr(before, name) + value for name, value in grown.items()}
    after = replace(before, at_unix_s=before.at_unix_s + wall_s, **{**counters, **(limits or {})})
    return failed(amount, target_before=before, target_after=after)


def _trial(amount: float, state: TrialState, **changes: Any) -> Trial:
    return trial(**{"amount": amount, "state": state, **changes})
