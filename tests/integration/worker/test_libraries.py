"""What every client library does alike: the same steps, under the same names, with the same outcomes."""

import gc
import logging
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from stat import S_IMODE
from time import monotonic_ns
from typing import Any

import gevent
import pytest
from circles import in_pairs
from client_kinds import (
    KINDS,
    KINDS_WITH_SCP,
    Kind,
    every_kind,
    every_kind_with_forwards,
    every_kind_with_jump_hosts,
    every_kind_with_scp,
    every_kind_with_shells,
)
from free_ports import free_port
from gevent import monkey
from gevent.event import Event
from one_iteration import Counted, counted, prepare, run_once
from run_configs import EXEC_TRUE, arrivals, client, endpoint, run_config, scenario
from ssh_server import SshServer
from sshload_contract.client import Auth, Library
from sshload_contract.steps import (
    ExecStep,
    ForwardStep,
    ScenarioStep,
    ScpReadStep,
    ScpWriteStep,
    SftpListStep,
    SftpMkdirStep,
    SftpReadStep,
    SftpRemoveStep,
    SftpRenameStep,
    SftpRmdirStep,
    SftpSetstatStep,
    SftpStatStep,
    SftpSymlinkStep,
    SftpWriteStep,
    ShellStep,
    SleepStep,
    Verify,
)
from sshload_contract.vocabulary import Outcome, Timing, Window
from sshload_contract.wire.run_config import Endpoint, RunConfig
from sshload_worker.clients.mina.connection import MinaConnection
from sshload_worker.clients.openssh import process
from sshload_worker.clients.openssh.master import Master
from sshload_worker.clients.openssh.process import program
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.step_clock import Due
from sshload_worker.scenario.steps import dispatch
from unkind_servers import speaking
from until import Heard

SHORT = 0.3
STEP_LIMIT_S = 2.0
DEADLINE_S = 300.0
stand_still: Callable[[float], None] = monkey.get_original("time", "sleep")
SIZE_BYTES = 3_000_000
FILE_PARTS = "open firstByte read close"


