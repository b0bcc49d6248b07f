import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import gevent
import pytest
from free_ports import free_port
from one_iteration import prepare, run_once
from run_configs import EXEC_TRUE, arrivals, client, endpoint, run_config, scenario
from ssh_server import Keys, SshServer, ssh_server
from sshload_contract.client import Client, Library
from sshload_contract.load import ThinkTime, UsersLoad, UsersStage
from sshload_contract.steps import ExecStep
from sshload_contract.vocabulary import Outcome, RunEnd, Window
from sshload_contract.wire.report import Report
from sshload_contract.wire.run_config import RunConfig, SessionReuse
from sshload_worker.recording.health import HealthMonitor
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.step_clock import Due
from until import Heard
from whole_run import whole_run

START_SERVER = Callable[[str, str], SshServer]
LOGIN_STEPS = ("connect", "banner", "kex", "auth", "login")
_DEADLINE_S = 300.0


@pytest.fixture
def start_named(tmp_path: Path, keys: Keys) -> Iterator[START_SERVER]:
    """Return a function that starts a server by name with more directives; it ends with the test."""
    with ExitStack() as servers:

        def start(name: str, directives: str = "") -> SshServer:
            folder = tmp_path / name
            folder.mkdir()
            return servers.enter_context(ssh_server(folder, keys, directives))

        yield start


def through(target: SshServer, *jumps: SshServer, command: str = "true", of: Client | None = None) -> RunConfig:
    config = run_config(endpoint(target), arrivals(10, 2.0))
    return replace(
        config,
        via=tuple(endpoint(jump) for jump in jumps),
        scenario=scenario(replace(EXEC_TRUE, command=command)),
        client=of or client(),
    )


def begin(config: RunConfig, heard: Heard) -> tuple[Recorder, "gevent.Greenlet[[Due], None]"]:
    recorder = Recorder(config.run_id, 0, heard, heard.steps)
    now_ns = time.monotonic_ns()
    due = Due(at_ns=now_ns, window=Window.MEASURED)
    return recorder, gevent.spawn(prepare(config, recorder).run, due)


def report_of(recorder: Recorder) -> Report:
    return recorder.take_report(HealthMonitor().health(connections=0, overflows=0), final=True)


def connection_processes(server: SshServer) -> list[int]:
    """Return the processes that sshd has forked for its connections."""
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children")
    return [int(pid) for pid in children.read_text().split()]


