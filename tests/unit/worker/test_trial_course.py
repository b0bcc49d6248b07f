from dataclasses import replace

import pytest
from run_configs import NOWHERE, arrivals, run_config
from sshload_contract.capacity import Capacity, amount_of
from sshload_contract.load import HoldLoad, UsersLoad, UsersStage
from sshload_contract.run_summary import EarlyEnd
from sshload_contract.sample import Health
from sshload_contract.thresholds import ErrorRateThreshold
from sshload_contract.vocabulary import Outcome, RunEnd, Window
from sshload_worker.pacing.trial_order import TrialOrder
from sshload_worker.recording.recorder import Recorder
from sshload_worker.summary.trial_course import TrialCourse

HEALTHY = Health(0.1, 0.0, None, 1, 1, 1, 2, 2, 3, 28_232, 0)
CAPACITY = Capacity(least=10, most=100, precision=0.05, confirm=2, budget_s=600.0)
RUN = replace(run_config(NOWHERE, arrivals(10, 8.0)), capacity=CAPACITY, warm_up_s=2.0)
HOLD = HoldLoad(sessions=10, ramp_up_s=2.0, duration_s=5.0, keep_alive_s=0.0, probe_rate=0.0)


def course(number: int = 2, amount: float = 20.0) -> TrialCourse:
    return TrialCourse(TrialOrder(number, amount), RUN, 1.0)


def recorder(trial: int) -> Recorder:
    counting = Recorder("test-run", 0, trial=trial)
    counting.started(Window.MEASURED, 0)
    counting.sample("total", Window.MEASURED, Outcome.OK, 7)
    counting.ended(Window.MEASURED, Outcome.OK, inside=True)
    return counting


def test_a_trial_has_a_load_of_its_own_and_all_else_of_the_run() -> None:
    trial = course().config
    assert amount_of(trial.load) == 20.0
    assert replace(trial, load=RUN.load) == RUN


def test_held_sessions_log_in_at_the_same_rate_in_each_trial() -> None:
    held = TrialCourse(TrialOrder(2, 40.0), replace(RUN, load=HOLD), 1.0)
    assert held.planned_s == 2.0 + 8.0 + 5.0


@pytest.mark.parametrize(("trial", "counts"), [(2, True), (1, False), (0, False)])
def test_a_report_counts_in_its_own_trial_only(trial: int, counts: bool) -> None:  # noqa: FBT001 - as parametrised
    report = recorder(trial).take_report(HEALTHY, final=True)
    under_way = course(number=2)
    assert under_way.add(report) is counts
    assert not under_way.add(report)
    assert under_way.totals.window(Window.MEASURED).succeeded == counts


def test_instants_are_told_from_the_start_to_the_end() -> None:
    trial = course()
    assert (trial.started, trial.at_s(100.0)) == (False, 0.0)
    trial.start(101.0, 1_000.0)
    assert [trial.at_s(now_s) for now_s in (100.5, 101.0, 104.0)] == [0.0, 0.0, 3.0]
    trial.end(113.0, 1_012.0)
    assert (trial.is_over, trial.at_s(120.0)) == (True, 12.0)
    told = trial.summary(RunEnd.COMPLETED, "", workers_connected=1, workers_lost=0)
    assert (told.started_unix_s, told.finished_unix_s, told.load.duration_s) == (1_000.0, 1_012.0, 8.0)


def fail(counting: Recorder, iterations: int) -> None:
    for _ in range(iterations):
        counting.started(Window.MEASURED, 0)
        counting.sample("total", Window.MEASURED, Outcome.EXIT_CODE, 7)
        counting.failure("exec", Window.MEASURED, Outcome.EXIT_CODE, "exit code 3")
        counting.ended(Window.MEASURED, Outcome.EXIT_CODE, inside=True)


def hopeless() -> TrialCourse:
    """Return a trial that began at 100.0, of which half of the load has failed by then."""
    run = replace(RUN, capacity=None, thresholds=(ErrorRateThreshold(below=0.1, abort_on_fail=True),))
    trial, counting = TrialCourse(TrialOrder(0, 10.0), run, 1.0), Recorder("test-run", 0)
    trial.start(100.0, 1_000.0)
    fail(counting, 40)
    trial.add(counting.take_report(HEALTHY, final=False))
    return trial


