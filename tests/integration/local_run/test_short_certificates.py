"""Runs whose workers sign their users' certificates: sshd's log has the certificates, and the authority is nowhere."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from canary import Canary, Search, key_of_run, new_key, new_text, searched, searched_for_its_own, secrets_of_key
from local_cli import Started, measured, write_test
from own_server import USER
from short_examples import short_test
from ssh_server import make_keys, ssh_server
from statuses import steps_of

_LOGIN = re.compile(r"^Accepted publickey for (\S+) .* ID (\S+) \(serial (\d+)\) CA ED25519 ", re.MULTILINE)
_SHORT = {"lifetime": "5s", "renewBefore": "4s"}
_SMALL = {"arrivals": {"rate": 5, "duration": "4s"}}


def logins(log: str) -> list[tuple[str, str, int]]:
    """Return who logged in, with which key id and serial, in the order of sshd's log."""
    return [(user, key_id, int(serial)) for user, key_id, serial in _LOGIN.findall(log)]


def test_the_example_renews_its_certificates_and_sshd_counts_the_same_logins(tmp_path: Path) -> None:
    test = short_test("33-short-certificates")
    test["spec"]["client"]["certificates"] = _SHORT
    file = tmp_path / "test.yaml"
    file.write_text(yaml.safe_dump(test))
    ended = measured(file, "--logs", tmp_path / "logs")
    assert ended.status["results"]["failures"] == 0, ended.err
    target = ended.status["results"]["target"]
    assert target["accepted"] == target["clientLogins"] > steps_of(ended.status)["login"].count > 0
    seen = logins((tmp_path / "logs/target.log").read_text())
    assert len(seen) == target["accepted"] + 1  # the login before the load
    assert {(user, key_id) for user, key_id, _ in seen} == {(USER, USER)}
    serials = list(dict.fromkeys(serial for _, _, serial in seen))
    assert len(serials) > 1
    assert serials == list(range(serials[0], serials[0] + len(serials)))


@pytest.mark.full
def test_what_is_not_renewed_is_refused_from_its_end_on_and_sshd_counts_the_same_refusals(tmp_path: Path) -> None:
    client = {"auth": "certificate", "certificates": {"lifetime": "5s", "renew": False}}
    load = {"arrivals": {"rate": 5, "duration": "9s"}}
    test = write_test(tmp_path, target=verbose(), client=client, load=load, thresholds=[])
    ended = measured(test, "--logs", tmp_path / "logs")
    (error,) = ended.status["results"]["errors"]
    assert (error["step"], error["outcome"]) == ("auth", "certificateExpired"), ended.err
    log = (tmp_path / "logs/target.log").read_text()
    assert log.count("Certificate invalid: expired") == error["count"] > 0
    assert re.search(r"its certificate ended at \S+Z, \d+ s ago", error["firstMessage"])


def verbose() -> dict[str, Any]:
    return {"managed": {"sshd": {"logLevel": "VERBOSE"}}}


@pytest.mark.full
def test_an_author_s_authority_signs_for_a_server_that_exists_and_is_seen_nowhere(
    tmp_path: Path, temporary: Path
) -> None:
    passphrase, authority = new_text(), tmp_path / "authority"
    canary = Canary({**new_key(authority, passphrase), "passphrase": passphrase.encode()})
    (tmp_path / "passphrase").write_text(passphrase)
    directives = f"LogLevel VERBOSE\nTrustedUserCAKeys {authority}.pub\nAuthorizedKeysFile none"
    with ssh_server(tmp_path, make_keys(tmp_path), directives) as server:
        external = {
            "host": "127.0.0.1",
            "port": server.port,
            "user": server.user,
            "credentialsSecretRef": {"name": "login"},
            "knownHostsSecretRef": {"name": "hosts"},
        }
        certificates = {**_SHORT, "ca": {"secretRef": {"name": "authority"}, "encryptedKey": True}}
        client = {"auth": "certificate", "certificates": certificates}
        test = write_test(tmp_path, target={"external": external}, client=client, load=_SMALL, thresholds=[])
        options: list[str | Path] = ["--identity", server.keys.user, "--known-hosts", server.known_hosts]
        options += ["--user-ca", authority, "--user-ca-passphrase-file", tmp_path / "passphrase"]
        status = searched(Search(canary, temporary), test, tmp_path / "logs", *options)
        assert (status["results"]["iterations"], status["results"]["failures"]) == (20, 0)
        assert len({serial for _, _, serial in logins(server.log)}) > 1


def test_the_authority_of_a_run_is_seen_nowhere(tmp_path: Path, temporary: Path) -> None:
    client = {"auth": "certificate", "certificates": _SHORT}
    test = write_test(tmp_path, target=verbose(), client=client, load=_SMALL, thresholds=[])
    ended, search = searched_for_its_own(test, tmp_path, temporary, planted)
    assert {"metrics", "the environ of sshd", "target.log"} <= search.seen
    assert ended.status["results"]["failures"] == 0, ended.err


def planted(started: Started) -> Canary:
    """Return the authority of a run, which is made when it starts."""
    return Canary(secrets_of_key(key_of_run(started, "user_ca")))


@pytest.mark.root
def test_each_user_of_a_population_has_a_certificate_and_those_that_the_run_revoked_are_refused(tmp_path: Path) -> None:
    target = {"managed": {"system": {"users": 10}, "sshd": {"logLevel": "VERBOSE", "revokedKeys": {"users": "20%"}}}}
    client = {"auth": "certificate", "certificates": _SHORT}
    load = {"arrivals": {"rate": 10, "duration": "4s"}}
    test = write_test(tmp_path, target=target, client=client, load=load, thresholds=[], loginBeforeLoad=False)
    ended = measured(test, "--logs", tmp_path / "logs")
    (error,) = ended.status["results"]["errors"]
    assert (error["step"], error["outcome"]) == ("auth", "keyRevoked"), ended.err
    log = (tmp_path / "logs/target.log").read_text()
    seen = logins(log)
    assert all(user == key_id for user, key_id, _ in seen)
    revoked = {"user00005", "user00010"}
    assert {user for user, _, _ in seen} == {f"user{number:05d}" for number in range(1, 11)} - revoked
    assert set(re.findall(r"^Failed publickey for (\S+) ", log, re.MULTILINE)) == revoked
    assert log.count(" revoked by file ") >= error["count"] > 0


@pytest.mark.parametrize("library", ["asyncssh", pytest.param("openssh", marks=pytest.mark.full)])
def test_a_target_whose_host_keys_have_certificates_is_known_by_their_authority_alone(
    tmp_path: Path, library: str
) -> None:
    target = {"managed": {"sshd": {"hostCertificates": True}}}
    load = {"arrivals": {"rate": 2, "duration": "3s"}}
    test = write_test(tmp_path, target=target, client={"library": library}, load=load, thresholds=[])
    status = measured(test).status
    assert (status["results"]["iterations"], status["results"]["failures"]) == (6, 0)
    (negotiated,) = status["results"]["negotiated"]
    assert negotiated["hostKey"] == "ssh-ed25519-cert-v01@openssh.com"
