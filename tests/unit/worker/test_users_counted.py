"""What happened to each user of a population is counted exactly, over all workers, without the names of a file."""

from dataclasses import replace
from time import monotonic_ns
from typing import Any, cast

import pytest
from gevent import spawn
from reports import REPORT
from run_configs import NOWHERE, arrivals, run_config
from sshload_contract.load import ThinkTime, UsersLoad, UsersStage
from sshload_contract.users import NumberedUsers, Pick, UsersInTurn
from sshload_contract.vocabulary import Outcome, RunEnd, Window
from sshload_contract.wire.report import UserCounts
from sshload_contract.wire.run_summary import EarlyEnd, UserStats
from sshload_worker.login.login import NOBODYS, Login
from sshload_worker.outcomes import StepFailure
from sshload_worker.pacing.generator import Generator
from sshload_worker.pacing.share import Share, TrialOrder
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.step_clock import Due, StepClock, without_name
from sshload_worker.scenario.steps.step_run import StepRun
from sshload_worker.summary.totals import Totals
from sshload_worker.summary.trial_course import TrialCourse
from sshload_worker.summary.users import WORST_USERS, population_stats

MS = 1_000_000


def login(place: int | None, user: str = "ann") -> Login:
    nothing: Any = None
    return Login(None, "nowhere", 22, user, NOBODYS, nothing, nothing, (), None, None, place)


def clock(recorder: Recorder, place: int | None, window: Window = Window.MEASURED, user: str = "ann") -> StepClock:
    made = StepClock(recorder, Due(monotonic_ns(), window))
    made.login = login(place, user)
    return made


def counted(*workers: Recorder) -> Totals:
    totals = Totals()
    for index, recorder in enumerate(workers):
        assert totals.add(replace(recorder.take_report(REPORT.health, final=True), worker=index))
    return totals


def population_of(size: int) -> Recorder:
    made = Recorder("run", 0)
    made.population = size
    return made


def test_the_logins_and_failures_of_all_workers_are_added_up_for_each_user() -> None:
    first, second = population_of(4), population_of(4)
    clock(first, 0).logged_in(5 * MS)
    clock(first, 1, Window.WARM_UP).logged_in(90 * MS)
    clock(second, 0).logged_in(7 * MS)
    clock(second, 2).failed(Outcome.AUTH_REJECTED, "no")
    clock(second, 0).failed(Outcome.EXIT_CODE, "exit code 1")
    clock(second, 2, Window.WARM_UP).failed(Outcome.AUTH_REJECTED, "no")
    found = population_stats(counted(first, second))
    assert found is not None
    assert (found.size, found.took_part, found.least_logins, found.most_logins, found.failed) == (4, 3, 0, 2, 2)
    assert found.most_failures == (UserStats(0, 2, 1, 7_000), UserStats(2, 0, 1, 0))
    assert found.slowest == (UserStats(0, 2, 1, 7_000),), "logins of the warm-up are in no figure of the window"


def test_the_fewest_logins_are_those_of_all_users_once_all_took_part() -> None:
    recorder = population_of(2)
    for place in (0, 1, 1):
        clock(recorder, place).logged_in(MS)
    found = population_stats(counted(recorder))
    assert found is not None
    assert (found.least_logins, found.most_logins) == (1, 2)


def test_who_had_no_turn_has_the_fewest_logins() -> None:
    recorder = population_of(3)
    for place in (0, 1):
        clock(recorder, place).logged_in(MS)
    found = population_stats(counted(recorder))
    assert found is not None
    assert (found.took_part, found.least_logins, found.most_logins) == (2, 0, 1)


def test_only_the_worst_are_told_and_of_equals_the_first() -> None:
    recorder = population_of(100)
    for place in range(100):
        clock(recorder, place).logged_in(MS)
        clock(recorder, place).failed(Outcome.EXIT_CODE, "exit code 1")
    clock(recorder, 77).logged_in(2 * MS)
    clock(recorder, 50).failed(Outcome.EXIT_CODE, "exit code 1")
    found = population_stats(counted(recorder))
    assert found is not None
    assert [user.place for user in found.slowest] == [77, 0, 1, 2, 3]
    assert [user.place for user in found.most_failures] == [50, 0, 1, 2, 3]
    assert len(found.slowest) == WORST_USERS
    assert found.failed == 100


def test_a_run_of_one_user_counts_none() -> None:
    recorder = Recorder("run", 0)
    clock(recorder, None).logged_in(MS)
    clock(recorder, None).failed(Outcome.EXIT_CODE, "exit code 1")
    assert population_stats(counted(recorder)) is None


def test_only_the_last_report_has_the_users_all_since_the_start() -> None:
    recorder = population_of(1)
    clock(recorder, 0).logged_in(MS)
    assert recorder.take_report(REPORT.health, final=False).users_of_population == ()
    clock(recorder, 0).logged_in(MS)
    assert recorder.take_report(REPORT.health, final=True).users_of_population == (
        UserCounts(Window.MEASURED, places=(0,), logins=(2,), failures=(0,), slowest_us=(1_000,)),
    )


