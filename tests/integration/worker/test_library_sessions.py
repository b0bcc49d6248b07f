"""Sessions of every client library: shared, cut off, kept alive, lost, and set up as the client asks."""

import gc
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import monotonic_ns

import gevent
import pytest
from circles import in_pairs
from client_kinds import (
    KINDS,
    KINDS_IN_THE_PROCESS,
    SSH2_PYTHON,
    Kind,
    every_kind,
    every_kind_in_the_process,
    every_kind_with_rekeys,
)
from gevent import Timeout
from one_iteration import counted, prepare, run_once
from run_configs import EXEC_TRUE, arrivals, endpoint, run_config, scenario
from ssh_server import SshServer
from sshload_contract.steps import ExecStep, ScenarioStep, SftpReadStep, SftpWriteStep, ShellStep, Verify
from sshload_contract.vocabulary import Outcome, Timing, Window
from sshload_contract.wire.run_config import RunConfig
from sshload_worker.clients.interface import Channel, Connection, Course
from sshload_worker.clients.libraries import new_connection
from sshload_worker.outcomes import StepFailure
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.step_clock import Due
from sshload_worker.scenario.target_login import GeneratorFaultError, prepare_login, resolve_first_hop
from until import Heard

SFTP = "Subsystem sftp internal-sftp"
PATIENCE_S = 120


