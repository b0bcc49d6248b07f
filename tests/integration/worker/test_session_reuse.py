import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import monotonic_ns

import gevent
import pytest
from master_here import counted, failures, one_load
from one_iteration import prepare
from run_configs import EXEC_TRUE, arrivals, client, endpoint, run_config, scenario
from ssh_server import SshServer
from sshload_contract.load import Load, ThinkTime, UsersLoad, UsersStage
from sshload_contract.steps import ExecStep, ScenarioStep
from sshload_contract.vocabulary import Outcome, Timing, Window
from sshload_contract.wire.run_config import RunConfig, SessionReuse
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.step_clock import Due, StepClock
from sshload_worker.summary.totals import Totals
from whole_run import whole_run

WELL = (Window.MEASURED, Outcome.OK)
COLD = (Window.WARM_UP, Outcome.OK)
UNTIL_STOPPED_S = 600.0
EXIT_3 = replace(EXEC_TRUE, command="exit 3")
SLOW = replace(EXEC_TRUE, command="sleep 60")


def users(count: int) -> UsersLoad:
    stage = UsersStage(users=count, duration_s=UNTIL_STOPPED_S)
    return UsersLoad(stages=(stage,), spawn_rate=0.0, think_time=ThinkTime(0.02, 0.05))


def reusing(server: SshServer, reuse: SessionReuse, load: Load, *steps: ScenarioStep, pool: int = 0) -> RunConfig:
    config = run_config(endpoint(server), load)
    what = replace(scenario(*(steps or (EXEC_TRUE,))), session_reuse=reuse, pool_sessions=pool)
    return replace(config, scenario=what)


def ended(totals: Totals) -> dict[tuple[Window, Outcome], int]:
    """Return how iterations have ended by themselves, before the load was stopped."""
    return {end: count for end, count in counted(totals, "total").items() if end[1] is not Outcome.UNFINISHED}


def test_a_user_logs_in_once_and_its_first_iteration_has_the_time_of_it(
    start_sshd: Callable[[str], SshServer],
) -> None:
    server = start_sshd("")
    with one_load(reusing(server, SessionReuse.USER, users(3))) as load:
        heard = load.heard
        load.wait_until(lambda _: heard.count(Timing.LOGIN) == 3 and heard.count(Timing.TOTAL) > 9)
        load.wait_until(lambda _: heard.longest_us(Timing.TOTAL) > heard.longest_us(Timing.LOGIN))
        load.wait_until(lambda _: server.accepted() >= 3)
        totals = load.stop()
    assert server.accepted() == 3
    assert counted(totals, "login") == {WELL: 3}
    assert sum(totals.negotiated.values()) == 3
    assert set(ended(totals)) == {WELL}
    assert load.recorder.connections == 0


def test_a_user_who_is_wanted_again_before_it_has_left_goes_on(sshd: SshServer) -> None:
    stages = tuple(UsersStage(users=count, duration_s=seconds) for count, seconds in ((2, 1.0), (1, 0.5), (2, 1.0)))
    load = replace(users(2), stages=stages)
    long = replace(EXEC_TRUE, command="sleep 3")
    with one_load(reusing(sshd, SessionReuse.USER, load, long)) as running:
        totals = running.finish()
    assert counted(totals, "login") == counted(totals, "total") == {WELL: 2}
    assert running.recorder.connections == 0


@pytest.mark.parametrize(
    ("step", "outcome"),
    [
        pytest.param(EXIT_3, Outcome.EXIT_CODE, id="an exit code"),
        pytest.param(replace(EXEC_TRUE, command="kill -9 $$"), Outcome.KILLED_BY_SIGNAL, id="a signal"),
    ],
)
def test_a_command_that_ends_ill_does_not_cost_the_user_its_session(
    sshd: SshServer, step: ExecStep, outcome: Outcome
) -> None:
    with one_load(reusing(sshd, SessionReuse.USER, users(1), step)) as load:
        load.wait_until(lambda _: load.heard.count(Timing.TOTAL, outcome) > 1)
        totals = load.stop()
    assert counted(totals, "login") == {WELL: 1}
    assert set(ended(totals)) == {(Window.MEASURED, outcome)}