@pytest.fixture(autouse=True)
def _nothing_is_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail a test after which something is left to complain about, as asyncio does of tasks that nobody awaits."""
    yield
    gc.collect()
    records = caplog.get_records("call") + caplog.get_records("teardown")
    assert [record.getMessage() for record in records if record.levelno >= logging.WARNING] == []


def config_for(kind: Kind, server: SshServer, *steps: ScenarioStep) -> RunConfig:
    config = run_config(endpoint(server), arrivals(1, 1))
    return replace(config, client=kind.client(), scenario=scenario(*(steps or (EXEC_TRUE,))))


def exec_step(command: str, exit_code: int = 0, stdout: str = "") -> ExecStep:
    return ExecStep(name="", command=command, expect_exit_code=exit_code, expect_stdout=stdout)


def with_limits(config: RunConfig, **timeouts_s: float) -> RunConfig:
    return replace(config, client=replace(config.client, timeouts=client(**timeouts_s).timeouts))


def run_at(port: int, kind: Kind, keys: Path, **timeouts_s: float) -> Counted:
    nobody = Endpoint(
        host="127.0.0.1",
        port=port,
        user="nobody",
        auth=Auth.PUBLICKEY,
        private_key_path=str(keys),
        certificate_path="",
        passphrase_path="",
        password_path="",
        known_hosts_path="",
    )
    config = run_config(nobody, arrivals(1, 1))
    return run_once(replace(config, client=kind.client(**timeouts_s)))


@every_kind
def test_a_login_and_a_command_are_timed_step_by_step(sshd: SshServer, kind: Kind) -> None:
    done = run_once(config_for(kind, sshd, exec_step("uptime", stdout="load average")))
    assert done.outcome is Outcome.OK, done
    parts = kind.part_or("channelOpen exec firstByte read close ", "")
    assert done.steps.keys() == set(f"startDelay connect banner kex auth login {parts}command total".split())
    assert set(done.steps.values()) == {Outcome.OK}


@every_kind
def test_what_was_negotiated_is_told(sshd: SshServer, kind: Kind) -> None:
    (agreed,) = run_once(config_for(kind, sshd)).negotiated
    told = agreed.negotiated
    assert told.kex
    assert told.cipher
    assert told.mac
    assert told.host_key == "ssh-ed25519"
    assert told.server_version.startswith("SSH-2.0-OpenSSH_")


@every_kind
def test_the_clients_preferences_are_negotiated(sshd: SshServer, kind: Kind) -> None:
    config = config_for(kind, sshd)
    preferences = replace(
        config.client, kex_algorithms=("ecdh-sha2-nistp256",), ciphers=("aes256-ctr",), macs=("hmac-sha2-512",)
    )
    (agreed,) = run_once(replace(config, client=preferences)).negotiated
    told = agreed.negotiated
    assert (told.kex, told.cipher, told.mac) == ("ecdh-sha2-nistp256", "aes256-ctr", "hmac-sha2-512")


@every_kind
def test_a_cipher_that_authenticates_by_itself_has_no_mac_of_its_own(sshd: SshServer, kind: Kind) -> None:
    config = config_for(kind, sshd)
    (agreed,) = run_once(replace(config, client=replace(config.client, ciphers=("aes128-gcm@openssh.com",)))).negotiated
    assert (agreed.negotiated.cipher, agreed.negotiated.mac) == ("aes128-gcm@openssh.com", "implicit")


@every_kind
def test_compression_is_used_where_asked_for(start_sshd: Callable[[str], SshServer], kind: Kind) -> None:
    server = start_sshd("LogLevel DEBUG1")
    config = config_for(kind, server)
    assert run_once(replace(config, client=replace(config.client, compression=True))).outcome is Outcome.OK
    assert "compression: zlib@openssh.com" in server.log


@in_pairs(
    ("kind", KINDS),
    (
        "step, outcome, message",
        [
            pytest.param(exec_step("exit 3"), Outcome.EXIT_CODE, "exit code 3", id="another exit code"),
            pytest.param(exec_step("exit 3", exit_code=3), Outcome.OK, "", id="the expected exit code"),
            pytest.param(
                exec_step("echo why >&2; exit 1"), Outcome.EXIT_CODE, "exit code 1: why", id="stderr explains"
            ),
            pytest.param(exec_step("kill -9 $$"), Outcome.KILLED_BY_SIGNAL, "killed by signal", id="SIGKILL"),
            pytest.param(
                exec_step("echo x; kill -TERM $$"), Outcome.KILLED_BY_SIGNAL, "killed by signal", id="SIGTERM"
            ),
            pytest.param(exec_step("echo abc", stdout="^abc$"), Outcome.OK, "", id="the expected output"),
            pytest.param(
                exec_step("echo abd", stdout="abc"), Outcome.OUTPUT_MISMATCH, "expectStdout", id="other output"
            ),
            pytest.param(exec_step("head -c 5000000 /dev/zero"), Outcome.OK, "", id="much output"),
            pytest.param(exec_step("head -c 5000000 /dev/zero >&2"), Outcome.OK, "", id="much on stderr"),
            pytest.param(
                exec_step("for i in 1 2 3; do echo $i; echo e >&2; done; head -c 3000000 /dev/zero >&2; echo end"),
                Outcome.OK,
                "",
                id="both mixed",
            ),
            pytest.param(exec_step("kill -9 $PPID; sleep 5"), Outcome.DISCONNECTED, "", id="the connection dies"),
            pytest.param(
                exec_step(
                    "echo 'mux_client_request_session: session request failed: Session open refused by peer' >&2;"
                    " echo 'channel 2: open failed: connect failed: open failed' >&2; exit 255"
                ),
                Outcome.EXIT_CODE,
                "exit code 255",
                id="ssh's words for a refusal",
            ),
        ],
    ),
)
def test_a_command_ends_in_the_outcome_of_what_it_did(
    sshd: SshServer, kind: Kind, step: ExecStep, outcome: Outcome, message: str
) -> None:
    done = run_once(config_for(kind, sshd, step))
    assert done.outcome is outcome, done
    assert message in done.message
    assert done.counts.succeeded + done.counts.failed == done.counts.started == 1


@every_kind
def test_a_command_that_a_signal_ended_is_told_from_one_that_ended_well_before_it(
    sshd: SshServer, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where ssh's log is read late, as on a busy machine: what it says of the first is there before the second."""
    read_log = Master._read_log

    def read_late(master: Master) -> None:
        read = master._log_pipe.read
        monkeypatch.setattr(master._log_pipe, "read", lambda: (gevent.sleep(0.4), read())[1])
        read_log(master)

    monkeypatch.setattr(Master, "_read_log", read_late)
    steps = (replace(EXEC_TRUE, name="first"), replace(exec_step("sleep 0.6; kill -9 $$"), name="second"))
    done = run_once(config_for(kind, sshd, *steps))
    assert (done.outcome, done.steps["first.command"]) == (Outcome.KILLED_BY_SIGNAL, Outcome.OK), done


