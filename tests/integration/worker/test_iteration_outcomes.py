import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import gevent
import pytest
from gevent.server import StreamServer
from one_iteration import Counted, counted, prepare, run_once
from run_configs import EXEC_TRUE, arrivals, client, endpoint, run_config, scenario
from ssh_server import SshServer, free_port
from sshload_contract.run_config import Endpoint, ExecStep, RunConfig, SleepStep
from sshload_contract.vocabulary import Outcome, Window
from sshload_worker.coordination.target_login import GeneratorFaultError
from sshload_worker.recording.health import HealthMonitor
from sshload_worker.recording.histogram import LatencyHistogram
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.step_clock import Due

SHORT = 0.3


def config_for(server: SshServer, *steps: ExecStep | SleepStep) -> RunConfig:
    return replace(run_config(endpoint(server), arrivals(1, 1)), scenario=scenario(*(steps or (EXEC_TRUE,))))


def exec_step(command: str, exit_code: int = 0, stdout: str = "") -> ExecStep:
    return ExecStep(name="", command=command, expect_exit_code=exit_code, expect_stdout=stdout)


@contextmanager
def speaking(serve: Callable[[socket.socket], object]) -> Iterator[Endpoint]:
    """Run a server of this process that treats each connection by `serve`."""
    server = StreamServer(("127.0.0.1", 0), lambda connection, _: serve(connection))
    server.start()
    try:
        yield Endpoint("127.0.0.1", server.server_port, "nobody", os.devnull, "", "")
    finally:
        server.stop()


def run_against(server: Endpoint, tmp_path: Path, **timeouts_s: float) -> Counted:
    key = tmp_path / "key"
    key.write_bytes(b"never used")
    config = run_config(replace(server, private_key_path=str(key)), arrivals(1, 1))
    return run_once(replace(config, client=client(**timeouts_s)))


def test_a_login_and_a_command_are_timed_step_by_step(sshd: SshServer) -> None:
    done = run_once(config_for(sshd, exec_step("uptime", stdout="load average")))
    assert done.outcome is Outcome.OK, done
    order = "startDelay connect banner kex auth login channelOpen exec firstByte read close command total"
    assert list(done.steps) == order.split()
    assert set(done.steps.values()) == {Outcome.OK}
    assert (done.counts.started, done.counts.succeeded, done.counts.failed) == (1, 1, 0)


def test_a_silent_command_has_no_first_byte(sshd: SshServer) -> None:
    assert "firstByte" not in run_once(config_for(sshd)).steps


def test_steps_with_names_are_told_apart(sshd: SshServer) -> None:
    steps = replace(EXEC_TRUE, name="first"), SleepStep(duration_s=0.01), replace(EXEC_TRUE, name="second")
    done = run_once(config_for(sshd, *steps))
    assert done.outcome is Outcome.OK
    assert {"login", "first.command", "first.exec", "second.command", "second.close", "total"} <= set(done.steps)


def test_what_was_negotiated_is_told(sshd: SshServer) -> None:
    (agreed,) = run_once(config_for(sshd)).negotiated
    assert agreed.count == 1
    assert agreed.negotiated.host_key == "ssh-ed25519"
    assert agreed.negotiated.server_version.startswith("SSH-2.0-OpenSSH_")
    assert agreed.negotiated.mac == "implicit"


def test_the_clients_preferences_are_negotiated(sshd: SshServer) -> None:
    preferences = replace(
        client(), kex_algorithms=("ecdh-sha2-nistp256",), ciphers=("aes256-ctr",), macs=("hmac-sha2-512",)
    )
    (agreed,) = run_once(replace(config_for(sshd), client=preferences)).negotiated
    told = agreed.negotiated
    assert (told.kex, told.cipher, told.mac) == ("ecdh-sha2-nistp256", "aes256-ctr", "hmac-sha2-512")