def test_after_a_step_that_timed_out_the_user_logs_in_anew(sshd: SshServer) -> None:
    config = reusing(sshd, SessionReuse.USER, users(1), SLOW)
    with one_load(replace(config, client=client(step_s=0.2))) as load:
        load.wait_until(lambda _: load.heard.count(Timing.TOTAL, Outcome.STEP_TIMEOUT) > 1)
        totals = load.stop()
    logins = counted(totals, "login")[WELL]
    assert set(ended(totals)) == {(Window.MEASURED, Outcome.STEP_TIMEOUT)}
    assert sum(ended(totals).values()) in {logins, logins - 1}  # the last may have been cut off by the stop
    assert load.recorder.connections == 0


def test_a_session_that_was_lost_between_iterations_is_replaced_and_no_iteration_fails(
    start_sshd: Callable[[str], SshServer],
) -> None:
    server = start_sshd("ClientAliveInterval 0")
    load_of_two = replace(users(2), think_time=ThinkTime(1.0, 1.0))
    with one_load(reusing(server, SessionReuse.USER, load_of_two)) as load:
        load.wait_until(lambda recorder: load.heard.count(Timing.LOGIN) == 2 and recorder.in_flight == 0)
        server.hang_up()
        load.wait_until(lambda recorder: load.heard.count(Timing.LOGIN) == 4 and recorder.in_flight == 0)
        totals = load.stop()
    assert set(ended(totals)) == {WELL}
    assert counted(totals, "login") == {WELL: 4}


def test_a_user_that_leaves_closes_its_session(sshd: SshServer) -> None:
    stages = (UsersStage(users=2, duration_s=3.0), UsersStage(users=1, duration_s=UNTIL_STOPPED_S))
    load_with_leaver = replace(users(2), stages=stages)
    with one_load(reusing(sshd, SessionReuse.USER, load_with_leaver)) as load:
        load.wait_until(lambda _: load.heard.count(Timing.LOGIN) == 2)  # one may have left by the next look
        load.wait_until(lambda recorder: recorder.connections == 1)
        assert load.recorder.users == 1
        load.stop()


def test_a_pool_logs_in_before_the_start_and_its_logins_count_in_the_warm_up_and_in_no_total(
    start_sshd: Callable[[str], SshServer],
) -> None:
    server = start_sshd("")
    config = replace(reusing(server, SessionReuse.POOL, arrivals(40, UNTIL_STOPPED_S), pool=4), start_lead_s=1.0)
    with one_load(config) as load:
        heard = load.heard
        load.wait_until(lambda _: heard.count(Timing.LOGIN) == 4 and heard.count(Timing.TOTAL) > 40)
        load.wait_until(lambda _: heard.shortest_us(Timing.TOTAL) < heard.shortest_us(Timing.LOGIN))
        load.wait_until(lambda _: server.accepted() >= 4)
        totals = load.stop()
    assert server.accepted() == 4
    assert counted(totals, "login") == {COLD: 4}
    assert sum(totals.negotiated.values()) == 4
    assert set(ended(totals)) == {WELL}
    assert load.recorder.connections == 0


def test_a_pool_goes_on_to_log_in_during_the_warm_up_and_iterations_use_what_is_there(sshd: SshServer) -> None:
    config = reusing(sshd, SessionReuse.POOL, arrivals(20, UNTIL_STOPPED_S), pool=4)
    with one_load(replace(config, warm_up_s=2.0, start_lead_s=0.1)) as load:
        heard = load.heard
        load.wait_until(lambda _: heard.count(Timing.LOGIN) == 4 and heard.count(Timing.TOTAL) > 60)
        totals = load.stop()
    assert counted(totals, "login") == {COLD: 4}
    assert set(ended(totals)) == {COLD, WELL}


def test_iterations_are_spread_over_the_pool_and_multiplexed_on_each_session(
    start_sshd: Callable[[str], SshServer],
) -> None:
    server = start_sshd("LogLevel VERBOSE")
    step = replace(EXEC_TRUE, command="sleep 0.5")
    config = reusing(server, SessionReuse.POOL, arrivals(1, 1.0), step, pool=4)
    recorder, now_ns = Recorder(config.run_id, 0), monotonic_ns()
    iteration, due = prepare(config, recorder), Due(now_ns, Window.MEASURED)
    iteration.sessions.prepare(StepClock(recorder, due), within_s=0.0)
    gevent.joinall([gevent.spawn(iteration.run, due) for _ in range(20)], raise_error=True)
    iteration.sessions.close()
    assert server.commands_by_connection() == [5, 5, 5, 5]


