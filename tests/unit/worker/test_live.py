from dataclasses import replace
from typing import Any

import pytest
from reports import REPORT
from run_configs import NOWHERE, arrivals, run_config
from sshload_contract.load import Search
from sshload_contract.vocabulary import Outcome, Window
from sshload_contract.wire.master_log import (
    PROBLEM_LIMIT_CHARACTERS,
    SNAPSHOT_LINE_LIMIT_BYTES,
    RunState,
    SearchProgress,
    Stage,
    snapshot_line,
)
from sshload_contract.wire.report import ErrorCount
from sshload_contract.wire.run_config import RunConfig
from sshload_worker.recording.histogram import LatencyHistogram
from sshload_worker.summary.progress import (
    NOTHING_YET,
    Progress,
    progress,
    remaining_s,
    run_stage,
    snapshot,
)
from sshload_worker.summary.totals import NO_COUNTS, Totals

CONFIG = replace(run_config(NOWHERE, arrivals(1, 10)), warm_up_s=2.0, drain_s=5.0)


@pytest.mark.parametrize(
    ("at_s", "stage", "left_s"),
    [
        pytest.param(0.0, Stage.WARM_UP, 12.0, id="the start"),
        pytest.param(2.0, Stage.MEASURING, 10.0, id="the end of the warm-up"),
        pytest.param(12.0, Stage.DRAINING, 5.0, id="the end of the load"),
        pytest.param(20.0, Stage.DRAINING, 0.0, id="overdue"),
    ],
)
def test_the_stage_and_what_is_left_follow_the_plan(at_s: float, stage: Stage, left_s: float) -> None:
    assert run_stage(CONFIG, at_s, started=True) is stage
    assert remaining_s(CONFIG, at_s, CONFIG, at_s) == left_s


def test_before_the_start_workers_are_waited_for_and_all_is_left() -> None:
    assert run_stage(CONFIG, 0.0, started=False) is Stage.WAITING_FOR_WORKERS
    assert remaining_s(CONFIG, 0.0, CONFIG, 0.0) == 12.0


def progress_at(at_s: float, ended: int) -> Progress:
    counts = replace(NO_COUNTS, scheduled=ended + 4, started=ended + 4, succeeded=ended - 1, failed=1)
    return replace(
        NOTHING_YET,
        at_s=at_s + 1.0,
        reported_s=at_s,
        held=3,
        in_flight=4,
        counts=counts,
        totals_ok=LatencyHistogram([7] * (ended - 1)),
    )


SEARCHED = replace(CONFIG, load=Search(CONFIG.load.at(1), most=9, precision=0.05, confirm=2, budget_s=300.0))


@pytest.mark.parametrize(
    ("config", "elapsed_s", "at_s", "left_s"),
    [
        pytest.param(CONFIG, 100.0, 5.0, 7.0, id="nothing searched: what is left of the one trial"),
        pytest.param(SEARCHED, 100.0, 5.0, 200.0, id="what is left of the budget"),
        pytest.param(SEARCHED, 298.0, 5.0, 7.0, id="the last trial's drain goes beyond it"),
        pytest.param(SEARCHED, 400.0, 20.0, 0.0, id="overdue"),
    ],
)
def test_of_a_search_is_left_what_its_trials_may_still_take(
    config: RunConfig, elapsed_s: float, at_s: float, left_s: float
) -> None:
    assert remaining_s(config, elapsed_s, CONFIG, at_s) == left_s


def standing(stage: Stage, **changes: Any) -> RunState:
    return replace(
        RunState(stage, elapsed_s=5.0, remaining_s=7.0, workers_connected=2, search=None, problem=""), **changes
    )


def test_rates_are_of_the_load_that_was_reported_between() -> None:
    told = snapshot("a-run", standing(Stage.MEASURING), progress_at(3.0, 100), progress_at(5.0, 400))
    assert (told.offered_rate, told.completed_rate) == (150.0, 150.0)
    assert (told.iterations, told.failures, told.in_flight, told.p99_us) == (400, 1, 4, 7)