def test_a_hopeless_load_ends_once_and_its_window_with_it() -> None:
    trial = hopeless()
    assert not trial.end_if_hopeless(101.9)  # in the warm-up
    assert trial.end_if_hopeless(106.0)
    assert not trial.end_if_hopeless(107.0)
    assert trial.early_end == EarlyEnd(6.0, "error rate below 10 %")
    trial.end(109.0, 1_009.0)
    told = trial.summary(RunEnd.COMPLETED, "", workers_connected=1, workers_lost=0)
    assert (told.early_end, told.load.duration_s) == (trial.early_end, 4.0)


def test_a_hopeless_load_was_as_long_as_its_workers_say() -> None:
    trial = hopeless()
    trial.note_load_end(0, 6.0)  # not ended yet
    assert trial.end_if_hopeless(106.0)
    trial.note_load_end(0, 6.5)
    trial.note_load_end(1, 1_000_000.0)  # the run has no such worker
    trial.end(109.0, 1_009.0)
    told = trial.summary(RunEnd.COMPLETED, "", workers_connected=1, workers_lost=0)
    assert (told.early_end, told.load.duration_s) == (EarlyEnd(6.5, "error rate below 10 %"), 4.5)


def test_a_hopeless_load_was_no_longer_than_planned() -> None:
    trial = hopeless()
    assert trial.end_if_hopeless(106.0)
    trial.note_load_end(0, 1_000_000.0)
    assert trial.early_end == EarlyEnd(trial.planned_s, "error rate below 10 %")


def test_a_hopeless_load_is_as_far_as_after_its_planned_end() -> None:
    trial = hopeless()
    assert trial.planned_at_s(106.0) == 6.0
    trial.end_if_hopeless(106.0)
    assert trial.planned_at_s(107.5) == trial.planned_s + 1.5
    assert not trial.end_if_hopeless(111.0)


@pytest.mark.parametrize(("workers", "unreported_s"), [(1, 1.0), (500, 5.0)])
def test_what_has_yet_to_be_reported_may_still_save_a_load(workers: int, unreported_s: float) -> None:
    users = UsersLoad((UsersStage(10, 100.0),), spawn_rate=0.0, think_time_min_s=0.1, think_time_max_s=0.1)
    errors = ErrorRateThreshold(below=0.5, abort_on_fail=True)
    run = replace(run_config(NOWHERE, users), workers=workers, warm_up_s=0.0, thresholds=(errors,))
    trial, counting = TrialCourse(TrialOrder(0, 10.0), run, 1.0), Recorder("test-run", 0)
    trial.start(0.0, 1_000.0)
    fail(counting, 40)
    trial.add(counting.take_report(HEALTHY, final=False))
    assert not trial.end_if_hopeless(99.9)
    fail(counting, round(300 * unreported_s))
    trial.add(counting.take_report(HEALTHY, final=False))
    assert trial.end_if_hopeless(99.9)


def test_the_series_ends_with_the_trial() -> None:
    trial, counting = course(), recorder(2)
    trial.start(100.0, 1_000.0)
    trial.mark(101.0)
    trial.add(counting.take_report(HEALTHY, final=True))
    trial.end(101.2, 1_001.2)
    trial.mark(105.0)
    series = trial.summary(RunEnd.COMPLETED, "", workers_connected=1, workers_lost=0).series
    assert [(round(point.at_s, 3), point.succeeded) for point in series] == [(1.0, 0), (1.2, 1)]


def test_a_trial_that_never_started_has_no_series_and_no_duration() -> None:
    trial = course()
    trial.mark(100.0)
    trial.end(101.0, 1_001.0)
    told = trial.summary(RunEnd.WORKERS_MISSING, "nobody came", workers_connected=0, workers_lost=0)
    assert (told.end, told.series, told.load.duration_s, told.load.scheduled) == (RunEnd.WORKERS_MISSING, (), 0.0, 0)


def test_rates_are_since_the_mark_before() -> None:
    trial, counting = course(), recorder(2)
    trial.start(100.0, 1_000.0)
    first, second = trial.mark(101.0)
    assert (first.at_s, second.at_s) == (0.0, 1.0)
    trial.add(counting.take_report(HEALTHY, final=False))
    before, now = trial.mark(102.0)
    assert (before.counts.succeeded, now.counts.succeeded, before.at_s, now.at_s) == (0, 1, 1.0, 2.0)