@pytest.mark.parametrize(
    ("step", "outcome", "message"),
    [
        pytest.param(exec_step("exit 3"), Outcome.EXIT_CODE, "exit code 3", id="another exit code"),
        pytest.param(exec_step("exit 3", exit_code=3), Outcome.OK, "", id="the expected exit code"),
        pytest.param(exec_step("echo why >&2; exit 1"), Outcome.EXIT_CODE, "exit code 1: why", id="stderr explains"),
        pytest.param(exec_step("kill -9 $$"), Outcome.KILLED_BY_SIGNAL, "killed by signal KILL", id="SIGKILL"),
        pytest.param(exec_step("echo x; kill -TERM $$"), Outcome.KILLED_BY_SIGNAL, "signal TERM", id="SIGTERM"),
        pytest.param(exec_step("echo abc", stdout="^abc$"), Outcome.OK, "", id="the expected output"),
        pytest.param(exec_step("echo abd", stdout="abc"), Outcome.OUTPUT_MISMATCH, "expectStdout", id="other output"),
        pytest.param(exec_step("head -c 5000000 /dev/zero"), Outcome.OK, "", id="much output"),
        pytest.param(exec_step("head -c 5000000 /dev/zero >&2"), Outcome.OK, "", id="much on stderr"),
        pytest.param(
            exec_step("for i in 1 2 3; do echo $i; echo e >&2; done; head -c 3000000 /dev/zero >&2; echo end"),
            Outcome.OK,
            "",
            id="both mixed",
        ),
        pytest.param(exec_step("kill -9 $PPID; sleep 5"), Outcome.DISCONNECTED, "", id="the connection dies"),
    ],
)
def test_a_command_ends_in_the_outcome_of_what_it_did(
    sshd: SshServer, step: ExecStep, outcome: Outcome, message: str
) -> None:
    done = run_once(config_for(sshd, step))
    assert done.outcome is outcome, done
    assert message in done.message
    assert done.counts.succeeded + done.counts.failed == done.counts.started == 1


def test_a_command_that_takes_too_long_is_a_step_timeout(sshd: SshServer) -> None:
    done = run_once(replace(config_for(sshd, exec_step("sleep 60")), client=client(step_s=SHORT)))
    assert (done.outcome, done.failed_step) == (Outcome.STEP_TIMEOUT, "read")


def test_a_connection_that_dies_during_a_sleep_is_a_disconnect(sshd: SshServer) -> None:
    dying = exec_step("(sleep 0.3; kill -9 $PPID) >/dev/null 2>&1 &")
    done = run_once(config_for(sshd, dying, SleepStep(duration_s=1.5)))
    assert done.steps["command"] is Outcome.OK
    assert (done.outcome, done.failed_step) == (Outcome.DISCONNECTED, "total")


def test_a_wrong_key_is_rejected(sshd: SshServer) -> None:
    target = replace(endpoint(sshd), private_key_path=str(sshd.keys.stranger))
    done = run_once(replace(config_for(sshd), target=target))
    assert (done.outcome, done.failed_step) == (Outcome.AUTH_REJECTED, "auth")
    assert done.steps["login"] is Outcome.AUTH_REJECTED
    assert done.steps["kex"] is Outcome.OK


def test_a_wrong_password_is_rejected_and_not_told(start_sshd: Callable[[str], SshServer], tmp_path: Path) -> None:
    server = start_sshd("PasswordAuthentication yes\nPermitRootLogin yes")
    password = tmp_path / "password"
    password.write_text("no-such-secret\n")
    target = replace(endpoint(server), private_key_path="", password_path=str(password))
    done = run_once(replace(config_for(server), target=target))
    assert (done.outcome, done.failed_step) == (Outcome.AUTH_REJECTED, "auth")
    assert "no-such-secret" not in done.message
    assert "Failed password" in server.log


