from dataclasses import replace
from typing import Any

import pytest
from run_configs import NOWHERE, arrivals, run_config
from runs import errors, generator, held_step, load, steps, summary, target_stats
from sshload_contract.load import HoldLoad
from sshload_contract.thresholds import ErrorRateThreshold, LatencyThreshold, TargetCpuThreshold
from sshload_contract.vocabulary import Invalidity, Outcome, RunEnd, TrialState
from sshload_contract.wire.run_summary import RunSummary
from sshload_worker.summary.search_course import count_trial

FAST = LatencyThreshold(step="total", percentile=99, below_s=0.05)
SLOW = LatencyThreshold(step="total", percentile=99, below_s=1.0)
RARE = LatencyThreshold(step="total", percentile=99.99, below_s=1.0)
NO_ERRORS = ErrorRateThreshold(below=0.01)
CONFIG = replace(run_config(NOWHERE, arrivals(20, 30.0)), stats_url="http://target/stats")
OVERLOADED = load(dropped=100, scheduled=700, offered_rate=23.3)
SATURATED = generator(cpu_share=0.97)
HOLD = HoldLoad(sessions=10, ramp_up_s=1.0, duration_s=30.0, keep_alive_s=0.0, probe_rate=0.0)


def nothing_succeeded() -> RunSummary:
    return summary(0, failed=50, errors=errors(50, Outcome.REFUSED))


@pytest.mark.parametrize(
    ("tried", "thresholds", "state", "invalidity", "said"),
    [
        pytest.param(summary(), (SLOW, NO_ERRORS), TrialState.PASSED, None, "", id="all held"),
        pytest.param(summary(), (FAST,), TrialState.FAILED, None, "below 50 ms, but it was 90 ms", id="one broken"),
        pytest.param(
            summary(500, failed=100),
            (FAST, NO_ERRORS),
            TrialState.FAILED,
            None,
            "below 50 ms, but it was 90 ms; error rate below 1 %, but it was 16.67 % (100 of 600)",
            id="all that are broken are told",
        ),
        pytest.param(
            summary(), (RARE,), TrialState.FAILED, None, "p99.99 needs 29956 samples, there are 600", id="not judged"
        ),
        pytest.param(
            nothing_succeeded(), (SLOW,), TrialState.FAILED, None, "not one of 50 iterations", id="all failed"
        ),
        pytest.param(
            summary(generator=SATURATED),
            (FAST,),
            TrialState.INVALID,
            Invalidity.GENERATOR_SATURATED,
            "97% of the CPU that it may use",
            id="what cannot be trusted breaks nothing",
        ),
        pytest.param(
            summary(load=OVERLOADED),
            (FAST,),
            TrialState.FAILED,
            None,
            "was 90 ms",
            id="an overload breaks what it breaks",
        ),
        pytest.param(
            summary(load=OVERLOADED),
            (SLOW,),
            TrialState.INVALID,
            Invalidity.ARRIVALS_DROPPED,
            "100 of 700 arrivals",
            id="what held under less load than was to be tried says nothing",
        ),
        pytest.param(
            summary(0),
            (SLOW,),
            TrialState.INVALID,
            Invalidity.NO_REQUESTS,
            "not one iteration began",
            id="nothing tried",
        ),
        pytest.param(
            summary(target_after=target_stats(10)),
            (SLOW,),
            TrialState.INVALID,
            Invalidity.COUNTS_DISAGREE,
            "the target accepted 10 logins",
            id="a target that was restarted",
        ),
        pytest.param(
            summary(end=RunEnd.WORKER_LOST, message="worker 1 was silent"),
            (FAST,),
            TrialState.INVALID,
            Invalidity.WORKER_LOST,
            "the run ended before the trial did: worker 1 was silent",
            id="cut off by a loss",
        ),
        pytest.param(
            summary(end=RunEnd.STOPPED, message="told to terminate"),
            (SLOW,),
            TrialState.INVALID,
            None,
            "the run ended before the trial did: told to terminate",
            id="cut off by a stop",
        ),
    ],
)
def test_a_trial_is_judged_as_a_run_is(
    tried: RunSummary, thresholds: tuple[Any, ...], state: TrialState, invalidity: Invalidity | None, said: str
) -> None:
    counted = count_trial(replace(CONFIG, thresholds=thresholds), tried)
    assert (counted.state, counted.invalidity) == (state, invalidity)
    assert said in counted.message
    assert bool(counted.message) is (state is not TrialState.PASSED)
    assert len(counted.thresholds) == len(thresholds)


def test_an_external_target_has_no_counts_to_disagree() -> None:
    external = replace(CONFIG, stats_url="", thresholds=(SLOW,))
    assert count_trial(external, summary(target_before=None, target_after=None)).state is TrialState.PASSED
    assert count_trial(replace(CONFIG, thresholds=(SLOW,)), summary(target_after=None)).state is TrialState.INVALID


@pytest.mark.parametrize(
    ("to_the_end", "state"), [(10, TrialState.PASSED), (9, TrialState.FAILED), (0, TrialState.FAILED)]
)
def test_of_held_sessions_those_count_that_were_held_to_the_end(to_the_end: int, state: TrialState) -> None:
    held = summary(0, steps=(*steps(0, 0), held_step("held.hold", to_the_end, 10 - to_the_end)))
    counted = count_trial(replace(CONFIG, load=HOLD, thresholds=(NO_ERRORS,)), held)
    assert counted.state is state, counted.message


def test_a_trial_whose_target_was_not_read_cannot_be_judged() -> None:
    busy = replace(CONFIG, thresholds=(TargetCpuThreshold(0.8),))
    counted = count_trial(busy, summary())
    assert (counted.state, counted.invalidity) == (TrialState.INVALID, Invalidity.COUNTS_DISAGREE)
    assert "not read within the measured window" in counted.message
