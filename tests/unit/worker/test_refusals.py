from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sshload_contract.vocabulary import Outcome, Window
from sshload_contract.wire.report import Health
from sshload_contract.wire.target import TargetStats
from sshload_worker.recording.histogram import LatencyHistogram
from sshload_worker.recording.recorder import Recorder
from sshload_worker.summary.run_summary import classify_refusals
from sshload_worker.summary.totals import Failures, Totals

HEALTHY = Health(0.1, 0.0, None, 1, 1, 1, 2, 2, 3, 28_232, 0)
NOTHING = TargetStats(
    at_unix_s=0.0,
    sshd_version="OpenSSH_10.0",
    accepted=0,
    auth_failed=0,
    dropped_max_startups=7,
    dropped_penalty=5,
    dropped_is_lower_bound=False,
    sessions=0,
    cpu_s=0.0,
    cpu_throttled_s=0.0,
    cpu_limit_cores=None,
    machine_cpu=None,
    memory_bytes=0,
    memory_is_upper_bound=False,
    memory_peak_bytes=0,
    memory_limit_bytes=None,
    processes=0,
    processes_limit=None,
    oom_kills=0,
    refused_forks=0,
    listen_overflows=0,
)
outcomes = st.lists(st.sampled_from([Outcome.OK, Outcome.DROPPED_UNKNOWN, Outcome.THROTTLED, Outcome.PENALISED]))
grown = st.integers(min_value=0, max_value=2)


def after(max_startups: int, penalty: int) -> TargetStats:
    return replace(
        NOTHING,
        dropped_max_startups=NOTHING.dropped_max_startups + max_startups,
        dropped_penalty=NOTHING.dropped_penalty + penalty,
    )


def totals_of(ended: list[Outcome]) -> Totals:
    recorder = Recorder("run", 0)
    for number, outcome in enumerate(ended):
        recorder.started(Window.MEASURED, 0)
        for step in ("banner", "login", "total"):
            recorder.sample(step, Window.MEASURED, outcome, number + 1)
        if outcome is not Outcome.OK:
            recorder.failure("banner", Window.MEASURED, outcome, f"{outcome} first")
        recorder.ended(Window.MEASURED, outcome, at_ns=0)
    totals = Totals()
    totals.add(recorder.take_report(HEALTHY, final=True))
    return totals


def found(totals: Totals) -> set[Outcome]:
    return {outcome for _, _, outcome in totals.histograms} | {outcome for _, outcome, _ in totals.errors}


@pytest.mark.parametrize(
    ("max_startups", "penalty", "becomes"),
    [
        pytest.param(3, 0, Outcome.THROTTLED, id="only MaxStartups"),
        pytest.param(0, 3, Outcome.PENALISED, id="only penalties"),
        pytest.param(1, 3, Outcome.DROPPED_UNKNOWN, id="both"),
        pytest.param(0, 0, Outcome.DROPPED_UNKNOWN, id="neither"),
        pytest.param(-7, 3, Outcome.DROPPED_UNKNOWN, id="a target that was restarted"),
    ],
)
def test_drops_are_of_the_one_kind_that_the_target_has_counted(
    max_startups: int, penalty: int, becomes: Outcome
) -> None:
    told = classify_refusals(totals_of([Outcome.DROPPED_UNKNOWN]), NOTHING, after(max_startups, penalty))
    assert found(told) == {becomes}


def test_without_counts_of_the_target_drops_stay_unknown() -> None:
    for before, later in ((None, after(3, 0)), (NOTHING, None), (None, None)):
        assert found(classify_refusals(totals_of([Outcome.DROPPED_UNKNOWN]), before, later)) == {
            Outcome.DROPPED_UNKNOWN
        }


@pytest.mark.parametrize(
    ("before", "max_startups", "penalty", "becomes"),
    [
        pytest.param((7, 5), 3, 0, Outcome.DROPPED_UNKNOWN, id="penalties before"),
        pytest.param((7, 0), 3, 0, Outcome.THROTTLED, id="no penalty before"),
        pytest.param((7, 5), 0, 3, Outcome.DROPPED_UNKNOWN, id="MaxStartups before"),
        pytest.param((0, 5), 0, 3, Outcome.PENALISED, id="no drop by MaxStartups before"),
    ],
)
def test_a_kind_of_which_sshd_leaves_lines_out_is_not_ruled_out(
    before: tuple[int, int], max_startups: int, penalty: int, becomes: Outcome
) -> None:
    first = replace(NOTHING, dropped_max_startups=before[0], dropped_penalty=before[1], dropped_is_lower_bound=True)
    then = replace(first, dropped_max_startups=before[0] + max_startups, dropped_penalty=before[1] + penalty)
    assert found(classify_refusals(totals_of([Outcome.DROPPED_UNKNOWN]), first, then)) == {becomes}


def test_what_a_jump_host_dropped_is_not_told_by_the_targets_counts() -> None:
    recorder = Recorder("run", 0)
    for name in ("via1.banner", "via1.login", "banner", "held.banner", "login", "total"):
        recorder.sample(name, Window.MEASURED, Outcome.DROPPED_UNKNOWN, 5)
    for name in ("via1.banner", "banner", "login"):
        recorder.failure(name, Window.MEASURED, Outcome.DROPPED_UNKNOWN, "Not allowed at this time")
    totals = Totals()
    totals.add(recorder.take_report(HEALTHY, final=True))
    told = classify_refusals(totals, NOTHING, after(3, 0))
    known = {step for step, _, outcome in told.histograms if outcome is Outcome.THROTTLED}
    assert known == {"banner", "held.banner"}
    assert {step: outcome for step, outcome, _ in told.errors} == {
        "via1.banner": Outcome.DROPPED_UNKNOWN,
        "banner": Outcome.THROTTLED,
        "login": Outcome.DROPPED_UNKNOWN,
    }


def test_drops_join_those_that_the_server_had_named_itself() -> None:
    told = classify_refusals(totals_of([Outcome.DROPPED_UNKNOWN, Outcome.THROTTLED]), NOTHING, after(2, 0))
    assert told.histograms["total", Window.MEASURED, Outcome.THROTTLED] == LatencyHistogram([1, 2])
    assert told.errors == {("banner", Outcome.THROTTLED, Window.MEASURED): Failures(2, 0, "droppedUnknown first")}


@given(ended=outcomes, max_startups=grown, penalty=grown)
def test_nothing_is_counted_twice_or_lost_and_nothing_else_changes(
    ended: list[Outcome], max_startups: int, penalty: int
) -> None:
    totals = totals_of(ended)
    told = classify_refusals(totals, NOTHING, after(max_startups, penalty))
    for step in ("banner", "login", "total"):
        assert sum(one.count for (name, _, _), one in told.histograms.items() if name == step) == len(ended)
    assert sum(failures.count for failures in told.errors.values()) == sum(
        failures.count for failures in totals.errors.values()
    )
    assert told.successes("total", Window.MEASURED) == totals.successes("total", Window.MEASURED)
    assert told.counts == totals.counts
    assert totals.histograms == totals_of(ended).histograms
