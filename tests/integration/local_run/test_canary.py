"""A credential that was planted is nowhere but where it has to be, whatever becomes of the run."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from canary import Canary, Search, new_key, new_text, searched
from local_cli import start, write_test
from own_server import USER, OwnServer, running_server
from password_server import USER as PASSWORD_USER
from password_server import password_server

_LOCUSTFILE = """
import logging
from sshload_worker.locustfile import SSHUser, task

logging.basicConfig(level=logging.DEBUG, force=True)


class Chatty(SSHUser):
    @task
    def here(self) -> None:
        self.execute("echo here", name="here")
"""


@pytest.fixture(scope="module")
def own_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnServer]:
    with running_server(tmp_path_factory.mktemp("own-server")) as server:
        yield server


def to(server: OwnServer, library: str, **changes: Any) -> dict[str, Any]:
    return {"target": {"external": server.reference(**changes)}, "client": {"library": library}}


def planted_key(folder: Path, server: OwnServer, *, admitted: bool) -> tuple[Canary, list[str | Path]]:
    """Return a canary of a key with a passphrase, which the server knows or not, and the options that name both."""
    passphrase, key = new_text(), folder / "id"
    canary = Canary({**new_key(key, passphrase), "passphrase": passphrase.encode()})
    (folder / "passphrase").write_text(f"{passphrase}\n")
    if admitted:
        with server.identity.with_suffix(".pub").open("a") as keys:
            keys.write(key.with_suffix(".pub").read_text())
    options: list[str | Path] = ["--identity", key, "--passphrase-file", folder / "passphrase"]
    return canary, [*options, "--known-hosts", server.known_hosts]


@pytest.mark.parametrize("library", ["openssh", pytest.param("ssh2-python", marks=pytest.mark.full)])
def test_a_key_and_its_passphrase_are_seen_nowhere_when_all_goes_well(
    tmp_path: Path, temporary: Path, own_server: OwnServer, library: str
) -> None:
    canary, options = planted_key(tmp_path, own_server, admitted=True)
    test = write_test(tmp_path, **to(own_server, library, encryptedKey=True))
    status = searched(Search(canary, temporary), test, tmp_path / "logs", *options)
    assert status["results"]["iterations"] > 0
    assert status["results"]["failures"] == 0


def test_a_key_that_is_refused_is_in_no_message(tmp_path: Path, temporary: Path, own_server: OwnServer) -> None:
    canary, options = planted_key(tmp_path, own_server, admitted=False)
    test = write_test(tmp_path, **to(own_server, "ssh2-python", encryptedKey=True))
    status = searched(Search(canary, temporary), test, tmp_path / "logs", *options)
    assert status["reason"] == "CredentialsRejected"


def test_a_passphrase_that_is_wrong_ends_the_run_before_the_load_and_is_in_no_message(
    tmp_path: Path, temporary: Path, own_server: OwnServer
) -> None:
    wrong = new_text()
    (tmp_path / "passphrase").write_text(wrong)
    options = ["--identity", own_server.encrypted_identity, "--passphrase-file", tmp_path / "passphrase"]
    test = write_test(tmp_path, **to(own_server, "ssh2-python", encryptedKey=True))
    search = Search(Canary({"passphrase": wrong.encode()}), temporary)
    status = searched(search, test, tmp_path / "logs", *options, "--known-hosts", own_server.known_hosts)
    assert "passphrase" in status["message"]
    assert (status["verdict"], status["results"]["iterations"]) == ("Error", 0)


@pytest.mark.parametrize("library", ["asyncssh", pytest.param("paramiko", marks=pytest.mark.full)])
def test_a_library_that_logs_all_it_can_tells_no_credential(
    tmp_path: Path, temporary: Path, own_server: OwnServer, library: str
) -> None:
    canary, options = planted_key(tmp_path, own_server, admitted=True)
    (tmp_path / "chatty.py").write_text(_LOCUSTFILE)
    scenario = {"locustfile": {"configMapRef": {"name": "chatty"}}}
    test = write_test(tmp_path, **to(own_server, library, encryptedKey=True), scenario=scenario)
    search = Search(canary, temporary)
    status = searched(search, test, tmp_path / "logs", *options, "--locustfile", tmp_path / "chatty.py")
    assert status["results"]["failures"] == 0
    assert "DEBUG:" in (tmp_path / "logs/worker-0.log").read_text()


@pytest.mark.parametrize(
    ("library", "method", "right"),
    [
        ("ssh2-python", "password", True),
        pytest.param("ssh2-python", "password", False, marks=pytest.mark.full),
        ("paramiko", "keyboard-interactive", False),
        pytest.param("asyncssh", "password", False, marks=pytest.mark.full),
    ],
)
def test_a_password_is_seen_nowhere_whether_it_is_right_or_wrong(  # noqa: PLR0913 - the ways of a password
    tmp_path: Path, temporary: Path, own_server: OwnServer, library: str, method: str, *, right: bool
) -> None:
    password = new_text()
    (tmp_path / "password").write_text(password)
    host_key = own_server.known_hosts.with_name("host")
    with password_server(host_key, method, password=password if right else new_text()) as port:
        known_hosts = tmp_path / "known_hosts"
        known_hosts.write_text(f"[127.0.0.1]:{port} {host_key.with_suffix('.pub').read_text()}")
        spec = to(own_server, library, port=port, user=PASSWORD_USER)
        spec["client"]["auth"] = method
        test = write_test(tmp_path, **spec, scenario={"steps": [{"exec": {"command": "greet"}}]})
        search = Search(Canary({"password": password.encode()}), temporary)
        options = ["--password-file", tmp_path / "password", "--known-hosts", known_hosts]
        status = searched(search, test, tmp_path / "logs", *options)
    assert (status["reason"] == "CredentialsRejected") != right, status["message"]


def test_the_search_finds_what_is_in_an_environment_and_in_a_file_of_a_run(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = new_text()
    monkeypatch.setenv("PLANTED", planted)
    (temporary / "left").write_text(planted)
    search = Search(Canary({"password": planted.encode()}), temporary)
    started = start("run", write_test(tmp_path), "--output", "json", as_installed=True)
    search.follow(started)
    started.wait()
    assert f"{temporary / 'left'}, which others may read, has the password as it is" in search.found
    assert "the environ of sshload has the password as it is" in search.found


def test_nothing_of_a_population_is_seen_whoever_of_it_is_refused(
    tmp_path: Path, temporary: Path, own_server: OwnServer
) -> None:
    """Keys and names of a file: of a user who logs in, of one who may not, and of one whose key is damaged."""
    planted: dict[str, bytes] = {}
    rows = ["user,key"]
    for user in (USER, stranger := f"stranger-{new_text()}"):
        key = tmp_path / f"key-{len(rows)}"
        planted |= {f"{what} of user {len(rows)}": secret for what, secret in new_key(key).items()}
        rows.append(f'{user},"{key.read_text()}"')
    with own_server.identity.with_suffix(".pub").open("a") as keys:
        keys.write((tmp_path / "key-1.pub").read_text())
    damaged = new_text()
    rows.append(f'other,"-----BEGIN OPENSSH PRIVATE KEY----- {damaged}"')
    (tmp_path / "users.csv").write_text("\n".join(rows))
    reference = own_server.reference()
    del reference["user"], reference["credentialsSecretRef"]
    spec = {"target": {"external": reference}, "client": {"users": {"secretRef": {"name": "users"}}}}
    search = Search(Canary({**planted, "damaged key": damaged.encode(), "name": stranger.encode()}), temporary)
    options = ["--known-hosts", own_server.known_hosts, "--users", tmp_path / "users.csv"]
    test = write_test(tmp_path, **spec, loginBeforeLoad=False)
    status = searched(search, test, tmp_path / "logs", *options)
    assert "line 18: the key is damaged" in status["message"], status["message"]
    (tmp_path / "users.csv").write_text("\n".join(rows[:3]))
    status = searched(search, test, tmp_path / "logs", *options)
    assert status["results"]["users"]["tookPart"] == 2
    assert [one["place"] for one in status["results"]["users"]["mostFailures"]] == [2]