def wait_until(condition: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + _DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline_s
        gevent.sleep(0.02)


def test_a_login_through_a_jump_host_is_timed_hop_by_hop(start_named: START_SERVER) -> None:
    jump, target = start_named("jump", ""), start_named("target", "")
    done = run_once(through(target, jump))
    assert done.outcome is Outcome.OK, done
    hop = [f"via1.{step}" for step in LOGIN_STEPS]
    rest = ["channelOpen", "exec", "read", "close", "command", "total"]
    assert list(done.steps) == ["startDelay", *hop, *LOGIN_STEPS, *rest]
    assert (jump.accepted(), target.accepted()) == (1, 1)


@pytest.mark.parametrize("library", [Library.SSH2_PYTHON, Library.PARAMIKO, Library.ASYNCSSH])
def test_jump_hosts_are_passed_in_their_order(start_named: START_SERVER, library: Library) -> None:
    first, second, third, target = (start_named(name, "") for name in ("first", "second", "third", "target"))
    done = run_once(through(target, first, second, third, of=replace(client(), library=library)))
    assert done.outcome is Outcome.OK, done
    assert [name for name in done.steps if name.endswith("login")] == [
        "via1.login",
        "via2.login",
        "via3.login",
        "login",
    ]
    assert [server.accepted() for server in (first, second, third, target)] == [1, 1, 1, 1]
    peers = [
        match.group(1) for server in (second, third, target) for match in re.finditer(r"from (\S+) port", server.log)
    ]
    assert set(peers) == {"127.0.0.1"}


def test_much_output_comes_whole_through_two_jump_hosts(start_named: START_SERVER) -> None:
    first, second, target = (start_named(name, "") for name in ("first", "second", "target"))
    recorder, iteration = begin(through(target, first, second, command="head -c 20000000 /dev/zero"), Heard())
    iteration.join()
    report = report_of(recorder)
    assert report.errors == ()
    (moved,) = report.moved
    assert moved.count == 20_000_000


def test_a_jump_host_that_refuses_the_login_is_named(start_named: START_SERVER, keys: Keys) -> None:
    jump, target = start_named("jump", ""), start_named("target", "")
    config = through(target, jump)
    config = replace(config, via=(replace(config.via[0], private_key_path=str(keys.stranger)),))
    done = run_once(config)
    assert (done.outcome, done.failed_step) == (Outcome.AUTH_REJECTED, "via1.auth")
    assert "jump host 127.0.0.1" in done.message
    assert target.accepted() == 0


def test_a_jump_host_with_another_host_key_is_a_mismatch(start_named: START_SERVER, tmp_path: Path, keys: Keys) -> None:
    jump, target = start_named("jump", ""), start_named("target", "")
    known_hosts = tmp_path / "other_known_hosts"
    known_hosts.write_text(f"[127.0.0.1]:{jump.port} {keys.stranger.with_suffix('.pub').read_text()}")
    config = through(target, jump)
    done = run_once(replace(config, via=(replace(config.via[0], known_hosts_path=str(known_hosts)),)))
    assert (done.outcome, done.failed_step) == (Outcome.HOST_KEY_MISMATCH, "via1.kex")


def test_the_targets_host_key_is_checked_behind_a_jump_host(
    start_named: START_SERVER, tmp_path: Path, keys: Keys
) -> None:
    jump, target = start_named("jump", ""), start_named("target", "")
    known_hosts = tmp_path / "other_known_hosts"
    known_hosts.write_text(f"[127.0.0.1]:{target.port} {keys.stranger.with_suffix('.pub').read_text()}")
    config = through(target, jump)
    done = run_once(replace(config, target=replace(config.target, known_hosts_path=str(known_hosts))))
    assert (done.outcome, done.failed_step) == (Outcome.HOST_KEY_MISMATCH, "kex")


@pytest.mark.parametrize(
    "directives",
    [
        pytest.param("AllowTcpForwarding no", id="forwarding is forbidden"),
        pytest.param("PermitOpen 127.0.0.1:1", id="forwarding to elsewhere is allowed"),
    ],
)
def test_a_jump_host_that_does_not_forward_is_a_refused_channel(start_named: START_SERVER, directives: str) -> None:
    jump, target = start_named("jump", directives), start_named("target", "")
    done = run_once(through(target, jump))
    assert (done.outcome, done.failed_step) == (Outcome.CHANNEL_REFUSED, "connect"), done
    assert f"127.0.0.1:{target.port}" in done.message


def test_a_target_that_its_jump_host_cannot_reach_is_a_refused_channel(start_named: START_SERVER) -> None:
    jump, target = start_named("jump", ""), start_named("target", "")
    config = through(target, jump)
    closed = replace(config.target, port=free_port(), known_hosts_path="")
    done = run_once(replace(config, target=closed))
    assert (done.outcome, done.failed_step) == (Outcome.CHANNEL_REFUSED, "connect"), done


def test_a_refusal_before_the_banner_is_seen_behind_a_jump_host(start_named: START_SERVER) -> None:
    jump = start_named("jump", "")
    target = start_named("target", "MaxStartups 1:100:1\nLoginGraceTime 60")
    with socket.create_connection(("127.0.0.1", target.port)) as occupant:
        assert occupant.recv(4) == b"SSH-"
        done = run_once(through(target, jump))
    assert (done.outcome, done.failed_step) == (Outcome.THROTTLED, "banner"), done


def test_a_command_that_outlasts_its_limit_behind_a_jump_host_is_a_timeout(start_named: START_SERVER) -> None:
    jump, target = start_named("jump", ""), start_named("target", "")
    done = run_once(through(target, jump, command="sleep 60", of=client(step_s=0.5)))
    assert done.outcome is Outcome.STEP_TIMEOUT


def test_a_jump_host_that_dies_is_a_disconnect(start_named: START_SERVER, tmp_path: Path) -> None:
    jump, target = start_named("jump", ""), start_named("target", "")
    begun = tmp_path / "begun"
    recorder, iteration = begin(through(target, jump, command=f"echo begun > {begun}; cat {begun}; sleep 20"), Heard())
    wait_until(lambda: begun.exists() and begun.read_text() == "begun\n")
    jump.hang_up()
    iteration.join(timeout=_DEADLINE_S)
    (error,) = report_of(recorder).errors
    assert error.outcome is Outcome.DISCONNECTED
    assert error.step in {"exec", "read"}  # the server starts a command before its answer has reached the client


def test_nothing_is_left_of_a_connection_through_jump_hosts(start_named: START_SERVER) -> None:
    jump, target = start_named("jump", ""), start_named("target", "")
    config = through(target, jump)
    run_once(config)
    wait_until(lambda: not connection_processes(jump) and not connection_processes(target))
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        assert run_once(config).outcome is Outcome.OK
    wait_until(lambda: len(list(Path("/proc/self/fd").iterdir())) <= before)
    wait_until(lambda: not connection_processes(jump) and not connection_processes(target))


def test_a_whole_run_through_a_jump_host_counts_what_both_servers_count(
    start_named: START_SERVER, tmp_path: Path
) -> None:
    jump, target = start_named("jump", ""), start_named("target", "")
    with whole_run(tmp_path, through(target, jump)) as run:
        summary = run.summary()
    assert summary.end is RunEnd.COMPLETED, summary.message
    assert summary.trial.load.succeeded == 20, summary.trial.errors
    assert jump.accepted() == target.accepted() == 20
    counts = {step.step: step.count for step in summary.trial.steps}
    assert counts["via1.login"] == counts["login"] == 20


def test_the_step_after_a_jump_host_is_no_different(start_named: START_SERVER) -> None:
    jump, target = start_named("jump", ""), start_named("target", "")
    step = ExecStep(name="", command="exit 3", expect_exit_code=0, expect_stdout="")
    done = run_once(replace(through(target, jump), scenario=scenario(step)))
    assert (done.outcome, done.failed_step) == (Outcome.EXIT_CODE, "command")


@pytest.mark.parametrize(
    ("reuse", "logins"),
    [
        pytest.param(SessionReuse.USER, 4, id="a session of each user"),
        pytest.param(SessionReuse.POOL, 2, id="a pool that is shared"),
    ],
)
def test_kept_sessions_keep_their_way_through_the_jump_host(
    start_named: START_SERVER, tmp_path: Path, reuse: SessionReuse, logins: int
) -> None:
    jump, target = start_named("jump", ""), start_named("target", "")
    users = UsersLoad(stages=(UsersStage(users=4, duration_s=6.0),), spawn_rate=0.0, think_time=ThinkTime(0.02, 0.05))
    config = replace(through(target, jump, command="head -c 300000 /dev/zero"), load=users)
    pool_sessions = logins if reuse is SessionReuse.POOL else 0
    kept = replace(config, scenario=replace(config.scenario, session_reuse=reuse, pool_sessions=pool_sessions))
    with whole_run(tmp_path, kept) as run:
        summary = run.summary()
    assert summary.end is RunEnd.COMPLETED, summary.message
    assert summary.trial.load.failed == 0, summary.trial.errors
    assert summary.trial.load.succeeded > 4
    assert (jump.accepted(), target.accepted()) == (logins, logins)