@every_kind
def test_a_command_that_takes_too_long_is_a_step_timeout(sshd: SshServer, kind: Kind) -> None:
    done = run_once(with_limits(config_for(kind, sshd, exec_step("sleep 20")), step_s=SHORT))
    parts = ("channelOpen", "exec", "read")  # the limit is for all of them
    waited_in = next(part for part in parts if done.steps.get(part) is not Outcome.OK)
    assert (done.outcome, done.failed_step) == (Outcome.STEP_TIMEOUT, kind.part_or(waited_in, "command"))


def noting(begin: Callable[..., None], into: list[Any]) -> Callable[..., None]:
    """Return `begin`, an `__init__`, which notes the object too."""

    def note(connection: Any, *arguments: Any, **options: Any) -> None:
        into.append(connection)
        begin(connection, *arguments, **options)

    return note


@every_kind
def test_a_connection_that_dies_during_a_sleep_is_a_disconnect(
    start_sshd: Callable[[str], SshServer], kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long the sleep is: here it lasts until the connection is dead."""
    server = start_sshd("")
    asleep, is_dead = Event(), Event()

    def sleep(_: float) -> None:
        asleep.set()
        is_dead.wait()

    told_late: list[Master | MinaConnection] = []  # whose own process hears of the end in its own time
    for late in (Master, MinaConnection):
        monkeypatch.setattr(late, "__init__", noting(late.__init__, told_late))
    monkeypatch.setattr(dispatch, "sleep", sleep)
    recorder = Recorder("test-run", 0)
    iteration = prepare(config_for(kind, server, EXEC_TRUE, SleepStep(duration_s=60.0)), recorder)
    now_ns = monotonic_ns()
    running = gevent.spawn(iteration.run, Due(now_ns, Window.MEASURED))
    with gevent.Timeout(DEADLINE_S):
        asleep.wait()
        server.hang_up()
        while not all(connection.is_lost() for connection in told_late):
            gevent.sleep(0.01)
        is_dead.set()
        running.join()
    done = counted(recorder)
    assert done.steps["command"] is Outcome.OK
    assert (done.outcome, done.failed_step) == (Outcome.DISCONNECTED, "total")


@pytest.mark.parametrize("is_there", [True, False], ids=["a server", "no server"])
def test_the_time_that_a_program_takes_to_start_is_no_part_of_its_connect(
    start_sshd: Callable[[str], SshServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_there: bool
) -> None:
    """It is part of the login, as it is for whoever calls ssh."""
    slow = tmp_path / "bin" / "ssh"
    slow.parent.mkdir()
    slow.write_text(f'#!/bin/sh\nsleep {SHORT}\nexec {program("ssh")} "$@"\n')
    slow.chmod(0o755)
    monkeypatch.setattr(process, "program", lambda name: str(slow) if name == "ssh" else program(name))
    parts = (Timing.CONNECT, Timing.BANNER, Timing.KEX, Timing.AUTH)
    heard = Heard(*parts, Timing.LOGIN)
    recorder, now_ns = Recorder("test-run", 0, heard, heard.steps), monotonic_ns()
    server, outcome = start_sshd(""), Outcome.OK if is_there else Outcome.REFUSED
    config = config_for(Kind(Library.OPENSSH), server, EXEC_TRUE)
    if not is_there:
        config = replace(config, target=replace(config.target, port=free_port(), known_hosts_path=""))
    prepare(config, recorder).run(Due(now_ns, Window.MEASURED, now_ns))
    in_parts_us = sum(heard.latencies_us(part, outcome)[0] for part in parts if heard.count(part, outcome))
    assert heard.latencies_us(Timing.LOGIN, outcome)[0] - in_parts_us >= SHORT * 1_000_000
    assert heard.count(Timing.CONNECT, outcome) == 1


@every_kind
def test_an_answer_that_came_in_time_while_the_process_stood_still_is_no_timeout(
    start_sshd: Callable[[str], SshServer], kind: Kind, tmp_path: Path
) -> None:
    """The command ends while the process stands still, until the limit is over."""
    server = start_sshd("")
    running, may_end = tmp_path / "running", tmp_path / "may-end"
    waits = exec_step(f"touch {running}; until [ -e {may_end} ]; do sleep 0.01; done")
    recorder = Recorder("test-run", 0)
    iteration = prepare(with_limits(config_for(kind, server, waits), step_s=STEP_LIMIT_S), recorder)
    now_ns = monotonic_ns()
    run = gevent.spawn(iteration.run, Due(now_ns, Window.MEASURED, now_ns))
    with gevent.Timeout(DEADLINE_S):
        while not (running.exists() or run.ready()):
            gevent.sleep(0.01)
        may_end.touch()
        stand_still(STEP_LIMIT_S + SHORT)
        run.join()
    assert counted(recorder).outcome is Outcome.OK


@every_kind
def test_files_are_written_and_read_over_sftp(sftp_sshd: SshServer, kind: Kind, tmp_path: Path) -> None:
    path = str(tmp_path / "file")
    steps = (
        SftpWriteStep(name="put", path=path, size_bytes=SIZE_BYTES, verify=Verify.SIZE),
        SftpReadStep(name="get", path=path, expect_bytes=SIZE_BYTES, expect_sha256=""),
        SftpWriteStep(name="again", path=path, size_bytes=SIZE_BYTES + 1, verify=Verify.CONTENT),
    )
    done = run_once(config_for(kind, sftp_sshd, *steps))
    assert done.outcome is Outcome.OK, done
    expected = [*kind.part_or(FILE_PARTS, "").split(), "sftpRead"]
    assert {step for step in done.steps if step.startswith("get.")} == {f"get.{part}" for part in expected}
    assert (tmp_path / "file").stat().st_size == SIZE_BYTES + 1


@every_kind
def test_an_empty_file_is_read_over_sftp(sftp_sshd: SshServer, kind: Kind, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    step = SftpReadStep(name="", path=str(tmp_path / "empty"), expect_bytes=0, expect_sha256="")
    assert run_once(config_for(kind, sftp_sshd, step)).outcome is Outcome.OK


@every_kind
def test_names_are_made_listed_changed_and_removed_over_sftp(sftp_sshd: SshServer, kind: Kind, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    file, renamed = str(folder / "file"), str(folder / "renamed")
    steps = (
        SftpMkdirStep(name="", path=str(folder)),
        SftpWriteStep(name="", path=file, size_bytes=10, verify=Verify.NONE),
        SftpListStep(name="", path=str(folder), expect_entries=1),
        SftpStatStep(name="", path=file),
        SftpRenameStep(name="", path=file, to=renamed),
        SftpRemoveStep(name="", path=renamed),
        SftpRmdirStep(name="", path=str(folder)),
    )
    done = run_once(config_for(kind, sftp_sshd, *steps))
    assert done.outcome is Outcome.OK, done
    assert not folder.exists()


@every_kind
def test_the_permissions_of_a_file_are_set(sftp_sshd: SshServer, kind: Kind, tmp_path: Path) -> None:
    file = tmp_path / "a fi*le"
    file.touch(mode=0o644)
    done = run_once(config_for(kind, sftp_sshd, SftpSetstatStep(name="", path=str(file), mode="2750")))
    assert done.outcome is Outcome.OK, done
    assert S_IMODE(file.stat().st_mode) == 0o2750
    missing = run_once(config_for(kind, sftp_sshd, SftpSetstatStep(name="", path=f"{file}2", mode="750")))
    assert missing.outcome is Outcome.SFTP_NO_SUCH_FILE, missing


@every_kind
def test_a_symbolic_link_is_made_at_its_path_and_leads_to_the_other(
    sftp_sshd: SshServer, kind: Kind, tmp_path: Path
) -> None:
    link, step = tmp_path / "li nk", SftpSymlinkStep(name="", path=f"{tmp_path}/li nk", to="an other")
    done = run_once(config_for(kind, sftp_sshd, step))
    assert done.outcome is Outcome.OK, done
    assert str(link.readlink()) == "an other"
    again = run_once(config_for(kind, sftp_sshd, step))
    assert again.outcome is Outcome.SFTP_FAILURE, again


@in_pairs(
    ("kind", KINDS),
    (
        "step, outcome",
        [
            pytest.param(SftpStatStep(name="", path="/missing"), Outcome.SFTP_NO_SUCH_FILE, id="stat"),
            pytest.param(
                SftpListStep(name="", path="/missing", expect_entries=None), Outcome.SFTP_NO_SUCH_FILE, id="list"
            ),
            pytest.param(
                SftpReadStep(name="", path="/missing", expect_bytes=None, expect_sha256=""),
                Outcome.SFTP_NO_SUCH_FILE,
                id="read",
            ),
            pytest.param(SftpMkdirStep(name="", path="/tmp"), Outcome.SFTP_FAILURE, id="mkdir of what is there"),
        ],
    ),
)
def test_what_the_server_refuses_of_files_is_told_by_name(
    sftp_sshd: SshServer, kind: Kind, step: ScenarioStep, outcome: Outcome
) -> None:
    assert run_once(config_for(kind, sftp_sshd, step)).outcome is outcome


@in_pairs(
    ("kind", KINDS_WITH_SCP),
    (
        "step",
        [
            pytest.param(ScpReadStep(name="", path="/missing", expect_bytes=None, expect_sha256=""), id="read"),
            pytest.param(
                ScpWriteStep(name="", path="/missing/file", size_bytes=10, verify=Verify.NONE), id="to nowhere"
            ),
        ],
    ),
)
def test_what_the_server_refuses_of_scp_is_told(sftp_sshd: SshServer, kind: Kind, step: ScenarioStep) -> None:
    assert run_once(config_for(kind, sftp_sshd, step)).outcome is Outcome.SCP_FAILED


@every_kind_with_scp
def test_files_are_written_and_read_by_scp(sftp_sshd: SshServer, kind: Kind, tmp_path: Path) -> None:
    path = str(tmp_path / "a file")
    steps = (
        ScpWriteStep(name="put", path=path, size_bytes=SIZE_BYTES, verify=Verify.CONTENT),
        ScpReadStep(name="get", path=path, expect_bytes=SIZE_BYTES, expect_sha256=""),
        ScpWriteStep(name="empty", path=path, size_bytes=0, verify=Verify.NONE),
    )
    done = run_once(config_for(kind, sftp_sshd, *steps))
    assert done.outcome is Outcome.OK, done
    expected = [*kind.part_or(FILE_PARTS, "").split(), "scpRead"]
    assert {step for step in done.steps if step.startswith("get.")} == {f"get.{part}" for part in expected}
    assert (tmp_path / "a file").stat().st_size == 0


SPECIAL_NAMES = (
    pytest.param("a*b?c[d]", id="patterns"),
    pytest.param("back\\slash \\* \\\\", id="backslashes"),
    pytest.param("\"two\" 'kinds' of quotes", id="quotes"),
    pytest.param("-rf", id="a hyphen first"),
    pytest.param("#$HOME;`id`&|~{x,y}é", id="what a shell knows"),
)


@in_pairs(("kind", KINDS), ("name", SPECIAL_NAMES))
def test_a_path_is_taken_as_it_stands_over_sftp(
    start_sshd: Callable[[str], SshServer], kind: Kind, tmp_path: Path, name: str
) -> None:
    (tmp_path / "home").mkdir()
    steps = (
        SftpMkdirStep(name="", path=name),
        SftpListStep(name="", path=name, expect_entries=0),
        SftpRmdirStep(name="", path=name),
        SftpWriteStep(name="", path=name, size_bytes=10, verify=Verify.CONTENT),
        SftpStatStep(name="", path=name),
        SftpRenameStep(name="", path=name, to=f"{name}2"),
    )
    server = start_sshd(f"Subsystem sftp internal-sftp -d {tmp_path}/home")
    done = run_once(config_for(kind, server, *steps))
    assert done.outcome is Outcome.OK, done
    assert [path.name for path in (tmp_path / "home").iterdir()] == [f"{name}2"]
    removed = run_once(config_for(kind, server, SftpRemoveStep(name="", path=f"{name}2")))
    assert removed.outcome is Outcome.OK, removed
    assert list((tmp_path / "home").iterdir()) == []


@in_pairs(("kind", KINDS_WITH_SCP), ("name", SPECIAL_NAMES))
def test_a_path_is_taken_as_it_stands_by_scp(
    start_sshd: Callable[[str], SshServer], kind: Kind, tmp_path: Path, name: str
) -> None:
    (tmp_path / "home").mkdir()
    steps = (
        ScpWriteStep(name="put", path=name, size_bytes=10, verify=Verify.CONTENT),
        ScpReadStep(name="get", path=name, expect_bytes=10, expect_sha256=""),
    )
    server = start_sshd(f'ForceCommand cd {tmp_path}/home && eval "$SSH_ORIGINAL_COMMAND"')
    done = run_once(config_for(kind, server, *steps))
    assert done.outcome is Outcome.OK, done
    assert [path.name for path in (tmp_path / "home").iterdir()] == [name]


@every_kind_with_jump_hosts
def test_a_server_at_an_ipv6_address_does_all_that_others_do(
    start_sshd: Callable[[str], SshServer], kind: Kind, tmp_path: Path
) -> None:
    server = start_sshd("ListenAddress ::1\nSubsystem sftp internal-sftp")
    known_hosts = tmp_path / "known_hosts_of_ipv6"
    known_hosts.write_text(f"[::1]:{server.port} {server.keys.host.with_suffix('.pub').read_text()}")
    path = str(tmp_path / "file")
    steps = (
        replace(EXEC_TRUE, name="exec"),
        ScpWriteStep(name="scp", path=path, size_bytes=10, verify=Verify.CONTENT),
        SftpReadStep(name="sftp", path=path, expect_bytes=10, expect_sha256=""),
        ForwardStep(name="forward", host="::1", port=server.port, send="", expect="SSH-2.0-OpenSSH"),
    )
    config = config_for(kind, server, *steps)
    target = replace(config.target, host="::1", known_hosts_path=str(known_hosts))
    done = run_once(replace(config, target=target, via=(target,)))
    assert done.outcome is Outcome.OK, done


@every_kind_with_shells
def test_a_shell_echoes_what_is_typed(sshd: SshServer, kind: Kind) -> None:
    step = ShellStep(name="", command="", ready="", send="echo $((40+2))x\n", expect="42x", repeat=1)
    done = run_once(config_for(kind, sshd, step))
    assert done.outcome is Outcome.OK, done
    assert done.steps["shell"] is done.steps[kind.part_or("shellStart", "shell")] is Outcome.OK


@every_kind_with_shells
def test_a_command_on_a_terminal_echoes_what_is_typed(sshd: SshServer, kind: Kind) -> None:
    step = ShellStep(name="", command="cat", ready="", send="ping\n", expect="ping\r\nping", repeat=1)
    assert run_once(config_for(kind, sshd, step)).outcome is Outcome.OK


@every_kind_with_forwards
def test_a_forwarded_connection_reaches_its_server(sshd: SshServer, kind: Kind) -> None:
    step = ForwardStep(name="", host="127.0.0.1", port=sshd.port, send="", expect="SSH-2.0-OpenSSH")
    assert run_once(config_for(kind, sshd, step)).outcome is Outcome.OK


@every_kind_with_forwards
def test_a_forward_to_where_nobody_listens_is_refused(sshd: SshServer, kind: Kind) -> None:
    step = ForwardStep(name="", host="127.0.0.1", port=free_port(), send="", expect="")
    done = run_once(config_for(kind, sshd, step))
    assert (done.outcome, done.failed_step) == (Outcome.CHANNEL_REFUSED, kind.part_or("channelOpen", "forward"))


@every_kind
def test_a_wrong_key_is_rejected(sshd: SshServer, kind: Kind) -> None:
    config = config_for(kind, sshd)
    done = run_once(replace(config, target=replace(config.target, private_key_path=str(sshd.keys.stranger))))
    assert (done.outcome, done.failed_step) == (Outcome.AUTH_REJECTED, "auth")
    assert done.steps["login"] is Outcome.AUTH_REJECTED
    assert done.steps["kex"] is Outcome.OK


@in_pairs(("kind", KINDS), ("key", ["user", "stranger"]))
def test_a_banner_in_ssh_s_own_words_changes_no_outcome(
    start_sshd: Callable[[str], SshServer], kind: Kind, tmp_path: Path, key: str
) -> None:
    """Among them a sentence that many a bank shows."""
    banner = tmp_path / "banner"
    banner.write_text(
        "You are about to connect to a restricted system: leave now\n"
        "ssh: connect to host a port 1: Connection refused\n"
        "Unable to negotiate with a port 1: no matching cipher found\n"
        "Host key verification failed.\n"
        "debug1: Entering interactive session.\n"
    )
    server = start_sshd(f"Banner {banner}")
    config = config_for(kind, server)
    done = run_once(replace(config, target=replace(config.target, private_key_path=str(getattr(server.keys, key)))))
    expected = (Outcome.OK, "") if key == "user" else (Outcome.AUTH_REJECTED, "auth")
    assert (done.outcome, done.failed_step) == expected, done


@in_pairs(("kind", KINDS), ("auth", [Auth.PASSWORD, Auth.KEYBOARD_INTERACTIVE]))
def test_a_wrong_password_is_rejected_and_not_told(
    start_sshd: Callable[[str], SshServer], kind: Kind, auth: Auth, tmp_path: Path
) -> None:
    server = start_sshd("PasswordAuthentication yes\nKbdInteractiveAuthentication yes\nPermitRootLogin yes\nUsePAM yes")
    password = tmp_path / "password"
    password.write_text("no-such-secret\n")
    config = config_for(kind, server)
    target = replace(config.target, auth=auth, private_key_path="", password_path=str(password))
    done = run_once(replace(config, target=target))
    assert (done.outcome, done.failed_step) == (Outcome.AUTH_REJECTED, "auth"), done
    assert "no-such-secret" not in done.message
    server.await_log("Failed password|Authentication failure")


@in_pairs(
    ("kind", KINDS), ("key_type, bits", [("rsa", "2048"), ("ecdsa", "256"), ("ecdsa", "521"), ("ed25519", "256")])
)
def test_a_key_of_any_kind_logs_in(
    start_sshd: Callable[[str], SshServer], made_key: Callable[[str, str], Path], kind: Kind, key_type: str, bits: str
) -> None:
    key = made_key(key_type, bits)
    config = config_for(kind, start_sshd(f"AuthorizedKeysFile {key.with_suffix('.pub')}"))
    done = run_once(replace(config, target=replace(config.target, private_key_path=str(key))))
    assert done.outcome is Outcome.OK, done


@every_kind
def test_another_host_key_is_a_mismatch_and_nobody_logs_in(
    start_sshd: Callable[[str], SshServer], kind: Kind, tmp_path: Path
) -> None:
    server = start_sshd("")
    known_hosts = tmp_path / "known_hosts"
    stranger = server.keys.stranger.with_suffix(".pub").read_text()
    known_hosts.write_text(f"[127.0.0.1]:{server.port} {stranger}")
    config = config_for(kind, server)
    done = run_once(replace(config, target=replace(config.target, known_hosts_path=str(known_hosts))))
    assert (done.outcome, done.failed_step) == (Outcome.HOST_KEY_MISMATCH, "kex")
    assert server.accepted() == 0


@every_kind
def test_without_known_hosts_any_host_key_will_do(sshd: SshServer, kind: Kind) -> None:
    config = config_for(kind, sshd)
    assert run_once(replace(config, target=replace(config.target, known_hosts_path=""))).outcome is Outcome.OK


@every_kind
def test_a_closed_port_is_refused(sshd: SshServer, kind: Kind) -> None:
    done = run_at(free_port(), kind, sshd.keys.user)
    assert (done.outcome, done.failed_step, done.message) == (Outcome.REFUSED, "connect", "Connection refused")


@every_kind
def test_no_common_algorithm_is_a_failed_kex(start_sshd: Callable[[str], SshServer], kind: Kind) -> None:
    config = config_for(kind, start_sshd("KexAlgorithms ecdh-sha2-nistp384"))
    done = run_once(replace(config, client=replace(config.client, kex_algorithms=("ecdh-sha2-nistp256",))))
    assert (done.outcome, done.failed_step) == (Outcome.KEX_FAILED, "kex"), done


@every_kind
def test_a_refused_channel_is_told(start_sshd: Callable[[str], SshServer], kind: Kind) -> None:
    done = run_once(config_for(kind, start_sshd("MaxSessions 0")))
    assert (done.outcome, done.failed_step) == (Outcome.CHANNEL_REFUSED, kind.part_or("channelOpen", "command"))


@every_kind
def test_past_max_startups_is_throttled(start_sshd: Callable[[str], SshServer], kind: Kind) -> None:
    server = start_sshd("MaxStartups 1:100:1")
    with socket.create_connection(("127.0.0.1", server.port)) as first:
        assert first.recv(4) == b"SSH-"
        done = run_once(config_for(kind, server))
    assert (done.outcome, done.failed_step) == (Outcome.THROTTLED, "banner")
    assert done.message == "Exceeded MaxStartups"


@in_pairs(
    ("kind", KINDS),
    (
        "words, outcome",
        [
            pytest.param(b"", Outcome.RESET_BEFORE_BANNER, id="nothing, then the end"),
            pytest.param(b"HTTP/1.1 400 Bad Request\r\n\r\n", Outcome.NOT_SSH, id="another protocol"),
            pytest.param(b"Not allowed at this time\r\n", Outcome.DROPPED_UNKNOWN, id="a newer server's refusal"),
        ],
    ),
)
def test_what_comes_before_a_banner_is_told(sshd: SshServer, kind: Kind, words: bytes, outcome: Outcome) -> None:
    with speaking(lambda connection: connection.sendall(words)) as port:
        done = run_at(port, kind, sshd.keys.user)
    assert (done.outcome, done.failed_step) == (outcome, "banner")


@every_kind
def test_a_silent_server_is_a_banner_timeout(sshd: SshServer, kind: Kind) -> None:
    def listen(connection: socket.socket) -> None:
        while connection.recv(65_536):
            pass

    with speaking(listen) as port:
        done = run_at(port, kind, sshd.keys.user, banner_s=SHORT)
    assert (done.outcome, done.failed_step) == (Outcome.BANNER_TIMEOUT, "banner")


@every_kind
def test_a_close_during_the_key_exchange_is_a_disconnect(sshd: SshServer, kind: Kind) -> None:
    def hang_up(connection: socket.socket) -> None:
        connection.sendall(b"SSH-2.0-Unkind\r\n")
        connection.recv(100)

    with speaking(hang_up) as port:
        done = run_at(port, kind, sshd.keys.user)
    assert (done.outcome, done.failed_step) == (Outcome.DISCONNECTED, "kex")


@every_kind
def test_silence_during_the_key_exchange_is_a_kex_timeout(sshd: SshServer, kind: Kind) -> None:
    def stall(connection: socket.socket) -> None:
        connection.sendall(b"SSH-2.0-Slow\r\n")
        while connection.recv(65_536):
            pass

    with speaking(stall) as port:
        done = run_at(port, kind, sshd.keys.user, kex_s=SHORT)
    assert (done.outcome, done.failed_step) == (Outcome.KEX_TIMEOUT, "kex")


@in_pairs(("kind", KINDS), ("seed", range(4)))
def test_garbage_during_the_key_exchange_is_no_fault_of_ours(sshd: SshServer, kind: Kind, seed: int) -> None:
    random = Random(seed)  # noqa: S311 - the same garbage each time, no secrets
    garbage = (
        b"\0\0\0\x0c\x0a\x14",
        random.randbytes(4096),
        b"\xff" * 64,
        b"\0\0\1\0\4" + bytes([20]) + random.randbytes(251),
    )[seed]

    def babble(connection: socket.socket) -> None:
        connection.sendall(b"SSH-2.0-Babbling\r\n" + garbage)
        connection.recv(100)

    with speaking(babble) as port:
        done = run_at(port, kind, sshd.keys.user, kex_s=2.0)
    assert done.outcome in {Outcome.KEX_FAILED, Outcome.DISCONNECTED, Outcome.KEX_TIMEOUT}, done
    assert done.failed_step == "kex"


@every_kind_with_jump_hosts
def test_the_way_through_a_jump_host_is_timed_by_itself(sshd: SshServer, kind: Kind) -> None:
    config = config_for(kind, sshd)
    done = run_once(replace(config, via=(config.target,)))
    assert done.outcome is Outcome.OK, done
    assert [step for step in done.steps if step.startswith("via1.")] == [
        f"via1.{step}" for step in ("connect", "banner", "kex", "auth", "login")
    ]
    assert {"connect", "banner", "kex", "auth", "login", "command"} <= set(done.steps)


@every_kind_with_jump_hosts
def test_a_server_dead_behind_a_jump_host_is_told(sshd: SshServer, kind: Kind) -> None:
    config = config_for(kind, sshd)
    behind = replace(config.target, port=free_port(), known_hosts_path="")
    done = run_once(replace(config, target=behind, via=(config.target,)))
    assert (done.outcome, done.failed_step) == (Outcome.CHANNEL_REFUSED, kind.part_or("connect", "banner"))