def test_what_a_stop_cuts_off_is_no_failure_of_its_user() -> None:
    recorder = population_of(1)
    recorder.is_stopped = True
    clock(recorder, 0).failed(Outcome.UNFINISHED, "still running")
    assert recorder.take_report(REPORT.health, final=True).users_of_population == ()


def test_users_that_do_not_exist_and_lists_that_do_not_fit_are_left_out() -> None:
    """A worker may be a tenant's own program."""
    beyond = UserCounts(Window.MEASURED, (0, 3, 2**40), (1, 1, 1, 1, 1), (0, 0, 0), (5, 5, 5))
    totals = Totals()
    totals.add(replace(REPORT, final=True, population=3, users_of_population=(beyond,)))
    totals.add(replace(REPORT, worker=1, final=True, population=2**50))
    found = population_stats(totals)
    assert found is not None
    assert (found.size, found.took_part) == (100_000, 1)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("There were too many logins for 'ann'.", "There were too many logins for '{user}'."),
        ("ann@host: ann: no", "{user}@host: {user}: no"),
        ("annual cannot Xann ann_b", "annual cannot Xann ann_b"),
    ],
)
def test_a_message_has_a_mark_in_place_of_the_name(said: str, told: str) -> None:
    assert without_name(said, "ann") == told
    recorder = population_of(1)
    clock(recorder, 0).failed(Outcome.EXIT_CODE, said)
    clock(recorder, None).failed(Outcome.EXEC_REJECTED, said)
    errors = recorder.take_report(REPORT.health, final=True).errors
    assert [error.first_message for error in errors] == [told, said], "one user alone is named in the spec"


def step_run(user: str | None) -> StepRun:
    made = clock(Recorder("run", 0), 0, user=user or "")
    if user is None:
        made.login = None
    return StepRun(cast("Any", None), made, cast("Any", None), "0-7", lambda _host, _port: "")


def test_the_name_of_the_user_stands_in_commands_where_no_shell_reads_it_otherwise() -> None:
    assert step_run("ann.b").fill_in("ls /home/{user}/{iteration} ${USER}") == "ls /home/ann.b/0-7 ${USER}"
    assert step_run("DOM\\ann").fill_in("id {iteration}") == "id 0-7"
    assert step_run(None).fill_in("id {user}") == "id {user}"
    with pytest.raises(StepFailure, match="a name with a backslash"):
        step_run("DOM\\ann").fill_in("id {user}")


class Played:
    """Iterations that note their turns, and sessions."""

    def __init__(self) -> None:
        self.recorder = Recorder("run", 0)
        self.turns: list[int] = []

    @property
    def sessions(self) -> Any:
        return self

    def run(self, due: Due, user: int | None = None) -> bool:
        del user
        self.turns.append(due.turn)
        return True

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None


CLOSED = UsersLoad((UsersStage(4, 3_600.0),), None, ThinkTime(0.001, 0.002))


@pytest.mark.parametrize("load", [arrivals(500, 3_600.0), CLOSED], ids=["arrivals", "users"])
def test_the_load_of_each_worker_ends_when_all_users_had_a_turn(load: Any) -> None:
    config = replace(run_config(NOWHERE, load), warm_up_s=0.0, start_lead_s=0.0, drain_s=1.0)
    workers, lasted_s = [], []
    for index in range(2):
        played: Any = Played()
        made = Generator(config, Share(index, 2), played, cast("Any", Played()), monotonic_ns())
        made.take_turns(25, 25)
        made.on_users_used_up = lasted_s.append
        workers.append((played, spawn(made.run)))
    for _, work in workers:
        work.get()
    assert max(lasted_s) < CLOSED.lasts_s
    assert sorted(turn for played, _ in workers for turn in played.turns) == list(range(25))
    assert len(lasted_s) == 2
    if load is not CLOSED:
        assert all(one >= 0.05 for one in lasted_s), "to the first arrival that found no user"


@pytest.mark.parametrize(("pick", "after_s"), [(Pick.ONCE_PER_USER, 3.0), (Pick.ROUND_ROBIN, None)])
def test_a_trial_whose_users_are_used_up_lasted_as_long_as_its_workers_loads(pick: Pick, after_s: float | None) -> None:
    users = UsersInTurn(NumberedUsers("user{n}", 1, 9, 1), pick, 1, 1.0)
    config = replace(run_config(replace(NOWHERE, users=users), arrivals(10, 8.0)), warm_up_s=0.0, workers=2)
    trial = TrialCourse(TrialOrder(0, 10.0), config, 1.0)
    trial.start(100.0, 1_000.0)
    trial.note_load_end(0, 2.5)
    trial.note_load_end(1, 3.5)
    trial.end(104.0, 1_004.0)
    told = trial.summary(RunEnd.COMPLETED, "", workers_connected=2, workers_lost=0)
    assert told.early_end == (None if after_s is None else EarlyEnd(after_s, ""))
    assert told.trial.load.duration_s == (after_s or 4.0)
