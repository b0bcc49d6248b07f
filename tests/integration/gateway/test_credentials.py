import secrets
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import requests
from account_server import Place
from canary import KEY_MARKS, Canary, secrets_of_key
from gateway_process import Caller, GatewayProcess
from running_target import wait_until
from ssh_server import SshServer

pytestmark = pytest.mark.xdist_group("gateway")


def test_a_credential_is_shown_without_its_private_key(caller: Caller, sshd: SshServer) -> None:
    (shown,) = caller.ask("GET", "/credentials").json()["credentials"]

    assert (shown["name"], shown["version"], shown["port"]) == ("server", 1, sshd.port)
    assert shown["publicKey"].split() == sshd.keys.user.with_suffix(".pub").read_text().split()[:2]
    assert "privateKey" not in shown


def test_nobody_uses_sees_or_deletes_the_credentials_of_others(caller: Caller, gateway: GatewayProcess) -> None:
    other = gateway.caller(secrets.token_hex(8))

    assert other.run("server", "true").status_code == 404
    assert other.ask("GET", "/server/files").status_code == 404
    assert other.ask("DELETE", "/credentials/server").status_code == 404
    assert other.ask("GET", "/credentials").json() == {"credentials": []}
    assert caller.run("server", "true").status_code == 200


def test_a_new_version_has_a_login_of_its_own_and_the_old_one_ends_with_its_commands(
    caller: Caller, sshd: SshServer, place: Place
) -> None:
    begun, ended = _signal_files(place)
    with ThreadPoolExecutor(1) as others:
        running = others.submit(caller.run, "server", _command(begun, ended))
        wait_until(begun.exists, "the command begins")
        replaced = caller.store("server", sshd)
        after = caller.run("server", "true").json()
        ended.touch()

    assert (replaced.status_code, replaced.json()["version"]) == (200, 2)
    assert after["timings"]["loginSeconds"] is not None
    assert running.result().json()["exitCode"] == 0


def test_a_deleted_credential_is_gone_and_its_connections_end_with_their_commands(
    caller: Caller, sshd: SshServer, place: Place
) -> None:
    begun, ended = _signal_files(place)
    before = _disconnects(sshd)
    with ThreadPoolExecutor(1) as others:
        running = others.submit(caller.run, "server", _command(begun, ended))
        wait_until(begun.exists, "the command begins")
        assert caller.ask("DELETE", "/credentials/server").status_code == 204
        assert caller.run("server", "true").status_code == 404
        ended.touch()

    assert running.result().json()["exitCode"] == 0
    wait_until(lambda: _disconnects(sshd) > before, "the connection ends")


def test_a_private_key_is_nowhere_as_it_is(caller: Caller, gateway: GatewayProcess, sshd: SshServer) -> None:
    planted = secrets_of_key(sshd.keys.user.read_bytes())
    canary = Canary(planted)
    key = sshd.keys.user.read_text()
    answers = [
        caller.run("server", "true"),
        caller.ask("GET", "/credentials"),
        caller.store("other", sshd, port="no port"),
        caller.store("other", sshd, hostKeys=[key]),
        caller.store("other", sshd, user=key),
        caller.store("other", sshd, privateKey=key[:-40]),
        caller.store("other", sshd, surprise=key),
        caller.ask("POST", "/credentials", data=f"{{{key}"),
        caller.ask("POST", "/server", json={"command": "true", "stdin": 1, "key": key}),
    ]
    assert [answer.status_code for answer in answers] == [200, 200, *[422] * 7]

    process = Path(f"/proc/{gateway.process.pid}")
    places = {
        "the log": gateway.log.encode(),
        "its environment": (process / "environ").read_bytes(),
        "its command line": (process / "cmdline").read_bytes(),
        "its metrics": requests.get(f"{gateway.management}/metrics", timeout=300).content,
        **{f"answer {number}": answer.content for number, answer in enumerate(answers)},
        **{path.name: path.read_bytes() for path in gateway.folder.glob("gateway.db*")},
    }
    for name, content in places.items():
        assert canary.found_in(name, content) == []
        assert not [mark for mark in KEY_MARKS if mark in content], name
        assert caller.token.encode() not in content, name


def test_a_destination_that_is_not_allowed_is_forbidden(caller: Caller, sshd: SshServer) -> None:
    for changes in ({"port": 1}, {"host": "127.0.0.2"}, {"host": "localhost"}, {"host": "0x7f000001"}):
        answer = caller.store("inside", sshd, **changes)
        expected = (201, None) if changes == {"host": "0x7f000001"} else (403, "not-allowed")
        assert (answer.status_code, answer.json().get("kind")) == expected


def test_reserved_names_and_names_that_are_none_are_not_valid(caller: Caller, sshd: SshServer) -> None:
    for name in ("credentials", "load", "", "-a", "A", "a/b", "a" * 64, "a\n"):
        assert caller.store(name, sshd).status_code == 422


def _signal_files(place: Place) -> tuple[Path, Path]:
    name = secrets.token_hex(8)
    return place.folder / "home" / f"begun-{name}", place.folder / "home" / f"ended-{name}"


def _command(begun: Path, ended: Path) -> str:
    return f"touch {begun}; until [ -e {ended} ]; do sleep 0.1; done"


def _disconnects(sshd: SshServer) -> int:
    return sshd.log.count("Disconnected from user")