def test_a_file_that_is_no_key_is_the_generators_fault(sshd: SshServer, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("no key")
    done = run_once(replace(config_for(sshd), target=replace(endpoint(sshd), private_key_path=str(key))))
    assert (done.outcome, done.failed_step) == (Outcome.GENERATOR_FAULT, "auth")


def test_another_host_key_is_a_mismatch_and_nobody_logs_in(sshd: SshServer, tmp_path: Path) -> None:
    known_hosts = tmp_path / "known_hosts"
    stranger = sshd.keys.stranger.with_suffix(".pub").read_text()
    known_hosts.write_text(f"[127.0.0.1]:{sshd.port} {stranger}")
    before = sshd.accepted()
    done = run_once(replace(config_for(sshd), target=replace(endpoint(sshd), known_hosts_path=str(known_hosts))))
    assert (done.outcome, done.failed_step) == (Outcome.HOST_KEY_MISMATCH, "kex")
    assert sshd.accepted() == before


def test_without_known_hosts_any_host_key_will_do(sshd: SshServer) -> None:
    assert (
        run_once(replace(config_for(sshd), target=replace(endpoint(sshd), known_hosts_path=""))).outcome is Outcome.OK
    )


def test_a_closed_port_is_refused(sshd: SshServer) -> None:
    done = run_once(replace(config_for(sshd), target=replace(endpoint(sshd), port=free_port(), known_hosts_path="")))
    assert (done.outcome, done.failed_step, done.message) == (Outcome.REFUSED, "connect", "Connection refused")


def test_no_common_algorithm_is_a_failed_kex(start_sshd: Callable[[str], SshServer]) -> None:
    server = start_sshd("KexAlgorithms sntrup761x25519-sha512@openssh.com")
    done = run_once(config_for(server))
    assert (done.outcome, done.failed_step) == (Outcome.KEX_FAILED, "kex")


def test_a_refused_channel_is_told(start_sshd: Callable[[str], SshServer]) -> None:
    done = run_once(config_for(start_sshd("MaxSessions 0")))
    assert (done.outcome, done.failed_step) == (Outcome.CHANNEL_REFUSED, "channelOpen")


def test_past_max_startups_is_throttled(start_sshd: Callable[[str], SshServer]) -> None:
    server = start_sshd("MaxStartups 1:100:1")
    with socket.create_connection(("127.0.0.1", server.port)) as first:
        assert first.recv(4) == b"SSH-"
        done = run_once(config_for(server))
    assert (done.outcome, done.failed_step) == (Outcome.THROTTLED, "banner")
    assert done.message == "Exceeded MaxStartups"


def test_a_refusal_of_newer_servers_is_told_apart(tmp_path: Path) -> None:
    with speaking(lambda connection: connection.sendall(b"Not allowed at this time\r\n")) as server:
        done = run_against(server, tmp_path)
    assert (done.outcome, done.failed_step) == (Outcome.DROPPED_UNKNOWN, "banner")


def test_a_silent_server_is_a_banner_timeout(tmp_path: Path) -> None:
    with speaking(lambda _: gevent.sleep(60)) as server:
        done = run_against(server, tmp_path, banner_s=SHORT)
    assert (done.outcome, done.failed_step) == (Outcome.BANNER_TIMEOUT, "banner")


def test_a_close_before_the_banner_is_told(tmp_path: Path) -> None:
    with speaking(lambda _: None) as server:
        done = run_against(server, tmp_path)
    assert (done.outcome, done.failed_step) == (Outcome.RESET_BEFORE_BANNER, "banner")


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(b"HTTP/1.1 400 Bad Request\r\n\r\n", id="lines, then the end"),
        pytest.param(b"220 mail", id="no whole line, then the end"),
        pytest.param(b"x" * 1_000, id="a line without end"),
    ],
)
def test_another_protocol_is_not_ssh(tmp_path: Path, words: bytes) -> None:
    with speaking(lambda connection: connection.sendall(words)) as server:
        done = run_against(server, tmp_path)
    assert (done.outcome, done.failed_step) == (Outcome.NOT_SSH, "banner")
    assert done.message.startswith(words[:8].decode())


def test_another_protocol_that_waits_is_not_ssh_after_the_timeout(tmp_path: Path) -> None:
    def greet(connection: socket.socket) -> None:
        connection.sendall(b"220 mail.example.org ESMTP\r\n")
        gevent.sleep(60)

    with speaking(greet) as server:
        done = run_against(server, tmp_path, banner_s=SHORT)
    assert (done.outcome, done.failed_step) == (Outcome.NOT_SSH, "banner")