def test_a_refused_channel_fails_its_iteration_and_the_session_goes_on(start_sshd: Callable[[str], SshServer]) -> None:
    server = start_sshd("MaxSessions 2")
    step = replace(EXEC_TRUE, command="sleep 0.6")
    config = reusing(server, SessionReuse.POOL, arrivals(5, UNTIL_STOPPED_S), step, pool=1)
    with one_load(replace(config, start_lead_s=1.0)) as load:
        heard = load.heard
        load.wait_until(lambda _: heard.count(Timing.TOTAL, Outcome.CHANNEL_REFUSED) > 0)
        before = heard.count(Timing.TOTAL)
        load.wait_until(lambda _: heard.count(Timing.TOTAL) > before + 2)  # two channels were open then
        totals = load.stop()
    assert set(ended(totals)) == {WELL, (Window.MEASURED, Outcome.CHANNEL_REFUSED)}
    assert counted(totals, "login") == {COLD: 1}
    refused = {(step, outcome) for step, outcome, _ in failures(totals) if outcome is not Outcome.UNFINISHED}
    assert refused == {("channelOpen", Outcome.CHANNEL_REFUSED)}


def test_a_lost_session_of_the_pool_is_replaced_beside_the_iterations(start_sshd: Callable[[str], SshServer]) -> None:
    server = start_sshd("")
    config = reusing(server, SessionReuse.POOL, arrivals(2, UNTIL_STOPPED_S), pool=2)
    with one_load(replace(config, start_lead_s=1.0)) as load:
        load.wait_until(lambda recorder: load.heard.count(Timing.LOGIN) == 2 and recorder.in_flight == 0)
        server.hang_up()
        load.wait_until(lambda recorder: load.heard.count(Timing.LOGIN) == 4 and recorder.in_flight == 0)
        totals = load.stop()
    assert counted(totals, "login") == {COLD: 2, WELL: 2}
    assert set(ended(totals)) == {WELL}
    assert load.recorder.connections == 0


def test_where_no_login_succeeds_every_iteration_of_a_pool_fails_in_the_login(
    start_sshd: Callable[[str], SshServer],
) -> None:
    server = start_sshd("")
    target = replace(endpoint(server), private_key_path=str(server.keys.stranger))
    config = replace(reusing(server, SessionReuse.POOL, arrivals(5, 1.0), pool=2), target=target)
    with one_load(config) as load:
        totals = load.finish()
    assert counted(totals, "total") == {(Window.MEASURED, Outcome.AUTH_REJECTED): 5}
    assert ("login", Outcome.AUTH_REJECTED, 5) in failures(totals)
    assert any(step == "auth" for step, _, _ in failures(totals))


def test_the_drains_end_closes_what_the_pool_has_and_leaves_nobody_hanging(sshd: SshServer) -> None:
    config = replace(reusing(sshd, SessionReuse.POOL, arrivals(10, 0.5), SLOW, pool=2), drain_s=0.1, start_lead_s=1.0)
    with one_load(config) as load, gevent.Timeout(120):
        totals = load.finish()
    assert counted(totals, "total") == {(Window.MEASURED, Outcome.UNFINISHED): 5}
    assert load.recorder.connections == 0


def test_a_login_that_is_under_way_at_the_end_is_counted_as_unfinished(start_sshd: Callable[[str], SshServer]) -> None:
    server = start_sshd("")
    config = replace(reusing(server, SessionReuse.POOL, arrivals(5, 1.0), pool=2), drain_s=0.1, start_lead_s=0.5)
    with one_load(config) as load:
        server.process.send_signal(signal.SIGSTOP)
        try:
            totals = load.finish()
        finally:
            server.process.send_signal(signal.SIGCONT)
    assert counted(totals, "login") == {(Window.WARM_UP, Outcome.UNFINISHED): 2}
    assert counted(totals, "total") == {(Window.MEASURED, Outcome.UNFINISHED): 5}
    assert load.recorder.connections == 0


def test_the_workers_pools_add_up_to_the_one_asked_for(sshd: SshServer, tmp_path: Path) -> None:
    load = arrivals(20, 1.0)
    what = replace(scenario(EXEC_TRUE), session_reuse=SessionReuse.POOL, pool_sessions=5)
    config = replace(run_config(endpoint(sshd), load, workers=2), scenario=what, warm_up_s=6.0)
    with whole_run(tmp_path, config) as run:
        summary = run.summary()
    steps = {(step.step, step.window): step for step in summary.trial.steps}
    assert steps["login", Window.WARM_UP].count == 5
    assert ("login", Window.MEASURED) not in steps
    assert (steps["total", Window.MEASURED].count, summary.trial.errors) == (20, ())
    assert sum(agreed.count for agreed in summary.trial.negotiated) == 5
