"""What a login needs, read from files: the credentials of each way to log in, and nothing else."""

import os
import subprocess
from collections.abc import Iterable
from dataclasses import replace
from itertools import cycle
from pathlib import Path

import pytest
from run_configs import NOWHERE, client
from ssh_server import write_key
from sshload_contract.client import Auth
from sshload_worker.login import login
from sshload_worker.login.known_hosts import ANY_HOST_KEY
from sshload_worker.login.login import Credentials, Login, read_credentials
from sshload_worker.login.private_key import Agent, PrivateKey, read_private_key, start_agent
from sshload_worker.outcomes import GeneratorFaultError

pytestmark = pytest.mark.xdist_group("generated keys")  # made once per process
ROLE = "jump host 2"
SECRET = "correct horse"
NOTHING = Credentials(Auth.PUBLICKEY, b"", b"", None, "", "")


def written(path: Path, data: str | bytes) -> str:
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return str(path)


def key_pair(folder: Path, name: str = "id") -> tuple[Path, bytes]:
    """Return the path of a private key, and its public half without the comment."""
    key = write_key(folder / name)
    return key, b" ".join(key.with_suffix(".pub").read_bytes().split()[:2])


def plain(key: Path) -> bytes:
    return read_private_key(key.read_bytes(), "", "a key").openssh


def certified(key: Path, *options: str) -> Path:
    ca = write_key(key.with_name("ca"))
    subprocess.run(["ssh-keygen", "-q", "-s", ca, "-I", "me", *options, key.with_suffix(".pub")], check=True)
    return key.with_name(f"{key.name}-cert.pub")


def test_a_key_is_read_with_its_public_half(tmp_path: Path) -> None:
    key, public = key_pair(tmp_path)
    found = read_credentials(replace(NOWHERE, auth=Auth.PUBLICKEY, private_key_path=str(key)), ROLE)
    assert found == replace(NOTHING, private_key=plain(key), public_key=public)


def test_an_encrypted_key_is_read_by_its_passphrase(tmp_path: Path) -> None:
    key, public = key_pair(tmp_path)
    subprocess.run(["ssh-keygen", "-q", "-p", "-P", "", "-N", SECRET, "-f", key], check=True)
    named = replace(NOWHERE, private_key_path=str(key), passphrase_path=written(tmp_path / "secret", f"{SECRET}\n"))
    assert read_credentials(named, ROLE).public_key == public


def test_a_certificate_goes_with_its_key_as_it_is_in_the_file(tmp_path: Path) -> None:
    key, public = key_pair(tmp_path)
    path = certified(key)
    named = replace(NOWHERE, auth=Auth.CERTIFICATE, private_key_path=str(key), certificate_path=str(path))
    found = read_credentials(named, ROLE)
    assert found.certificate is not None
    assert found.certificate_line == path.read_bytes()
    assert found == Credentials(Auth.CERTIFICATE, plain(key), public, found.certificate, "", "")
    assert read_credentials(replace(named, auth=Auth.PUBLICKEY), ROLE).certificate_line == b""


def test_an_agent_has_the_key_and_nobody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agents: list[Agent] = []

    def started(keys: Iterable[PrivateKey]) -> Agent:
        agents.append(start_agent(keys))
        return agents[-1]

    monkeypatch.setattr(login, "start_agent", started)
    key, public = key_pair(tmp_path)
    found = read_credentials(replace(NOWHERE, auth=Auth.AGENT, private_key_path=str(key)), ROLE)
    (agent,) = agents
    try:
        assert found == Credentials(Auth.AGENT, b"", b"", None, "", agent.socket_path)
        environment = {**os.environ, "SSH_AUTH_SOCK": found.agent_socket}
        done = subprocess.run(["ssh-add", "-L"], env=environment, check=True, capture_output=True)
        assert done.stdout.split()[:2] == public.split()
    finally:
        agent.end()