@pytest.fixture(autouse=True)
def _nothing_is_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail a test after which something is left to complain about, as asyncio does of tasks that nobody awaits."""
    yield
    gc.collect()
    records = caplog.get_records("call") + caplog.get_records("teardown")
    assert [record.getMessage() for record in records if record.levelno >= logging.WARNING] == []


def config_for(kind: Kind, server: SshServer, *steps: ScenarioStep, **settings: object) -> RunConfig:
    config = run_config(endpoint(server), arrivals(1, 1))
    return replace(
        config,
        client=replace(kind.client(), **settings),  # type: ignore[arg-type] - a test's own settings
        scenario=scenario(*(steps or (EXEC_TRUE,))),
    )


@contextmanager
def logged_in(config: RunConfig, *, shared: bool = False) -> Iterator[Connection]:
    connection = new_connection(prepare_login(config, resolve_first_hop(config, pytest.fail)), shared=shared)
    try:
        with Timeout(PATIENCE_S):
            for part in (connection.connect, connection.banner, connection.kex, connection.auth):
                part()
            yield connection
    finally:
        connection.close()


def output_of(connection: Connection, command: str) -> bytes:
    output = bytearray()
    connection.open_channel().run(command, output.extend, Course())
    return bytes(output)


def await_condition(condition: Callable[[], object]) -> None:
    with Timeout(PATIENCE_S):
        while not condition():
            gevent.sleep(0.02)


@every_kind
def test_many_greenlets_share_one_session(sshd: SshServer, kind: Kind) -> None:
    with logged_in(config_for(kind, sshd), shared=True) as connection:
        commands = [f"echo {number}; head -c 200000 /dev/zero" for number in range(20)]
        greenlets = [gevent.spawn(output_of, connection, command) for command in commands]
        with Timeout(PATIENCE_S):
            gevent.joinall(greenlets, raise_error=True)
    assert [greenlet.value.split(b"\n")[0] for greenlet in greenlets] == [b"%d" % number for number in range(20)]
    assert {len(greenlet.value) for greenlet in greenlets} == {200_002, 200_003}


@every_kind_in_the_process
def test_a_refused_channel_leaves_the_others_alone(start_sshd: Callable[[str], SshServer], kind: Kind) -> None:
    server = start_sshd("MaxSessions 2")
    with logged_in(config_for(kind, server), shared=True) as connection:
        first, second = connection.open_channel(), connection.open_channel()
        with pytest.raises(StepFailure) as refused:
            connection.open_channel()
        assert refused.value.outcome is Outcome.CHANNEL_REFUSED
        for channel in (first, second):
            channel.execute("echo here")
            assert channel.read() == b"here\n"
            assert channel.read() == b""
            assert channel.close().exit_code == 0
        assert output_of(connection, "echo again") == b"again\n"


@every_kind_in_the_process
def test_a_server_that_lives_gives_a_sign_of_life(sshd: SshServer, kind: Kind) -> None:
    with logged_in(config_for(kind, sshd)) as connection:
        for _ in range(3):
            connection.keep_alive()
        assert not connection.is_lost()
        assert output_of(connection, "echo here") == b"here\n"


@every_kind_in_the_process
def test_a_server_that_died_gives_none(sshd: SshServer, kind: Kind) -> None:
    with logged_in(config_for(kind, sshd)) as connection:
        channel = connection.open_channel()
        channel.execute("read go; kill -9 $PPID")
        channel.write(b"\n")
        with pytest.raises(StepFailure) as failed:
            channel.read()
        assert failed.value.outcome is Outcome.DISCONNECTED
        await_condition(connection.is_lost)
        with pytest.raises(StepFailure) as failed:
            connection.keep_alive()
        assert failed.value.outcome is Outcome.DISCONNECTED
        with pytest.raises(StepFailure) as failed:
            connection.open_channel()
        assert failed.value.outcome is Outcome.DISCONNECTED


@in_pairs(
    ("kind", KINDS),
    (
        "step",
        [
            pytest.param(
                ExecStep(name="", command="sleep 60", expect_exit_code=0, expect_stdout=""), id="a silent command"
            ),
            pytest.param(
                ExecStep(name="", command="yes", expect_exit_code=0, expect_stdout=""), id="a talkative command"
            ),
        ],
    ),
)
def test_an_iteration_that_is_cut_off_is_unfinished_and_closes_its_connection(
    start_sshd: Callable[[str], SshServer], kind: Kind, step: ScenarioStep
) -> None:
    assert_cut_off(start_sshd(SFTP), kind, step)


@in_pairs(
    ("kind", KINDS_IN_THE_PROCESS),
    (
        "step",
        [
            pytest.param(SftpReadStep(name="", path="/dev/zero", expect_bytes=None, expect_sha256=""), id="a read"),
            pytest.param(SftpWriteStep(name="", path="/dev/null", size_bytes=10**11, verify=Verify.NONE), id="a write"),
        ],
    ),
)
def test_an_endless_transfer_that_is_cut_off_is_unfinished_and_closes_its_connection(
    start_sshd: Callable[[str], SshServer], kind: Kind, step: ScenarioStep
) -> None:
    assert_cut_off(start_sshd(SFTP), kind, step)


def assert_cut_off(server: SshServer, kind: Kind, step: ScenarioStep) -> None:
    heard = Heard(Timing.LOGIN)
    recorder = Recorder("test-run", 0, heard, heard.steps)
    iteration = prepare(config_for(kind, server, step), recorder)
    now_ns = monotonic_ns()
    greenlet = gevent.spawn(iteration.run, Due(now_ns, Window.MEASURED))
    await_condition(lambda: heard.count(Timing.LOGIN))
    gevent.sleep(0.2)  # wherever that is: mostly in the middle of the step
    greenlet.kill()
    done = counted(recorder)
    assert done.outcome is Outcome.UNFINISHED
    assert (done.counts.started, done.counts.failed, recorder.in_flight) == (1, 1, 0)
    gc.collect()
    await_condition(lambda: not connections_to(server.port))


def connections_to(port: int) -> list[str]:
    """Return the lines of /proc/net/tcp of connections to a port of loopback that are established."""
    established, remote = "01", f"0100007F:{port:04X}"
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return [" ".join(line) for line in lines if (line[2], line[3]) == (remote, established)]


@every_kind_in_the_process
def test_a_small_window_and_small_packets_carry_everything(sshd: SshServer, kind: Kind) -> None:
    config = config_for(kind, sshd, window_bytes=65_536, packet_bytes=8_192)
    with logged_in(config) as connection:
        assert len(output_of(connection, "head -c 1000000 /dev/zero")) == 1_000_000


@every_kind_in_the_process
def test_the_window_asked_for_is_the_one_that_the_server_sees(
    start_sshd: Callable[[str], SshServer], kind: Kind
) -> None:
    server = start_sshd("LogLevel DEBUG1")
    with logged_in(config_for(kind, server, window_bytes=123_456, packet_bytes=16_384)) as connection:
        output_of(connection, "true")
    assert "win 123456 max 16384" in server.log


def test_a_library_that_cannot_ask_for_new_keys_refuses_to(sshd: SshServer) -> None:
    with pytest.raises(GeneratorFaultError, match=r"spec\.client\.rekeyLimit"):
        run_once(config_for(SSH2_PYTHON, sshd, rekey_bytes=1_000_000))


@every_kind_with_rekeys
def test_new_keys_are_asked_for_in_time(start_sshd: Callable[[str], SshServer], kind: Kind) -> None:
    """By what the client sends, and by what it receives where its commands take no input."""
    server = start_sshd("LogLevel DEBUG1")
    with logged_in(config_for(kind, server, rekey_bytes=1_000_000)) as connection:
        if kind.takes(ShellStep):
            channel = connection.open_channel()
            channel.execute("cat")
            answers = gevent.spawn(size_of_output, channel)
            for _ in range(50):
                channel.write(bytes(100_000))
            channel.send_end()
            assert answers.get() == 5_000_000
            channel.close()
        for _ in range(10):
            assert len(output_of(connection, "head -c 800000 /dev/zero")) == 800_000
    assert server.log.count("SSH2_MSG_NEWKEYS received") > 3


def size_of_output(channel: Channel) -> int:
    size = 0
    while piece := channel.read():
        size += len(piece)
    return size


@every_kind_in_the_process
@pytest.mark.parametrize(
    ("setting", "value", "path"),
    [
        pytest.param("ciphers", ("rot13",), "ciphers", id="an unknown cipher"),
        pytest.param("kex_algorithms", ("handshake",), "kexAlgorithms", id="an unknown key exchange"),
        pytest.param("macs", ("sum",), "macs", id="an unknown MAC"),
        pytest.param("host_key_algorithms", ("doorkey",), "hostKeyAlgorithms", id="an unknown host key"),
        pytest.param("window_bytes", 0, "windowSize", id="no window"),
        pytest.param("window_bytes", 2**32, "windowSize", id="too large a window"),
        pytest.param("control_master", True, "controlMaster", id="a control master"),
    ],
)
def test_what_a_library_cannot_do_is_told_by_the_setting_before_the_start(
    sshd: SshServer, kind: Kind, setting: str, value: object, path: str
) -> None:
    with pytest.raises(GeneratorFaultError, match=rf"spec\.client\.{path}"):
        run_once(config_for(kind, sshd, **{setting: value}))
