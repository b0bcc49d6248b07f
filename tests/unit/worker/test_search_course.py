"""The trials of a run by what each came to: whole searches of played servers, their budget, and what is reported."""

from dataclasses import replace

import pytest
from run_configs import NOWHERE, TOKEN, arrivals, run_config
from runs import errors, generator, held_step, load, retold, summary
from sshload_contract.load import BurstLoad, HoldLoad, Load, Search, ThinkTime, UsersLoad, UsersStage
from sshload_contract.thresholds import ErrorRateThreshold, LatencyThreshold
from sshload_contract.vocabulary import Outcome, RunEnd, SearchEnd, TrialState, Window
from sshload_contract.wire.codec import from_json, to_json
from sshload_contract.wire.master_log import read_master_log, summary_lines
from sshload_contract.wire.report import ErrorCount
from sshload_contract.wire.run_config import RunConfig
from sshload_contract.wire.run_summary import RunSummary
from sshload_worker.pacing.share import TrialOrder
from sshload_worker.summary.search_course import SearchCourse, reported_one
from sshload_worker.summary.trial_course import TrialCourse

NO_ERRORS = ErrorRateThreshold(below=0.01)
TRIAL_S = 30.0
BURST = BurstLoad(connections=10, repeat=1, interval_s=30.0)
HOLD = HoldLoad(sessions=10, ramp_up_s=1.0, duration_s=29.0, keep_alive_s=0.0, probe_rate=5.0)
USERS = UsersLoad((UsersStage(users=10, duration_s=30.0),), 0.0, ThinkTime(0.0, 0.0))


def searching(model: Load, budget_s: float = 7200.0) -> RunConfig:
    search = Search(model, most=1000, precision=0.05, confirm=2, budget_s=budget_s)
    return replace(run_config(NOWHERE, search), thresholds=(NO_ERRORS,), start_lead_s=1.0)


def add(
    course: SearchCourse, config: RunConfig, order: TrialOrder, tried: RunSummary, target_activity: str = ""
) -> None:
    over = TrialCourse(order, config, 1.0)
    over.target_activity = target_activity
    course.add(over, tried, (order.number - 1) * TRIAL_S)


def tried_at(amount: float, limit: float, **changes: object) -> RunSummary:
    """Return what a server does that completes no more than its limit, and refuses the others."""
    failed = round(max(amount - limit, 0))
    ok = round(amount) - failed
    told = summary(ok, failed, load=load(ok, failed, completed_rate=min(amount, limit), held_least=ok))
    told = retold(told, steps=(*told.trial.steps, held_step("held.hold", ok, failed)))
    return retold(told, errors=errors(failed), **changes)  # type: ignore[arg-type]  # as a summary has them


def search(config: RunConfig, limit: float) -> tuple[SearchCourse, list[TrialOrder]]:
    """Play a whole search."""
    course, orders = SearchCourse(config), [SearchCourse(config).first_order()]
    add(course, config, orders[0], tried_at(orders[0].amount, limit))
    while (order := course.next_order()) is not None:
        orders.append(order)
        add(course, config, order, tried_at(order.amount, limit))
    return course, orders


@pytest.mark.parametrize("model", [arrivals(10, 30.0), BURST, HOLD, USERS], ids=lambda model: model.kind)
def test_the_limit_is_found_in_the_unit_of_the_load(model: Load) -> None:
    config = searching(model)
    course, orders = search(config, limit=123.0)
    told = course.summary(RunEnd.COMPLETED, "")
    result = told.search
    assert result is not None
    assert result.end is SearchEnd.FOUND
    assert result.lower is not None
    assert result.upper is not None
    assert 123 / 1.05 <= result.lower <= 123 < result.upper <= 123 * 1.05
    assert [(trial.number, trial.amount) for trial in told.trials] == [(one.number, one.amount) for one in orders]
    assert [order.config(config).load.amount for order in orders] == [order.amount for order in orders]


