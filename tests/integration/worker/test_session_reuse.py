import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import gevent
import pytest
from one_load import counted, failures, latencies, one_load
from run_configs import EXEC_TRUE, arrivals, client, endpoint, run_config, scenario
from ssh_server import SshServer
from sshload_contract.load import Load, UsersLoad, UsersStage
from sshload_contract.run_config import ExecStep, RunConfig, ScenarioStep, SessionReuse
from sshload_contract.vocabulary import Outcome, Window
from whole_run import whole_run

WELL = (Window.MEASURED, Outcome.OK)
COLD = (Window.WARM_UP, Outcome.OK)
EXIT_3 = replace(EXEC_TRUE, command="exit 3")
SLOW = replace(EXEC_TRUE, command="sleep 60")


def users(count: int, seconds: float) -> UsersLoad:
    stage = UsersStage(users=count, duration_s=seconds)
    return UsersLoad(stages=(stage,), spawn_rate=0.0, think_time_min_s=0.02, think_time_max_s=0.05)


def reusing(server: SshServer, reuse: SessionReuse, load: Load, *steps: ScenarioStep, pool: int = 0) -> RunConfig:
    config = run_config(endpoint(server), load)
    what = replace(scenario(*(steps or (EXEC_TRUE,))), session_reuse=reuse, pool_sessions=pool)
    return replace(config, scenario=what, drain_s=2.0)


def test_a_user_logs_in_once_and_its_first_iteration_has_the_time_of_it(sshd: SshServer) -> None:
    accepted_before = sshd.accepted()
    with one_load(reusing(sshd, SessionReuse.USER, users(3, 1.5))) as load:
        totals = load.finish()
    assert sshd.accepted() - accepted_before == 3
    assert counted(totals, "login") == {WELL: 3}
    assert sum(totals.negotiated.values()) == 3
    assert counted(totals, "total")[WELL] > 9
    assert (latencies(totals, "total").max_us() or 0) > (latencies(totals, "login").max_us() or 0)
    assert load.recorder.connections == 0


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
    with one_load(reusing(sshd, SessionReuse.USER, users(1, 1.0), step)) as load:
        totals = load.finish()
    assert counted(totals, "login") == {WELL: 1}
    assert counted(totals, "total")[Window.MEASURED, outcome] > 1


def test_after_a_step_that_timed_out_the_user_logs_in_anew(sshd: SshServer) -> None:
    config = reusing(sshd, SessionReuse.USER, users(1, 1.0), SLOW)
    with one_load(replace(config, client=client(step_s=0.2))) as load:
        totals = load.finish()
    logins = counted(totals, "login")[WELL]
    assert logins > 1
    assert counted(totals, "total") == {(Window.MEASURED, Outcome.STEP_TIMEOUT): logins}
    assert load.recorder.connections == 0


def test_a_session_that_was_lost_between_iterations_is_replaced_and_no_iteration_fails(
    start_sshd: Callable[[str], SshServer],
) -> None:
    server = start_sshd("ClientAliveInterval 0")
    load_of_two = replace(users(2, 4.0), think_time_min_s=1.5, think_time_max_s=1.5)
    with one_load(reusing(server, SessionReuse.USER, load_of_two)) as load:
        load.wait_until(lambda recorder: load.logins.succeeded == 2 and recorder.in_flight == 0)
        server.hang_up()
        totals = load.finish()
    assert set(counted(totals, "total")) == {WELL}
    assert counted(totals, "login") == {WELL: 4}


def test_a_user_that_leaves_closes_its_session(sshd: SshServer) -> None:
    stages = (UsersStage(users=2, duration_s=0.5), UsersStage(users=1, duration_s=3.0))
    load_with_leaver = replace(users(2, 0.5), stages=stages)
    with one_load(reusing(sshd, SessionReuse.USER, load_with_leaver)) as load:
        load.wait_until(lambda recorder: recorder.connections == 2)
        load.wait_until(lambda recorder: recorder.connections == 1)
        assert load.recorder.users == 1
        load.finish()


