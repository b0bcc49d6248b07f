"""Ways to log in by ssh2-python, against a real sshd that takes no other; passwords against a small server."""

import gc
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import gevent
import paramiko
import pytest
from ssh2_connections import credentials, key_credentials, logged_in, login_at
from ssh_server import SshServer
from sshload_contract.client import Auth
from sshload_contract.vocabulary import Outcome
from sshload_worker.login.certificate import UserCertificate
from sshload_worker.login.login import Credentials
from sshload_worker.outcomes import StepFailure
from unkind_servers import speaking

USER = "somebody"
PASSWORD = "pass wörd"
KEY_KINDS = [("ed25519", "256"), ("ecdsa", "256"), ("ecdsa", "384"), ("ecdsa", "521"), ("rsa", "2048"), ("rsa", "4096")]
AGENT_TIMEOUT_S = 300.0

pytestmark = pytest.mark.xdist_group("ways to log in")  # so that each kind of key is made once

every_kind = pytest.mark.parametrize(("kind", "bits"), KEY_KINDS, ids=lambda value: value)


def keygen(*arguments: object) -> None:
    subprocess.run(["ssh-keygen", "-q", *map(str, arguments)], check=True)


def make_authority(folder: Path) -> Path:
    keygen("-t", "ed25519", "-N", "", "-f", folder / "authority")
    return folder / "authority"


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def log_in(port: int, user: str, known: Credentials) -> None:
    with logged_in(login_at(port, user, known)):
        pass


@every_kind
@pytest.mark.parametrize("form", ["RFC4716", "PEM"])
def test_a_key_logs_in(
    start_sshd: Callable[[str], SshServer], copied_key: Callable[..., Path], kind: str, bits: str, form: str
) -> None:
    key = copied_key(kind, bits, form=form)
    server = start_sshd(f"AuthorizedKeysFile {key}.pub")
    log_in(server.port, server.user, key_credentials(key))
    server.await_log("^Accepted publickey for ")


@every_kind
def test_a_certificate_logs_in(
    start_sshd: Callable[[str], SshServer], copied_key: Callable[..., Path], tmp_path: Path, kind: str, bits: str
) -> None:
    authority, key = make_authority(tmp_path), copied_key(kind, bits)
    server = start_sshd(f"TrustedUserCAKeys {authority}.pub\nAuthorizedKeysFile none")
    keygen("-s", authority, "-I", "test", "-n", server.user, key)
    certificate = UserCertificate(Path(f"{key}-cert.pub").read_bytes(), 0, 2**63)
    known = credentials(Auth.CERTIFICATE, private_key=key.read_bytes(), certificate=certificate)
    log_in(server.port, server.user, known)
    server.await_log("^Accepted publickey for .*-CERT ")


def test_a_certificate_for_somebody_else_is_rejected(
    start_sshd: Callable[[str], SshServer], copied_key: Callable[..., Path], tmp_path: Path
) -> None:
    authority, key = make_authority(tmp_path), copied_key("ed25519", "256")
    server = start_sshd(f"TrustedUserCAKeys {authority}.pub\nAuthorizedKeysFile none")
    keygen("-s", authority, "-I", "test", "-n", "somebody-else", key)
    certificate = UserCertificate(Path(f"{key}-cert.pub").read_bytes(), 0, 2**63)
    with pytest.raises(StepFailure) as failed:
        log_in(
            server.port,
            server.user,
            credentials(Auth.CERTIFICATE, private_key=key.read_bytes(), certificate=certificate),
        )
    assert failed.value.outcome is Outcome.AUTH_REJECTED


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[str]:
    """Run an ssh-agent; yield its socket."""
    path = str(tmp_path / "agent")
    with subprocess.Popen(["ssh-agent", "-D", "-a", path], stdout=subprocess.DEVNULL) as process:
        deadline_s = time.monotonic() + AGENT_TIMEOUT_S
        while not listens(path):
            assert time.monotonic() < deadline_s, "ssh-agent does not listen"
            gevent.sleep(0.01)
        try:
            yield path
        finally:
            process.terminate()


def listens(path: str) -> bool:
    """Tell whether somebody does at a socket, which is there a moment before."""
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(path) == 0


def add_key(agent: str, key: Path) -> None:
    environment = {"SSH_AUTH_SOCK": agent, "PATH": os.environ["PATH"]}
    subprocess.run(["ssh-add", "-q", key], env=environment, check=True, stderr=subprocess.DEVNULL)


