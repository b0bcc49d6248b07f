"""Credentials that the configuration names are stored before a gateway is ready, as a caller would store them."""

import json
from pathlib import Path
from typing import Any

import pytest
from account_server import Place
from canary import Canary, secrets_of_key
from gateway_process import TokenIssuer, ended_gateway, gateway_process
from ssh_server import SshServer


def login(sshd: SshServer, **changes: object) -> dict[str, Any]:
    return {
        "name": "given",
        "host": "127.0.0.1",
        "port": sshd.port,
        "user": sshd.user,
        "privateKey": sshd.keys.user.read_text(),
        "hostKeys": [sshd.keys.host.with_suffix(".pub").read_text()],
        **changes,
    }


def given(folder: Path, asked: dict[str, Any]) -> dict[str, Any]:
    """Write a credential of ada's into a folder, and return what the configuration says of it."""
    (folder / "login.json").write_text(json.dumps(asked))
    return {"credentials": [{"owner": "ada", "file": str(folder / "login.json")}]}


def test_a_ready_gateway_has_what_it_was_given_and_keeps_its_version_until_it_changes(
    sshd: SshServer, tmp_path: Path
) -> None:
    issuer = TokenIssuer()
    with gateway_process(tmp_path, [sshd.port], issuer=issuer, **given(tmp_path, login(sshd))) as gateway:
        assert gateway.caller("ada").run("given", "echo here").json()["stdout"] == "here\n"
        assert gateway.caller("bob").ask("GET", "/credentials").json() == {"credentials": []}
    for user, version in ((sshd.user, 1), ("nobody", 2)):
        asked = login(sshd, user=user)
        with gateway_process(tmp_path, [sshd.port], issuer=issuer, **given(tmp_path, asked)) as gateway:
            (stored,) = gateway.caller("ada").ask("GET", "/credentials").json()["credentials"]
            assert (stored["name"], stored["user"], stored["version"]) == ("given", user, version)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"port": 22}, "127.0.0.1 port 22 is not among"),
        ({"name": "load"}, "name: "),
        ({"hostKeys": ["ssh-ed25519 AAAA"]}, "hostKeys.0: is no host key"),
        ({"privateKey": "-----BEGIN OPENSSH PRIVATE KEY-----"}, "privateKey: is damaged: its last line"),
    ],
)
def test_a_gateway_that_was_given_nonsense_says_where_and_tells_nothing_of_the_key(
    place: Place, sshd: SshServer, tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    code, output = ended_gateway(tmp_path, [sshd.port], **given(tmp_path, login(sshd, **changes)))
    assert code == 1
    assert f"credentials.0.file: {tmp_path}/login.json: {said}" in output
    canary = Canary(secrets_of_key(place.keys.user.read_bytes()))
    assert canary.found_in("the message", output) == []
