from collections import deque
from collections.abc import Callable
from dataclasses import replace

import pytest
from reports import REPORT
from run_configs import NOWHERE, arrivals, run_config
from runs import target_stats
from sshload_contract.load import HoldLoad, Search, ThinkTime, UsersLoad, UsersStage
from sshload_contract.thresholds import ErrorRateThreshold
from sshload_contract.vocabulary import InPath, Outcome, RunEnd, Window
from sshload_contract.wire.ldap import AccountCache, DirectoryPause, LdapFacts
from sshload_contract.wire.master_log import RunState, Stage
from sshload_contract.wire.program import ProgramStats, ProgramUse
from sshload_contract.wire.report import Health, Report
from sshload_contract.wire.reporting import first_report_s, report_interval_s
from sshload_contract.wire.run_summary import EarlyEnd, Paused
from sshload_contract.wire.target import TargetStats
from sshload_worker.pacing.share import TrialOrder
from sshload_worker.recording.recorder import Recorder
from sshload_worker.summary import trial_course
from sshload_worker.summary.progress import snapshot
from sshload_worker.summary.totals import NO_COUNTS
from sshload_worker.summary.trial_course import TrialCourse

HEALTHY = Health(0.1, 0.0, None, 1, 1, 1, 2, 2, 3, 28_232, 0)
SEARCH = Search(arrivals(10, 8.0), most=100, precision=0.05, confirm=2, budget_s=600.0)
RUN = replace(run_config(NOWHERE, SEARCH), warm_up_s=2.0)
STANDING = RunState(Stage.MEASURING, 1.0, 1.0, workers_connected=1, search=None, problem="")
HOLD = HoldLoad(sessions=10, ramp_up_s=2.0, duration_s=5.0, keep_alive_s=0.0, probe_rate=0.0)


def course(number: int = 2, amount: float = 20.0) -> TrialCourse:
    return TrialCourse(TrialOrder(number, amount), RUN, 1.0)


def recorder(trial: int) -> Recorder:
    counting = Recorder("test-run", 0, trial=trial)
    counting.started(Window.MEASURED, 0)
    counting.sample("total", Window.MEASURED, Outcome.OK, 7)
    counting.ended(Window.MEASURED, Outcome.OK, at_ns=0)
    return counting


def test_a_trial_has_a_load_of_its_own_and_all_else_of_the_run() -> None:
    trial = course().config
    assert trial.load.amount == 20.0
    assert replace(trial, load=RUN.load) == RUN


def test_held_sessions_log_in_at_the_same_rate_in_each_trial() -> None:
    held = TrialCourse(TrialOrder(2, 40.0), replace(RUN, load=replace(SEARCH, least=HOLD)), 1.0)
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
    assert (told.started_unix_s, told.finished_unix_s, told.trial.load.duration_s) == (1_000.0, 1_012.0, 8.0)


def fail(counting: Recorder, iterations: int) -> None:
    for _ in range(iterations):
        counting.started(Window.MEASURED, 0)
        counting.sample("total", Window.MEASURED, Outcome.EXIT_CODE, 7)
        counting.failure("exec", Window.MEASURED, Outcome.EXIT_CODE, "exit code 3")
        counting.ended(Window.MEASURED, Outcome.EXIT_CODE, at_ns=0)


def hopeless() -> TrialCourse:
    """Return a trial that began at 100.0, of which half of the load has failed by then."""
    run = replace(RUN, load=SEARCH.least, thresholds=(ErrorRateThreshold(below=0.1, abort_on_fail=True),))
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
    assert (told.early_end, told.trial.load.duration_s) == (trial.early_end, 4.0)


def test_a_load_at_its_planned_end_is_not_ended_early() -> None:
    assert not hopeless().end_if_hopeless(110.0)
    assert hopeless().end_if_hopeless(109.9)


