"""Every way to log in, by every client library."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from circles import in_pairs
from client_kinds import KINDS, Kind, each_by, every_kind, those_that_log_in_by
from one_iteration import run_once
from password_server import PASSWORD, SAY_NO_STATUS, USER, password_server
from run_configs import arrivals, endpoint, run_config, scenario
from ssh_server import Keys, SshServer
from sshload_contract.client import Auth, Library
from sshload_contract.steps import ExecStep
from sshload_contract.vocabulary import Outcome
from sshload_contract.wire.run_config import Endpoint, RunConfig
from sshload_worker.clients.libraries import prepare_library
from sshload_worker.scenario.first_login import log_in_once
from sshload_worker.scenario.target_login import prepare_login, resolve

BITS = {"ed25519": "256", "ecdsa": "256", "rsa": "2048"}
METHODS = (Auth.PASSWORD, Auth.KEYBOARD_INTERACTIVE)
SOFTWARE = {
    Library.SSH2_PYTHON: "libssh2",
    Library.PARAMIKO: "paramiko",
    Library.ASYNCSSH: "AsyncSSH",
    Library.OPENSSH: "OpenSSH",
    Library.MINA_SSHD: "APACHE-SSHD",
}
"""How the version begins by which each library presents itself."""


def config_at(target: Endpoint, kind: Kind) -> RunConfig:
    welcome = ExecStep(name="", command="echo welcome", expect_exit_code=0, expect_stdout="^welcome$")
    config = run_config(target, arrivals(1, 1))
    return replace(config, client=kind.client(), scenario=scenario(welcome))


def with_password(port: int, auth: Auth, password: str, folder: Path) -> Endpoint:
    path = folder / "password"
    path.write_text(f"{password}\n")
    return Endpoint(
        host="127.0.0.1",
        port=port,
        user=USER,
        auth=auth,
        private_key_path="",
        certificate_path="",
        passphrase_path="",
        password_path=str(path),
        known_hosts_path="",
    )


@pytest.fixture(scope="module")
def password_port(keys: Keys) -> Iterator[Callable[[str], int]]:
    """Return a function that returns the port of a server that takes PASSWORD by this method; it is started once."""
    with ExitStack() as servers:
        yield cache(lambda method: servers.enter_context(password_server(keys.host, method)))


def keygen(*arguments: str | Path) -> None:
    subprocess.run(["ssh-keygen", "-q", *arguments], check=True)


@every_kind
def test_the_login_before_the_load_is_by_the_client_of_the_run(
    start_sshd: Callable[[str], SshServer], kind: Kind
) -> None:
    server = start_sshd("LogLevel DEBUG1")
    config = config_at(endpoint(server), kind)
    prepare_library(kind.library)
    addresses = resolve(config.target, pytest.fail)
    assert log_in_once(0, prepare_login(config, addresses), addresses, pytest.fail) is None
    server.await_log("^Accepted publickey for ")
    assert server.accepted() == server.log.count(f"remote software version {SOFTWARE[kind.library]}") == 1


@each_by(*METHODS)
def test_the_right_password_logs_in(
    password_port: Callable[[str], int], tmp_path: Path, kind: Kind, auth: Auth
) -> None:
    port = password_port(auth.value)
    done = run_once(config_at(with_password(port, auth, PASSWORD, tmp_path), kind))
    assert done.outcome is Outcome.OK, done


@each_by(*METHODS)
def test_another_password_is_rejected_after_one_attempt(
    password_port: Callable[[str], int], tmp_path: Path, kind: Kind, auth: Auth
) -> None:
    port = password_port(auth.value)
    done = run_once(config_at(with_password(port, auth, "no-such-secret", tmp_path), kind))
    assert (done.outcome, done.failed_step) == (Outcome.AUTH_REJECTED, "auth"), done
    assert "no-such-secret" not in done.message


@every_kind
def test_a_method_that_the_server_does_not_take_is_rejected(
    password_port: Callable[[str], int], tmp_path: Path, kind: Kind
) -> None:
    port = password_port("keyboard-interactive")
    done = run_once(config_at(with_password(port, Auth.PASSWORD, PASSWORD, tmp_path), kind))
    assert (done.outcome, done.failed_step) == (Outcome.AUTH_REJECTED, "auth"), done


@every_kind
def test_a_command_of_which_the_server_tells_no_exit_status_is_an_outcome_of_its_own(
    password_port: Callable[[str], int], tmp_path: Path, kind: Kind
) -> None:
    steps = (
        ExecStep(name="told", command="anything", expect_exit_code=0, expect_stdout="^welcome$"),
        ExecStep(name="untold", command=SAY_NO_STATUS, expect_exit_code=0, expect_stdout="^welcome$"),
    )
    config = config_at(with_password(password_port("password"), Auth.PASSWORD, PASSWORD, tmp_path), kind)
    done = run_once(replace(config, scenario=scenario(*steps)))
    assert (done.outcome, done.failed_step) == (Outcome.NO_EXIT_STATUS, "untold.command"), done
    assert done.steps["told.command"] is Outcome.OK
    assert done.message.startswith("the server sent no exit status")


@each_by(*METHODS, usually_once=True)
def test_a_password_logs_in_at_a_name_whose_host_key_changes_where_any_will_do(
    keys: Keys, tmp_path: Path, kind: Kind, auth: Auth
) -> None:
    with password_server(keys.host, auth.value) as port:
        first = run_once(config_at(with_password(port, auth, PASSWORD, tmp_path), kind))
    with password_server(keys.stranger, auth.value, port):
        second = run_once(config_at(with_password(port, auth, PASSWORD, tmp_path), kind))
    assert (first.outcome, second.outcome) == (Outcome.OK, Outcome.OK), second


@in_pairs(("kind", those_that_log_in_by(Auth.CERTIFICATE)), ("key_type", ["ed25519", "rsa", "ecdsa"]))
def test_a_certificate_logs_in(
    start_sshd: Callable[[str], SshServer], copied_key: Callable[..., Path], tmp_path: Path, kind: Kind, key_type: str
) -> None:
    authority, key = tmp_path / "authority", copied_key(key_type, BITS[key_type])
    keygen("-t", "ed25519", "-N", "", "-f", authority)
    server = start_sshd(f"TrustedUserCAKeys {authority}.pub\nAuthorizedKeysFile none")
    keygen("-s", authority, "-I", "test", "-n", server.user, f"{key}.pub")
    target = replace(
        endpoint(server), auth=Auth.CERTIFICATE, private_key_path=str(key), certificate_path=f"{key}-cert.pub"
    )
    done = run_once(config_at(target, kind))
    assert done.outcome is Outcome.OK, done
    assert "Accepted publickey" in server.log
    assert "CERT" in server.log


@in_pairs(("kind", those_that_log_in_by(Auth.AGENT)), ("key_type", ["ed25519", "rsa", "ecdsa"]))
def test_a_key_in_an_agent_logs_in(
    start_sshd: Callable[[str], SshServer],
    made_key: Callable[[str, str], Path],
    monkeypatch: pytest.MonkeyPatch,
    kind: Kind,
    key_type: str,
) -> None:
    monkeypatch.setenv("SSH_AUTH_SOCK", "/no/such/agent")
    key = made_key(key_type, BITS[key_type])
    target = replace(endpoint(start_sshd(f"AuthorizedKeysFile {key}.pub")), auth=Auth.AGENT, private_key_path=str(key))
    done = run_once(config_at(target, kind))
    assert done.outcome is Outcome.OK, done


@in_pairs(("kind", KINDS), ("key_type", ["ed25519", "rsa", "ecdsa"]))
def test_an_encrypted_key_logs_in(
    start_sshd: Callable[[str], SshServer], copied_key: Callable[..., Path], tmp_path: Path, kind: Kind, key_type: str
) -> None:
    key, passphrase = copied_key(key_type, BITS[key_type], passphrase="open sesame"), tmp_path / "passphrase"
    passphrase.write_text("open sesame\n")
    server = start_sshd(f"AuthorizedKeysFile {key}.pub")
    target = replace(endpoint(server), private_key_path=str(key), passphrase_path=str(passphrase))
    done = run_once(config_at(target, kind))
    assert done.outcome is Outcome.OK, done


@every_kind
def test_the_users_own_keys_and_agent_are_left_alone(
    sshd: SshServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Kind
) -> None:
    """A key that would log in lies where OpenSSH looks for it, and in an agent that the environment names."""
    own = tmp_path / ".ssh"
    own.mkdir(mode=0o700)
    (own / "id_ed25519").write_bytes(sshd.keys.user.read_bytes())
    (own / "id_ed25519").chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    target = replace(endpoint(sshd), private_key_path=str(sshd.keys.stranger))
    done = run_once(config_at(target, kind))
    assert (done.outcome, done.failed_step) == (Outcome.AUTH_REJECTED, "auth"), done