def test_a_pool_logs_in_before_the_start_and_its_logins_count_in_the_warm_up_and_in_no_total(sshd: SshServer) -> None:
    accepted_before = sshd.accepted()
    config = replace(reusing(sshd, SessionReuse.POOL, arrivals(40, 1.0), pool=4), start_lead_s=1.0)
    with one_load(config) as load:
        load.wait_until(lambda recorder: recorder.connections == 4)
        totals = load.finish()
    assert sshd.accepted() - accepted_before == 4
    assert counted(totals, "login") == {COLD: 4}
    assert sum(totals.negotiated.values()) == 4
    assert counted(totals, "total") == {WELL: 40}
    assert (latencies(totals, "total").min_us() or 0) < (latencies(totals, "login", Window.WARM_UP).min_us() or 0)
    assert load.recorder.connections == 0


def test_a_pool_goes_on_to_log_in_during_the_warm_up_and_iterations_use_what_is_there(sshd: SshServer) -> None:
    config = reusing(sshd, SessionReuse.POOL, arrivals(20, 1.0), pool=4)
    with one_load(replace(config, warm_up_s=2.0, start_lead_s=0.1)) as load:
        load.wait_until(lambda recorder: recorder.connections == 4)
        totals = load.finish()
    assert counted(totals, "login") == {COLD: 4}
    assert counted(totals, "total") == {COLD: 40, WELL: 20}


def test_iterations_are_spread_over_the_pool_and_multiplexed_on_each_session(
    start_sshd: Callable[[str], SshServer],
) -> None:
    server = start_sshd("LogLevel VERBOSE")
    step = replace(EXEC_TRUE, command="sleep 0.5")
    config = replace(reusing(server, SessionReuse.POOL, arrivals(40, 0.5), step, pool=4), start_lead_s=1.0)
    with one_load(config) as load:
        totals = load.finish()
    assert counted(totals, "total") == {WELL: 20}
    assert server.commands_by_connection() == [5, 5, 5, 5]


def test_a_refused_channel_fails_its_iteration_and_the_session_goes_on(start_sshd: Callable[[str], SshServer]) -> None:
    server = start_sshd("MaxSessions 2")
    step = replace(EXEC_TRUE, command="sleep 0.6")
    config = replace(reusing(server, SessionReuse.POOL, arrivals(5, 2.0), step, pool=1), start_lead_s=1.0)
    with one_load(config) as load:
        totals = load.finish()
    ended = counted(totals, "total")
    assert ended[Window.MEASURED, Outcome.CHANNEL_REFUSED] > 0
    assert ended[WELL] > 2
    assert set(ended) == {WELL, (Window.MEASURED, Outcome.CHANNEL_REFUSED)}
    assert counted(totals, "login") == {COLD: 1}
    assert {(step, outcome) for step, outcome, _ in failures(totals)} == {("channelOpen", Outcome.CHANNEL_REFUSED)}


def test_a_lost_session_of_the_pool_is_replaced_beside_the_iterations(start_sshd: Callable[[str], SshServer]) -> None:
    server = start_sshd("")
    config = replace(reusing(server, SessionReuse.POOL, arrivals(2, 3.0), pool=2), start_lead_s=1.0)
    with one_load(config) as load:
        load.wait_until(lambda recorder: load.logins.succeeded == 2 and recorder.in_flight == 0)
        server.hang_up()
        totals = load.finish()
    assert counted(totals, "login") == {COLD: 2, WELL: 2}
    assert set(counted(totals, "total")) == {WELL}
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
    with one_load(config) as load, gevent.Timeout(30):
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
    config = replace(run_config(endpoint(sshd), load, workers=2), scenario=what, warm_up_s=2.0)
    with whole_run(tmp_path, config) as run:
        summary = run.summary()
    steps = {(step.step, step.window): step for step in summary.steps}
    assert steps["login", Window.WARM_UP].count == 5
    assert ("login", Window.MEASURED) not in steps
    assert (steps["total", Window.MEASURED].count, summary.errors) == (20, ())
    assert sum(agreed.count for agreed in summary.negotiated) == 5