def test_each_trial_keeps_what_failed_in_it_at_the_target() -> None:
    config = searching(arrivals(10, 30.0))
    course = SearchCourse(config)
    found = (
        ErrorCount("banner", Outcome.THROTTLED, Window.MEASURED, 5, "Exceeded MaxStartups"),
        ErrorCount("via1.banner", Outcome.THROTTLED, Window.MEASURED, 7, "Exceeded MaxStartups"),
        ErrorCount("banner", Outcome.THROTTLED, Window.WARM_UP, 11, "Exceeded MaxStartups"),
        ErrorCount("exec", Outcome.STEP_TIMEOUT, Window.MEASURED, 1, "late"),
    )
    add(course, config, course.first_order(), retold(tried_at(10, 100.0), errors=found))
    told = course.summary(RunEnd.COMPLETED, "")
    assert told.trials[0].failed_by == {Outcome.THROTTLED: 5, Outcome.STEP_TIMEOUT: 1}


def test_the_trial_that_passed_last_at_the_capacity_stands_for_the_run() -> None:
    course, _ = search(searching(BURST), limit=123.0)
    told = course.summary(RunEnd.COMPLETED, "")
    assert told.search is not None
    passed = [trial for trial in told.trials if trial.amount == told.search.lower]
    assert len(passed) == 3
    assert told.trial.number == passed[-1].number
    assert (told.trial.load.started, told.trial.load.failed) == (told.search.lower, 0)


def test_where_none_passed_the_last_trial_stands_for_the_run() -> None:
    course, orders = search(searching(BURST), limit=5.0)
    told = course.summary(RunEnd.COMPLETED, "")
    assert told.search is not None
    assert (told.search.end, told.search.lower) == (SearchEnd.LEAST_BROKEN, None)
    assert told.trial.number == len(orders) == 5
    assert told.trial.load.failed == 5


def test_a_run_that_searches_nothing_is_one_trial_as_it_is_configured() -> None:
    config = replace(run_config(NOWHERE, replace(arrivals(10, 30.0), stages=arrivals(10, 30.0).stages * 2)))
    course = SearchCourse(config)
    order = course.first_order()
    assert (order.number, order.config(config)) == (0, config)
    assert course.progress(order) is None
    add(course, config, order, summary(600))
    assert course.next_order() is None
    told = course.summary(RunEnd.STOPPED, "told to terminate")
    assert (told.end, told.message, told.search, told.trial.load.succeeded) == (
        RunEnd.STOPPED,
        "told to terminate",
        None,
        600,
    )


def test_of_trials_at_the_capacity_and_elsewhere_the_last_that_passed_there_stands_for_the_run() -> None:
    tried = [
        retold(summary(600), number=number, amount=amount, state=state)
        for number, (amount, state) in enumerate(
            [
                (10.0, TrialState.PASSED),
                (20.0, TrialState.PASSED),
                (20.0, TrialState.PASSED),
                (20.0, TrialState.FAILED),
                (10.0, TrialState.PASSED),
                (40.0, TrialState.FAILED),
            ],
            start=1,
        )
    ]
    assert reported_one(tried, 20.0).trial.number == 3
    assert reported_one(tried, 10.0).trial.number == 5
    assert reported_one(tried, None).trial.number == 6


def test_each_trial_of_a_search_keeps_when_it_began() -> None:
    course, orders = search(searching(BURST), limit=5.0)
    told = course.summary(RunEnd.COMPLETED, "")
    assert [trial.started_s for trial in told.trials] == [(order.number - 1) * TRIAL_S for order in orders]


@pytest.mark.parametrize(("stolen", "trials"), [(0.5, 12), (0.0, 3)], ids=["by steal", "by the generator"])
def test_a_load_is_given_up_after_three_trials_that_the_generator_spoiled_or_four_times_as_many_by_steal(
    stolen: float, trials: int
) -> None:
    config = searching(arrivals(10, 30.0))
    course = SearchCourse(config)
    order: TrialOrder | None = course.first_order()
    spoiled = 0
    while order is not None and order.amount == 10:
        health = generator(cpu_share=0.97, stolen_share=stolen)
        add(course, config, order, retold(tried_at(10, 100.0), generator=health))
        spoiled += 1
        order = course.next_order()
    assert spoiled == trials