def test_whether_a_load_is_hopeless_is_looked_at_from_its_begin_on_and_again_5_s_after_a_look_that_cost_something(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked_at: list[float] = []

    def look(_config: object, _totals: object, _unreported_s: float, so_far: Callable[[], object]) -> None:
        looked_at.append(now_s)
        so_far()

    monkeypatch.setattr(trial_course, "unrecoverable_threshold", look)
    trial = TrialCourse(TrialOrder(0, 10.0), replace(run_config(NOWHERE, arrivals(10, 60.0)), warm_up_s=0.0), 1.0)
    trial.start(0.0, 1_000.0)
    for now_s in (0.5, 1.0, 5.4, 5.5, 10.4, 10.5):
        assert not trial.end_if_hopeless(now_s)
    assert looked_at == [0.5, 5.5, 10.5]


def test_a_hopeless_load_was_as_long_as_its_workers_say() -> None:
    trial = hopeless()
    trial.note_load_end(0, 6.0)  # not ended yet
    assert trial.end_if_hopeless(106.0)
    trial.note_load_end(0, 6.5)
    trial.note_load_end(1, 1_000_000.0)  # the run has no such worker
    trial.end(109.0, 1_009.0)
    told = trial.summary(RunEnd.COMPLETED, "", workers_connected=1, workers_lost=0)
    assert (told.early_end, told.trial.load.duration_s) == (EarlyEnd(6.5, "error rate below 10 %"), 4.5)


def test_a_hopeless_load_was_no_longer_than_planned() -> None:
    trial = hopeless()
    assert trial.end_if_hopeless(106.0)
    trial.note_load_end(0, 1_000_000.0)
    assert trial.early_end == EarlyEnd(trial.planned_s, "error rate below 10 %")


@pytest.mark.parametrize(
    ("end", "measured_s"),
    [
        pytest.param(RunEnd.STOPPED, 4.5, id="it was stopped, which took until 109.0"),
        pytest.param(RunEnd.COMPLETED, 7.0, id="nobody stopped it"),
    ],
)
def test_a_stopped_load_was_as_long_as_its_workers_say_and_not_until_they_had_cleaned_up(
    end: RunEnd, measured_s: float
) -> None:
    trial = hopeless()
    trial.note_load_end(0, 6.5)
    trial.end(109.0, 1_009.0)
    assert trial.summary(end, "", workers_connected=1, workers_lost=0).trial.load.duration_s == measured_s


def test_a_hopeless_load_is_as_far_as_after_its_planned_end() -> None:
    trial = hopeless()
    assert trial.planned_at_s(106.0) == 6.0
    trial.end_if_hopeless(106.0)
    assert trial.planned_at_s(107.5) == trial.planned_s + 1.5
    assert not trial.end_if_hopeless(111.0)


@pytest.mark.parametrize(("workers", "unreported_s"), [(1, 1.0), (500, 5.0)])
def test_what_has_yet_to_be_reported_may_still_save_a_load(workers: int, unreported_s: float) -> None:
    users = UsersLoad((UsersStage(10, 100.0),), spawn_rate=0.0, think_time=ThinkTime(0.1, 0.1))
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
    trial.add(counting.take_report(HEALTHY, until_s=1.0, final=False))
    trial.mark(101.0)
    trial.add(counting.take_report(HEALTHY, until_s=1.2, final=True))
    trial.end(101.2, 1_001.2)
    trial.mark(105.0)
    series = trial.summary(RunEnd.COMPLETED, "", workers_connected=1, workers_lost=0).series
    assert [(round(point.at_s, 3), point.succeeded) for point in series] == [(1.0, 1), (1.2, 0)]


def test_a_trial_that_never_started_has_no_series_and_no_duration() -> None:
    trial = course()
    trial.mark(100.0)
    trial.end(101.0, 1_001.0)
    told = trial.summary(RunEnd.WORKERS_MISSING, "nobody came", workers_connected=0, workers_lost=0)
    assert (told.end, told.series, told.trial.load.duration_s, told.trial.load.scheduled) == (
        RunEnd.WORKERS_MISSING,
        (),
        0.0,
        0,
    )


EVEN_RATE = 20.0
"""The iterations per second of each worker of an even load."""


def even_reports(workers: int, until_s: float) -> list[Report]:
    """Return what the workers of an even load report until its end, in the order of time.

    Each report takes its time, so that the next one is a little later than the interval says.
    """
    reports: list[Report] = []
    for worker in range(workers):
        at_s, sequence, counted = first_report_s(worker, workers), 0, 0
        while sequence == 0 or not reports[-1].final:
            final = at_s >= until_s
            ended = round(EVEN_RATE * min(at_s, until_s)) - counted
            counts = {Window.MEASURED: replace(NO_COUNTS, scheduled=ended, started=ended, succeeded=ended)}
            sequence, counted = sequence + 1, counted + ended
            reported_s = min(at_s, until_s)
            told = replace(REPORT, worker=worker, sequence=sequence, until_s=reported_s, final=final, counts=counts)
            reports.append(told)
            at_s += 1.02 * report_interval_s(workers)
    return sorted(reports, key=lambda report: report.until_s)


@pytest.mark.parametrize("workers", [1, 3, 200, 500])
def test_each_rate_of_an_even_load_is_the_same_however_rarely_its_workers_report(workers: int) -> None:
    length_s, all_at_once = 10.0, workers * EVEN_RATE
    run = replace(run_config(NOWHERE, arrivals(all_at_once, length_s)), workers=workers, warm_up_s=0.0)
    trial = TrialCourse(TrialOrder(0, all_at_once), run, 1.0)
    trial.start(0.0, 1_000.0)
    reports, live = deque(even_reports(workers, length_s)), []
    for second in range(1, 10):
        while reports[0].until_s <= second:
            trial.add(reports.popleft())
        told = snapshot("test-run", STANDING, *trial.mark(float(second)))
        live += [told.offered_rate, told.completed_rate]
    for report in reports:
        trial.add(report)
    trial.end(length_s, 1_010.0)
    series = trial.summary(RunEnd.COMPLETED, "", workers_connected=workers, workers_lost=0).series
    begins_s = [0.0, *(point.at_s for point in series)]
    assert len(series) > length_s / 2
    rates = [point.succeeded / (point.at_s - begin_s) for point, begin_s in zip(series, begins_s, strict=False)]
    assert [*live, *rates] == pytest.approx([all_at_once] * (len(live) + len(rates)), rel=0.05)
    assert (sum(point.succeeded for point in series), series[-1].at_s) == (all_at_once * length_s, length_s)


def test_of_the_programs_in_the_path_those_count_that_were_read_before_and_after() -> None:
    trial = course()
    early, late = ProgramStats(1.0, 0.0, None), ProgramStats(3.0, 0.0, None)
    trial.in_path_before = {InPath.PROXY: early, InPath.GATEWAY: early}
    trial.in_path_after = {InPath.PROXY: late}
    trial.end(101.0, 1_001.0)
    told = trial.summary(RunEnd.COMPLETED, "", workers_connected=1, workers_lost=0)
    assert told.in_path == {InPath.PROXY: ProgramUse(early, late)}
    assert trial.target_activity == ""


def test_live_rates_are_of_enough_of_the_load() -> None:
    trial, counting = course(), recorder(2)
    trial.start(100.0, 1_000.0)
    for until_s in (0.5, 1.0, 1.2, 2.0):
        trial.add(counting.take_report(HEALTHY, until_s=until_s, final=False))
        before, now = trial.mark(100.0 + until_s)
    assert (before.reported_s, now.reported_s) == (1.0, 2.0)


def test_live_rates_stay_until_there_are_new_reports_and_end_with_the_trial() -> None:
    trial, counting = course(), recorder(2)
    trial.start(100.0, 1_000.0)
    trial.add(counting.take_report(HEALTHY, until_s=1.0, final=False))
    for now_s in (101.0, 102.0):
        before, now = trial.mark(now_s)
        assert (before.counts.succeeded, now.counts.succeeded) == (0, 1)
        assert (before.reported_s, now.reported_s) == (0.0, 1.0)
    trial.end(103.0, 1_003.0)
    before, now = trial.mark(104.0)
    assert before == now


def test_a_worker_that_claims_to_have_reported_the_future_has_reported_up_to_now() -> None:
    trial, counting = course(), recorder(2)
    trial.start(100.0, 1_000.0)
    trial.add(counting.take_report(HEALTHY, until_s=1e9, final=False))
    _, now = trial.mark(103.0)
    assert now.reported_s == 3.0


def with_pause(began_ago_s: float, ended_ago_s: float) -> TargetStats:
    facts = LdapFacts(
        cache=AccountCache.COLD,
        slapd_version="2.6",
        sssd_version="2.10",
        paused=DirectoryPause(began_ago_s, ended_ago_s),
    )
    return target_stats(5, ldap=facts)


def told_pause(after: TargetStats | None) -> Paused | None:
    """Return the pause of a trial that began at 101 s, by what its target said at 120 s."""
    trial = course()
    trial.start(101.0, 1_000.0)
    trial.end(118.0, 1_017.0)
    trial.target_after = after
    trial.note_pause(120.0)
    return trial.summary(RunEnd.COMPLETED, "", workers_connected=1, workers_lost=0).trial.paused


def test_a_pause_of_the_directory_is_told_from_the_start_of_the_load() -> None:
    assert told_pause(with_pause(14.0, 10.5)) == Paused(from_s=5.0, to_s=8.5)


@pytest.mark.parametrize("after", [None, target_stats(5), with_pause(20.0, 19.5)])
def test_a_target_that_did_not_pause_in_the_trial_has_none(after: TargetStats | None) -> None:
    assert told_pause(after) is None