def test_where_no_time_has_passed_there_is_no_rate() -> None:
    told = snapshot("a-run", standing(Stage.WAITING_FOR_WORKERS), NOTHING_YET, NOTHING_YET)
    assert (told.offered_rate, told.completed_rate, told.p99_us) == (0.0, 0.0, None)


def test_a_snapshot_fits_into_its_line() -> None:
    search = SearchProgress(trial=60, amount=1e5 / 3, lower=2e5 / 3, upper=2e6 / 3)
    now = standing(Stage.WAITING_FOR_WORKERS, workers_connected=10**6, elapsed_s=1e7 / 3, search=search)
    told = snapshot("x" * 253, now, progress_at(1e7 / 3, 10**4), progress_at(2e7 / 3, 10**5))
    assert len(snapshot_line(told)) < SNAPSHOT_LINE_LIMIT_BYTES


def test_the_median_so_far_and_that_of_late_are_told_apart() -> None:
    before = replace(progress_at(4.0, 0), totals_ok=LatencyHistogram([10_000] * 50))
    now = replace(progress_at(5.0, 0), totals_ok=LatencyHistogram([10_000] * 50 + [90_000] * 20))
    told = snapshot("run", standing(Stage.MEASURING), before, now)
    assert told.p50_us == pytest.approx(10_000, rel=0.01)
    assert told.recent_p50_us == pytest.approx(90_000, rel=0.01)


def test_each_percentile_that_is_told_is_the_one_that_its_name_says() -> None:
    graded = LatencyHistogram([round(1_000 * 1.05**place) for place in range(1, 101) for _ in range(10)])
    now = replace(progress_at(5.0, 0), totals_ok=graded)
    told = snapshot("run", standing(Stage.MEASURING), NOTHING_YET, now)
    expected = {place: pytest.approx(1_000 * 1.05**place, rel=0.01) for place in (50, 99)}
    assert (told.p50_us, told.recent_p50_us, told.p99_us) == (expected[50], expected[50], expected[99])


def test_before_anything_is_reported_nothing_is_there() -> None:
    told = snapshot("run", standing(Stage.WAITING_FOR_WORKERS), NOTHING_YET, NOTHING_YET)
    assert (told.users, told.held, told.in_flight, told.iterations, told.failures) == (0, 0, 0, 0, 0)
    assert (NOTHING_YET.at_s, NOTHING_YET.reported_s, NOTHING_YET.oldest_report_at_s) == (0.0, 0.0, 0.0)


def test_failures_are_told_by_kind_the_most_frequent_three_first() -> None:
    totals = Totals()
    counted = {Outcome.THROTTLED: 5, Outcome.REFUSED: 1, Outcome.EXIT_CODE: 9, Outcome.KEX_FAILED: 2}
    errors = tuple(ErrorCount("auth", one, Window.MEASURED, count, "why") for one, count in counted.items())
    twice = (ErrorCount("kex", Outcome.THROTTLED, Window.WARM_UP, 5, "why"),)
    totals.add(replace(REPORT, errors=(*errors, *twice)))
    told = snapshot("run", standing(Stage.MEASURING), NOTHING_YET, progress(totals, 1.0, 1))
    assert [(kind.outcome, kind.count) for kind in told.failure_kinds] == [
        (Outcome.THROTTLED, 10),
        (Outcome.EXIT_CODE, 9),
        (Outcome.KEX_FAILED, 2),
    ]


def test_a_long_problem_is_cut_to_what_a_snapshot_has_room_for() -> None:
    at = replace(standing(Stage.WAITING_FOR_WORKERS), problem="x" * 500)
    assert len(snapshot("run", at, NOTHING_YET, NOTHING_YET).problem) == PROBLEM_LIMIT_CHARACTERS