@pytest.mark.parametrize(
    ("at_s", "fits"),
    [
        pytest.param(0.0, True, id="the first"),
        pytest.param(60.0, True, id="one that ends just in time"),
        pytest.param(60.1, False, id="one that would end later"),
    ],
)
def test_a_trial_has_time_if_its_load_ends_within_the_budget(at_s: float, fits: bool) -> None:  # noqa: FBT001
    config = replace(searching(BURST, budget_s=93.0), warm_up_s=2.0)
    course = SearchCourse(config)
    assert course.has_time_for(course.first_order(), at_s) is fits


def test_a_longer_ramp_takes_more_of_the_budget() -> None:
    course = SearchCourse(searching(HOLD, budget_s=40.0))
    assert course.has_time_for(TrialOrder(2, 80.0), 0.0)
    assert not course.has_time_for(TrialOrder(2, 800.0), 0.0)


def test_a_search_that_is_not_at_its_end_ran_out_of_time() -> None:
    config = searching(BURST)
    course = SearchCourse(config)
    add(course, config, course.first_order(), tried_at(10, 123))
    told = course.summary(RunEnd.COMPLETED, "")
    result = told.search
    assert result is not None
    assert (result.end, result.lower, result.upper) == (SearchEnd.OUT_OF_TIME, 10.0, None)


def test_a_trial_that_the_runs_end_has_cut_off_is_told_and_says_nothing() -> None:
    config = searching(BURST)
    course = SearchCourse(config)
    add(course, config, course.first_order(), tried_at(10, 123))
    order = course.next_order()
    assert order is not None
    cut = tried_at(order.amount, 0, end=RunEnd.WORKER_LOST, message="worker 1 was silent")
    add(course, config, order, cut)
    told = course.summary(RunEnd.WORKER_LOST, "worker 1 was silent")
    assert told.search is not None
    assert (told.end, told.search.end) == (RunEnd.WORKER_LOST, SearchEnd.RUN_ENDED)
    assert [trial.state for trial in told.trials] == [TrialState.PASSED, TrialState.INVALID]
    assert (told.search.lower, told.search.upper, told.trial.number) == (10.0, None, 1)


def test_progress_tells_the_trial_under_way_and_the_bounds_so_far() -> None:
    config = searching(BURST)
    course = SearchCourse(config)
    first = course.first_order()
    started = course.progress(first)
    assert started is not None
    assert (started.trial, started.amount, started.lower, started.upper) == (1, 10.0, None, None)
    add(course, config, first, tried_at(10, 50))
    second = course.next_order()
    assert second is not None
    add(course, config, second, tried_at(second.amount, 50))
    third = course.next_order()
    assert third is not None
    told = course.progress(third)
    assert told is not None
    assert (told.trial, told.lower, told.upper) == (3, 10.0, second.amount)


@pytest.mark.parametrize(("limit", "told"), [(5, True), (123, False)], ids=["a failed trial", "one that passed"])
def test_a_trial_that_failed_tells_what_it_began_beside(limit: float, told: bool) -> None:  # noqa: FBT001
    config = searching(BURST)
    course = SearchCourse(config)
    add(
        course,
        config,
        course.first_order(),
        tried_at(10, limit),
        target_activity="the target still had 3 sessions open",
    )
    message = course.summary(RunEnd.COMPLETED, "").trial.message
    assert message.endswith("; the target still had 3 sessions open") is told
    assert bool(message) is told


def test_a_search_of_sixty_trials_fits_into_the_masters_log() -> None:
    """The operator reads the summary's lines at once; and the snapshots before it are far more."""
    thresholds = tuple(LatencyThreshold("total", percentile, 0.001) for percentile in (50, 90, 95, 99, 99.9))
    config = replace(searching(arrivals(10, 30.0)), thresholds=thresholds)
    course = SearchCourse(config)
    for number in range(1, 61):
        amount = 10 + number / 7
        add(
            course,
            config,
            TrialOrder(number, amount),
            tried_at(amount * 137, 1e4, target_held=summary().trial.target_after),
        )
    told = course.summary(RunEnd.COMPLETED, "")
    assert told.search is not None
    assert len(told.trials) == 60
    lines = list(summary_lines(told, TOKEN))
    assert sum(map(len, lines)) < 200_000
    assert read_master_log("\n".join(lines)).summary == told == from_json(RunSummary, to_json(told))