@every_kind
def test_a_key_in_an_agent_logs_in_and_no_socket_is_left(
    start_sshd: Callable[[str], SshServer], agent: str, made_key: Callable[[str, str], Path], kind: str, bits: str
) -> None:
    key = made_key(kind, bits)
    add_key(agent, key)
    server = start_sshd(f"AuthorizedKeysFile {key}.pub")
    known = credentials(Auth.AGENT, agent_socket=agent)
    log_in(server.port, server.user, known)
    server.await_log("^Accepted publickey for ")
    gc.collect()
    before = open_files()
    log_in(server.port, server.user, known)
    gc.collect()
    assert open_files() == before


def test_an_agents_wrong_key_is_rejected(sshd: SshServer, agent: str) -> None:
    add_key(agent, sshd.keys.stranger)
    with pytest.raises(StepFailure) as failed:
        log_in(sshd.port, sshd.user, credentials(Auth.AGENT, agent_socket=agent))
    assert failed.value.outcome is Outcome.AUTH_REJECTED


def test_an_agent_without_a_key_and_no_agent_are_faults_of_our_own(sshd: SshServer, agent: str) -> None:
    for path in (agent, f"{agent}-missing"):
        with pytest.raises(StepFailure) as failed:
            log_in(sshd.port, sshd.user, credentials(Auth.AGENT, agent_socket=path))
        assert failed.value.outcome is Outcome.GENERATOR_FAULT


class _AsksForPasswords(paramiko.ServerInterface):
    """Takes the one password, however it is asked for."""

    def __init__(self, prompts: tuple[str, ...]) -> None:
        self.prompts = prompts

    def get_allowed_auths(self, username: str) -> str:  # noqa: ARG002 - paramiko's signature
        return "password,keyboard-interactive"

    def check_auth_password(self, username: str, password: str) -> int:
        return paramiko.AUTH_SUCCESSFUL if (username, password) == (USER, PASSWORD) else paramiko.AUTH_FAILED

    def check_auth_interactive(self, username: str, submethods: str) -> paramiko.InteractiveQuery:  # noqa: ARG002
        query = paramiko.InteractiveQuery("Title", "What to do")
        for prompt in self.prompts:
            query.add_prompt(prompt, echo=False)
        return query

    def check_auth_interactive_response(self, responses: list[str]) -> int:
        fine = responses == [PASSWORD] * len(self.prompts)
        return paramiko.AUTH_SUCCESSFUL if fine else paramiko.AUTH_FAILED


@pytest.fixture
def ask(sshd: SshServer) -> Callable[[str, tuple[str, ...], str], None]:
    """Return a function that logs in to a server that asks for a password by these prompts."""
    host_key = paramiko.Ed25519Key.from_private_key_file(str(sshd.keys.host))

    def answer(way: str, prompts: tuple[str, ...], password: str) -> None:
        def serve(connection: socket.socket) -> None:
            transport = paramiko.Transport(connection)
            transport.add_server_key(host_key)
            transport.start_server(server=_AsksForPasswords(prompts))
            transport.join(30)

        with speaking(serve) as port:
            log_in(port, USER, credentials(Auth(way), password=password))

    return answer


@pytest.mark.parametrize("way", ["password", "keyboard-interactive"])
def test_a_password_logs_in(ask: Callable[[str, tuple[str, ...], str], None], way: str) -> None:
    ask(way, ("Password: ",), PASSWORD)


@pytest.mark.parametrize("way", ["password", "keyboard-interactive"])
def test_a_wrong_password_is_rejected(ask: Callable[[str, tuple[str, ...], str], None], way: str) -> None:
    with pytest.raises(StepFailure) as failed:
        ask(way, ("Password: ",), "no-such-secret")
    assert failed.value.outcome is Outcome.AUTH_REJECTED
    assert "no-such-secret" not in failed.value.message


@pytest.mark.parametrize(
    "prompts",
    [
        pytest.param((), id="none"),
        pytest.param(("Password: ", "And again: "), id="two"),
        pytest.param(("x" * 10_000,), id="a long one"),
    ],
)
def test_every_prompt_is_answered_with_the_password(
    ask: Callable[[str, tuple[str, ...], str], None], prompts: tuple[str, ...]
) -> None:
    ask("keyboard-interactive", prompts, PASSWORD)