def test_a_close_during_the_key_exchange_is_a_disconnect(tmp_path: Path) -> None:
    def hang_up(connection: socket.socket) -> None:
        connection.sendall(b"SSH-2.0-Unkind\r\n")
        connection.recv(100)

    with speaking(hang_up) as server:
        done = run_against(server, tmp_path)
    assert (done.outcome, done.failed_step) == (Outcome.DISCONNECTED, "kex")


def test_silence_during_the_key_exchange_is_a_kex_timeout(tmp_path: Path) -> None:
    def stall(connection: socket.socket) -> None:
        connection.sendall(b"SSH-2.0-Slow\r\n")
        gevent.sleep(60)

    with speaking(stall) as server:
        done = run_against(server, tmp_path, kex_s=SHORT)
    assert (done.outcome, done.failed_step) == (Outcome.KEX_TIMEOUT, "kex")


def test_lines_before_the_banner_are_passed_over(sshd: SshServer) -> None:
    """RFC 4253 section 4.2 allows them, so a server behind a talkative gateway is still SSH."""

    def relay(connection: socket.socket) -> None:
        connection.sendall(b"Welcome.\r\nThis is a gateway.\r\n")
        with socket.create_connection(("127.0.0.1", sshd.port)) as behind:
            forth = gevent.spawn(pump, connection, behind)
            pump(behind, connection)
            forth.kill()

    def pump(source: socket.socket, sink: socket.socket) -> None:
        while data := source.recv(65_536):
            sink.sendall(data)

    with speaking(relay) as gateway:
        target = replace(endpoint(sshd), port=gateway.port, known_hosts_path="")
        done = run_once(replace(config_for(sshd), target=target))
    assert done.outcome is Outcome.OK, done


def test_an_iteration_that_is_cut_off_is_unfinished(sshd: SshServer) -> None:
    recorder = Recorder("test-run", 0)
    iteration = prepare(config_for(sshd, exec_step("sleep 60")), recorder)
    now_ns = time.monotonic_ns()
    greenlet = gevent.spawn(iteration.run, Due(now_ns, Window.MEASURED, now_ns))
    before = sshd.accepted()
    with gevent.Timeout(20):
        while sshd.accepted() == before:
            gevent.sleep(0.02)
    greenlet.kill()
    done = counted(recorder)
    assert done.outcome is Outcome.UNFINISHED
    assert (done.counts.started, done.counts.failed, recorder.in_flight) == (1, 1, 0)


def test_the_total_counts_from_when_it_was_due_and_a_late_start_is_counted(sshd: SshServer) -> None:
    """Coordinated omission: time that the generator lost is time that a user would have waited."""
    recorder = Recorder("test-run", 0)
    now_ns = time.monotonic_ns()
    prepare(config_for(sshd), recorder).run(Due(now_ns - 60_000_000_000, Window.MEASURED, now_ns))
    report = recorder.take_report(HealthMonitor().health(connections=0, overflows=0), final=True)
    latency_us = {one.step: LatencyHistogram.decode(one.data).max_us() for one in report.histograms}
    assert (latency_us["total"] or 0) > 60_000_000 > (latency_us["login"] or 0)
    assert report.counts[Window.MEASURED].late == 1
    assert report.counts[Window.MEASURED].completed_inside == 0


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        pytest.param({"library": "paramiko"}, "not supported", id="another library"),
        pytest.param({"ciphers": ("rot13",)}, "algorithm", id="an unknown cipher"),
    ],
)
def test_what_the_client_cannot_do_is_found_before_the_start(
    sshd: SshServer, changes: dict[str, object], text: str
) -> None:
    config = config_for(sshd)
    impossible = replace(config, client=replace(config.client, **changes))
    with pytest.raises(GeneratorFaultError, match=text):
        run_once(impossible)


def test_missing_credentials_are_found_before_the_start(sshd: SshServer) -> None:
    config = config_for(sshd)
    with pytest.raises(GeneratorFaultError, match="neither a private key nor a password"):
        run_once(replace(config, target=replace(config.target, private_key_path="")))
    with pytest.raises(GeneratorFaultError, match="missing-key cannot be read"):
        run_once(replace(config, target=replace(config.target, private_key_path="/missing-key")))
