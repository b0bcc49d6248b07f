import socket
import time
from dataclasses import replace

import gevent
import pytest
from one_iteration import Counted, counted, prepare, run_once
from run_configs import EXEC_TRUE, arrivals, client, endpoint, run_config, scenario
from ssh_server import SshServer
from sshload_contract.steps import ExecStep, SleepStep
from sshload_contract.vocabulary import Outcome, Window
from sshload_contract.wire.run_config import RunConfig
from sshload_worker.outcomes import GeneratorFaultError
from sshload_worker.recording.health import HealthMonitor
from sshload_worker.recording.histogram import LatencyHistogram
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.step_clock import Due
from unkind_servers import speaking

GREETED_BY_THEN_S = 3.0


def config_for(server: SshServer, *steps: ExecStep | SleepStep) -> RunConfig:
    return replace(run_config(endpoint(server), arrivals(1, 1)), scenario=scenario(*(steps or (EXEC_TRUE,))))


def exec_step(command: str) -> ExecStep:
    return ExecStep(name="", command=command, expect_exit_code=0, expect_stdout="")


def run_at(port: int, server: SshServer, **timeouts_s: float) -> Counted:
    config = run_config(replace(endpoint(server), port=port, known_hosts_path=""), arrivals(1, 1))
    return run_once(replace(config, client=client(**timeouts_s)))


def test_a_silent_command_has_no_first_byte(sshd: SshServer) -> None:
    assert "firstByte" not in run_once(config_for(sshd)).steps


def test_steps_with_names_are_told_apart(sshd: SshServer) -> None:
    steps = replace(EXEC_TRUE, name="first"), SleepStep(duration_s=0.01), replace(EXEC_TRUE, name="second")
    done = run_once(config_for(sshd, *steps))
    assert done.outcome is Outcome.OK
    assert {"login", "first.command", "first.exec", "second.command", "second.close", "total"} <= set(done.steps)


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(b"HTTP/1.1 400 Bad Request\r\n\r\n", id="lines, then the end"),
        pytest.param(b"220 mail", id="no whole line, then the end"),
        pytest.param(b"x" * 1_000, id="a line without end"),
    ],
)
def test_another_protocol_is_not_ssh(sshd: SshServer, words: bytes) -> None:
    with speaking(lambda connection: connection.sendall(words)) as port:
        done = run_at(port, sshd)
    assert (done.outcome, done.failed_step) == (Outcome.NOT_SSH, "banner")
    assert done.message.startswith(words[:8].decode())


def test_another_protocol_that_waits_is_not_ssh_after_the_timeout(sshd: SshServer) -> None:
    def greet(connection: socket.socket) -> None:
        connection.sendall(b"220 mail.example.org ESMTP\r\n")
        gevent.sleep(60)

    with speaking(greet) as port:
        done = run_at(port, sshd, banner_s=GREETED_BY_THEN_S)
    assert (done.outcome, done.failed_step) == (Outcome.NOT_SSH, "banner")


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

    with speaking(relay) as port:
        done = run_at(port, sshd)
    assert done.outcome is Outcome.OK, done


def test_an_iteration_that_is_cut_off_is_unfinished(sshd: SshServer) -> None:
    recorder = Recorder("test-run", 0)
    iteration = prepare(config_for(sshd, exec_step("sleep 60")), recorder)
    now_ns = time.monotonic_ns()
    greenlet = gevent.spawn(iteration.run, Due(now_ns, Window.MEASURED))
    before = sshd.accepted()
    with gevent.Timeout(300):
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
    prepare(config_for(sshd), recorder).run(Due(now_ns - 60_000_000_000, Window.MEASURED))
    report = recorder.take_report(HealthMonitor().health(connections=0, overflows=0), final=True)
    latency_us = {one.step: LatencyHistogram.decode(one.data).max_us() for one in report.histograms}
    assert (latency_us["total"] or 0) > 60_000_000 > (latency_us["login"] or 0)
    assert report.counts[Window.MEASURED].late == 1


def test_what_the_client_cannot_do_is_found_before_the_start_and_told_by_its_field(sshd: SshServer) -> None:
    config = config_for(sshd)
    impossible = replace(config, client=replace(config.client, ciphers=("rot13",)))
    with pytest.raises(GeneratorFaultError, match=r"spec\.client\.ciphers: ssh2-python does not know rot13"):
        run_once(impossible)


def test_missing_credentials_are_found_before_the_start(sshd: SshServer) -> None:
    config = config_for(sshd)
    with pytest.raises(GeneratorFaultError, match="private key is needed"):
        run_once(replace(config, target=replace(config.target, private_key_path="")))
    with pytest.raises(GeneratorFaultError, match=r"missing-key.* cannot be read"):
        run_once(replace(config, target=replace(config.target, private_key_path="/missing-key")))
