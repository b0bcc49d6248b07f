"""The library mina-sshd, a client in Java: commands and SFTP with the same outcomes as the other libraries."""

import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import gevent
import pytest
from client_kinds import Kind
from free_ports import free_port
from gevent.event import Event
from one_iteration import Counted, run_once
from run_configs import EXEC_TRUE, arrivals, endpoint, run_config, scenario
from ssh_server import SshServer
from sshload_contract.client import Library
from sshload_contract.steps import (
    ExecStep,
    ScenarioStep,
    SftpListStep,
    SftpMkdirStep,
    SftpReadStep,
    SftpRemoveStep,
    SftpRenameStep,
    SftpRmdirStep,
    SftpStatStep,
    SftpWriteStep,
    Verify,
)
from sshload_contract.vocabulary import Outcome
from sshload_contract.wire.run_config import RunConfig
from sshload_worker.clients.mina.connection import MinaConnection
from sshload_worker.clients.mina.virtual_machine import virtual_machine
from sshload_worker.outcomes import GeneratorFaultError
from sshload_worker.recording.health import memory_peak_bytes, used_cpu_s
from sshload_worker.scenario.target_login import prepare_login, resolve_first_hop
from unkind_servers import speaking

MINA = Kind(Library.MINA_SSHD)
SIZE_BYTES = 3_000_000
DEADLINE_S = 300.0


def config_for(server: SshServer, *steps: ScenarioStep, **client: object) -> RunConfig:
    config = run_config(endpoint(server), arrivals(1, 1))
    return replace(config, client=replace(MINA.client(), **client), scenario=scenario(*(steps or (EXEC_TRUE,))))


def run(server: SshServer, *steps: ScenarioStep, **client: object) -> Counted:
    return run_once(config_for(server, *steps, **client))


def exec_step(command: str, exit_code: int = 0, stdout: str = "") -> ExecStep:
    return ExecStep(name="", command=command, expect_exit_code=exit_code, expect_stdout=stdout)


def test_a_login_and_a_command_are_timed(sshd: SshServer) -> None:
    done = run(sshd, exec_step("uptime", stdout="load average"))
    assert done.outcome is Outcome.OK, done
    assert list(done.steps) == ["startDelay", "connect", "banner", "kex", "auth", "login", "command", "total"]


def test_what_is_asked_for_is_negotiated_and_told(sshd: SshServer) -> None:
    (agreed,) = run(
        sshd, kex_algorithms=("ecdh-sha2-nistp256",), ciphers=("aes256-ctr",), macs=("hmac-sha2-512",)
    ).negotiated
    told = agreed.negotiated
    assert (told.kex, told.cipher, told.mac) == ("ecdh-sha2-nistp256", "aes256-ctr", "hmac-sha2-512")
    assert told.host_key == "ssh-ed25519"
    assert told.server_version.startswith("SSH-2.0-OpenSSH_")


def test_compression_is_used_where_asked_for(start_sshd: Callable[[str], SshServer]) -> None:
    server = start_sshd("LogLevel DEBUG1")
    assert run(server, compression=True).outcome is Outcome.OK
    assert "compression: zlib@openssh.com" in server.log


@pytest.mark.parametrize(
    ("step", "outcome", "message"),
    [
        pytest.param(exec_step("exit 3"), Outcome.EXIT_CODE, "exit code 3", id="another exit code"),
        pytest.param(exec_step("exit 3", exit_code=3), Outcome.OK, "", id="the expected exit code"),
        pytest.param(exec_step("echo why >&2; exit 1"), Outcome.EXIT_CODE, "exit code 1: why", id="stderr explains"),
        pytest.param(exec_step("kill -9 $$"), Outcome.KILLED_BY_SIGNAL, "killed by signal KILL", id="SIGKILL"),
        pytest.param(exec_step("echo abd", stdout="abc"), Outcome.OUTPUT_MISMATCH, "expectStdout", id="other output"),
        pytest.param(exec_step("cat"), Outcome.OK, "", id="the end of input is sent"),
        pytest.param(
            exec_step("head -c 5000000 /dev/zero; head -c 5000000 /dev/zero >&2"), Outcome.OK, "", id="much output"
        ),
        pytest.param(exec_step("kill -9 $PPID; sleep 5"), Outcome.DISCONNECTED, "", id="the connection dies"),
    ],
)
def test_a_command_ends_in_the_outcome_of_what_it_did(
    sshd: SshServer, step: ExecStep, outcome: Outcome, message: str
) -> None:
    done = run(sshd, step)
    assert done.outcome is outcome, done
    assert message in done.message


def test_a_step_that_takes_too_long_is_cut_off(sshd: SshServer) -> None:
    timeouts = replace(MINA.client().timeouts, step_s=0.3)
    done = run(sshd, exec_step("sleep 600"), timeouts=timeouts)
    assert (done.outcome, done.failed_step) == (Outcome.STEP_TIMEOUT, "command")