@pytest.mark.parametrize("auth", [Auth.PASSWORD, Auth.KEYBOARD_INTERACTIVE])
@pytest.mark.parametrize(
    ("text", "password"),
    [
        (SECRET, SECRET),
        (f"{SECRET}\n", SECRET),
        (f"{SECRET}\r\n", SECRET),
        (f"{SECRET}\r", SECRET),
        (f" {SECRET}\n\n", f" {SECRET}\n"),
        ("pässwort", "pässwort"),
    ],
)
def test_a_password_is_read_without_its_line_end(tmp_path: Path, auth: Auth, text: str, password: str) -> None:
    named = replace(NOWHERE, auth=auth, password_path=written(tmp_path / "password", text))
    assert read_credentials(named, ROLE) == replace(NOTHING, auth=auth, password=password)


def refusal(**changes: object) -> str:
    with pytest.raises(GeneratorFaultError) as raised:
        read_credentials(replace(NOWHERE, **changes), ROLE)  # type: ignore[arg-type]
    return str(raised.value)


def test_what_is_not_given_is_told_by_its_role() -> None:
    assert refusal(auth=Auth.PUBLICKEY) == "jump host 2's private key is needed, but not given"
    assert refusal(auth=Auth.PASSWORD) == "jump host 2's password is needed, but not given"


@pytest.mark.parametrize(
    ("name", "auth", "told"),
    [
        ("private_key_path", Auth.PUBLICKEY, "jump host 2's private key"),
        ("password_path", Auth.PASSWORD, "jump host 2's password"),
    ],
)
def test_what_cannot_be_read_is_told_by_its_role_and_the_files_name_alone(
    tmp_path: Path, name: str, auth: Auth, told: str
) -> None:
    path = str(tmp_path / "absent")
    assert refusal(auth=auth, **{name: path}) == f"{told} (absent) cannot be read: No such file or directory"


@pytest.mark.parametrize("text", ["", "\n", "\r\n"])
def test_an_empty_secret_is_told(tmp_path: Path, text: str) -> None:
    path = written(tmp_path / "secret", text)
    assert refusal(auth=Auth.PASSWORD, password_path=path) == "jump host 2's password (secret) is empty"
    key, _ = key_pair(tmp_path)
    told = refusal(private_key_path=str(key), passphrase_path=path)
    assert told == "the passphrase of jump host 2's private key (secret) is empty"


def test_a_secret_that_is_no_text_is_told(tmp_path: Path) -> None:
    path = written(tmp_path / "secret", b"\xff")
    assert refusal(auth=Auth.PASSWORD, password_path=path) == "jump host 2's password (secret) is not UTF-8"


def test_a_damaged_key_and_a_certificate_of_another_are_told_by_role_and_file(tmp_path: Path) -> None:
    path = written(tmp_path / "id", "")
    assert refusal(private_key_path=path) == "jump host 2's private key (id) is empty"
    key, _ = key_pair(tmp_path)
    other = certified(key_pair(tmp_path, "other")[0])
    told = refusal(auth=Auth.CERTIFICATE, private_key_path=str(key), certificate_path=str(other))
    assert told == "jump host 2's certificate (other-cert.pub) belongs to another private key"


def test_a_certificate_that_has_expired_is_told(tmp_path: Path) -> None:
    key, _ = key_pair(tmp_path)
    path = certified(key, "-V", "20200101000000Z:20200102000000Z")
    told = refusal(auth=Auth.CERTIFICATE, private_key_path=str(key), certificate_path=str(path))
    assert told == "jump host 2's certificate (id-cert.pub) expired at 2020-01-02T00:00:00Z: have a new one signed"


def test_the_addresses_of_a_server_have_turns() -> None:
    alone = Login(None, "host", 22, "me", NOTHING, ANY_HOST_KEY, client(), (), None)
    assert alone.at_next_address() is alone
    each = [replace(alone, host="one"), replace(alone, host="two")]
    several = replace(alone, turns=cycle(each))
    assert [several.at_next_address() for _ in range(3)] == [*each, each[0]]