def test_files_and_names_pass_over_sftp(sftp_sshd: SshServer, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    file, renamed = str(folder / "a file é"), str(folder / "renamed")
    done = run(
        sftp_sshd,
        SftpMkdirStep(name="", path=str(folder)),
        SftpWriteStep(name="", path=file, size_bytes=SIZE_BYTES, verify=Verify.CONTENT),
        SftpReadStep(name="", path=file, expect_bytes=SIZE_BYTES, expect_sha256=""),
        SftpListStep(name="", path=str(folder), expect_entries=1),
        SftpStatStep(name="", path=file),
        SftpRenameStep(name="", path=file, to=renamed),
        SftpRemoveStep(name="", path=renamed),
        SftpRmdirStep(name="", path=str(folder)),
    )
    assert done.outcome is Outcome.OK, done
    assert not folder.exists()


@pytest.mark.parametrize(
    ("step", "outcome"),
    [
        pytest.param(SftpStatStep(name="", path="/missing"), Outcome.SFTP_NO_SUCH_FILE, id="stat"),
        pytest.param(
            SftpReadStep(name="", path="/missing", expect_bytes=None, expect_sha256=""),
            Outcome.SFTP_NO_SUCH_FILE,
            id="read",
        ),
        pytest.param(SftpMkdirStep(name="", path="/tmp"), Outcome.SFTP_FAILURE, id="mkdir of what is there"),
    ],
)
def test_what_the_server_refuses_of_files_is_told_by_name(
    sftp_sshd: SshServer, step: ScenarioStep, outcome: Outcome
) -> None:
    assert run(sftp_sshd, step).outcome is outcome


def test_another_host_key_is_a_mismatch(sshd: SshServer, tmp_path: Path) -> None:
    other = tmp_path / "known_hosts"
    line = sshd.known_hosts.read_text().split()
    key = sshd.keys.user.with_suffix(".pub").read_text().split()
    other.write_text(f"{line[0]} {key[0]} {key[1]}\n")
    config = config_for(sshd)
    done = run_once(replace(config, target=replace(config.target, known_hosts_path=str(other))))
    assert (done.outcome, done.failed_step) == (Outcome.HOST_KEY_MISMATCH, "kex"), done


def test_another_user_is_rejected(sshd: SshServer) -> None:
    config = config_for(sshd)
    done = run_once(replace(config, target=replace(config.target, user="nobody-here")))
    assert (done.outcome, done.failed_step) == (Outcome.AUTH_REJECTED, "auth"), done


def test_a_port_at_which_nobody_listens_refuses(sshd: SshServer) -> None:
    config = config_for(sshd)
    done = run_once(replace(config, target=replace(config.target, port=free_port(), known_hosts_path="")))
    assert (done.outcome, done.failed_step) == (Outcome.REFUSED, "connect"), done


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        pytest.param(b"Exceeded MaxStartups\r\n", Outcome.THROTTLED, id="throttled"),
        pytest.param(b"Not allowed at this time\r\n", Outcome.DROPPED_UNKNOWN, id="dropped"),
        pytest.param(b"", Outcome.RESET_BEFORE_BANNER, id="nothing"),
    ],
)
def test_a_server_that_refuses_before_its_banner_is_heard(sshd: SshServer, said: bytes, outcome: Outcome) -> None:
    with speaking(lambda connection: connection.sendall(said)) as port:
        config = config_for(sshd)
        done = run_once(replace(config, target=replace(config.target, port=port, known_hosts_path="")))
    assert (done.outcome, done.failed_step) == (outcome, "banner"), done


def test_a_channel_beyond_max_sessions_is_refused(start_sshd: Callable[[str], SshServer]) -> None:
    server = start_sshd("MaxSessions 0")
    assert run(server).outcome is Outcome.CHANNEL_REFUSED


def test_a_connection_that_the_server_ends_is_lost(start_sshd: Callable[[str], SshServer]) -> None:
    server = start_sshd("")
    config = config_for(server)
    connection = MinaConnection(prepare_login(config, resolve_first_hop(config, print)))
    for part in (connection.connect, connection.banner, connection.kex, connection.auth, connection.keep_alive):
        part()
    assert not connection.is_lost()
    server.hang_up()
    with gevent.Timeout(DEADLINE_S):
        while not connection.is_lost():
            gevent.sleep(0.01)
    connection.close()


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        pytest.param(b"", Outcome.BANNER_TIMEOUT, id="no version"),
        pytest.param(b"SSH-2.0-silent\r\n", Outcome.KEX_TIMEOUT, id="no keys"),
    ],
)
def test_a_connection_that_is_given_up_ends_although_its_server_is_silent(
    sshd: SshServer, said: bytes, outcome: Outcome
) -> None:
    has_ended = Event()

    def stay_silent(connection: socket.socket) -> None:
        connection.sendall(said)
        while connection.recv(4_096):
            pass
        has_ended.set()

    with speaking(stay_silent) as port:
        config = config_for(sshd, timeouts=replace(MINA.client().timeouts, banner_s=0.3, kex_s=0.3))
        done = run_once(replace(config, target=replace(config.target, port=port, known_hosts_path="")))
        assert has_ended.wait(DEADLINE_S)
    assert done.outcome is outcome, done


def test_the_cpu_time_and_the_memory_of_the_java_program_are_the_workers(sshd: SshServer) -> None:
    machine = virtual_machine()
    before_s = used_cpu_s()
    for _ in range(20):
        assert run(sshd).outcome is Outcome.OK
    assert used_cpu_s() > before_s
    assert (memory_peak_bytes() or 0) > 50_000_000
    assert machine is virtual_machine()


def test_a_cipher_that_it_does_not_know_is_refused_before_the_load(sshd: SshServer) -> None:
    with pytest.raises(GeneratorFaultError, match=r"spec\.client\.ciphers: mina-sshd does not know rot13"):
        run(sshd, ciphers=("rot13",))


def test_the_java_program_ends_with_its_worker() -> None:
    machine = virtual_machine()
    machine.end()
    virtual_machine.cache_clear()
    with pytest.raises(OSError):  # noqa: PT011 - there is no such file
        machine.conversation()
