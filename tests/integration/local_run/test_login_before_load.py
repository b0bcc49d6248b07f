"""A server that the workers cannot log in to is named before the load, which is then not begun."""

import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from free_ports import free_port
from local_cli import Ended, measured, sshload, wait_until, write_test
from own_server import OwnServer, running_server
from statuses import steps_of

SOON = {"client": {"timeouts": {"connect": "1s", "banner": "1s"}}}
"""Timeouts that are over soon: what may pass is tried again until then."""

PATIENT: dict[str, Any] = {"client": {"timeouts": {"connect": "60s", "banner": "60s"}}}
"""Timeouts for a server that is to be heard, though it waits for a CPU."""


@pytest.fixture(scope="module")
def own_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnServer]:
    with running_server(tmp_path_factory.mktemp("own-server")) as server:
        yield server


@pytest.fixture
def stranger(tmp_path: Path) -> Path:
    """Return a key that no server knows."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "stranger"], check=True)
    return tmp_path / "stranger"


@contextmanager
def silent_server() -> Iterator[int]:
    """Accept connections, as the kernel does for who listens, and never say anything; yield the port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        yield port


def run(
    folder: Path, server: OwnServer, *options: str | Path, spec: Mapping[str, Any] = PATIENT, **target: Any
) -> Ended:
    """Run a load on the own server, referred to with these changes, from any host key that it may show."""
    external = {**server.reference(), "insecureIgnoreHostKey": True, **target}
    if external["insecureIgnoreHostKey"]:
        del external["knownHostsSecretRef"]
    path = write_test(folder, target={"external": external}, **spec)
    allowed = ["--allow-target", external["host"]]
    return sshload("run", path, "--output", "json", *allowed, *(options or ("--identity", server.identity)))


def assert_not_begun(ended: Ended, reason: str, *words: str) -> None:
    """Assert that the run ended in Error for this reason, in these words, and that no load was made."""
    status = ended.status
    assert (ended.code, status["verdict"], status["reason"]) == (4, "Error", reason), status["message"]
    assert status["message"].startswith("the load was not begun: ")
    assert [word for word in words if word not in status["message"]] == []
    assert (status["results"]["iterations"], steps_of(status)) == (0, {})
    assert "loopLagP99Ms" not in status["results"]["generator"]


def test_a_server_that_accepts_and_says_nothing_is_unreachable(tmp_path: Path, own_server: OwnServer) -> None:
    with silent_server() as port:
        ended = run(tmp_path, own_server, spec=SOON, port=port)
    where = f"the target (127.0.0.1 port {port})"
    assert_not_begun(
        ended, "TargetUnreachable", f"{where} accepted the connection and then sent nothing", "timeouts.banner"
    )


def test_a_closed_port_is_unreachable(tmp_path: Path, own_server: OwnServer) -> None:
    port = free_port()
    ended = run(tmp_path, own_server, spec=SOON, port=port)
    assert_not_begun(
        ended, "TargetUnreachable", f"(127.0.0.1 port {port}) refused the connection", "spec.target.external.port"
    )


def test_a_name_without_an_address_is_unknown(tmp_path: Path, own_server: OwnServer) -> None:
    ended = run(tmp_path, own_server, spec=SOON, host="no-such-host.invalid")
    assert_not_begun(ended, "TargetNameUnknown", "no-such-host.invalid", "spec.target.external.host")


def refused(server: OwnServer) -> int:
    """Return how many clients the server has refused, once it has told of all that have been there."""
    wait_until(lambda: not server.connections(), "the end of all connections")
    return server.log.read_text().count("Disconnected from authenticating user")


def test_a_wrong_key_is_refused_once_by_each_worker(tmp_path: Path, own_server: OwnServer, stranger: Path) -> None:
    before = refused(own_server)
    ended = run(tmp_path, own_server, "--identity", stranger)
    assert_not_begun(
        ended,
        "CredentialsRejected",
        f"(127.0.0.1 port {own_server.port}) refused the credentials",
        "spec.target.external.credentialsSecretRef",
    )
    assert "correct the one that --identity" in ended.err
    assert refused(own_server) == before + 1


def test_a_wrong_host_key_is_named(tmp_path: Path, own_server: OwnServer, stranger: Path) -> None:
    known_hosts = tmp_path / "known_hosts"
    known_hosts.write_text(f"[127.0.0.1]:{own_server.port} {stranger.with_suffix('.pub').read_text()}")
    options = ("--identity", own_server.identity, "--known-hosts", known_hosts)
    ended = run(tmp_path, own_server, *options, insecureIgnoreHostKey=False)
    assert_not_begun(
        ended,
        "HostKeyMismatch",
        f"the host key of the target (127.0.0.1 port {own_server.port}) is not the known one",
        "spec.target.external.knownHostsSecretRef",
    )
    assert "the file that --known-hosts or --via-known-hosts names takes the place of the Secret" in ended.err


def test_a_jump_host_that_refuses_the_key_is_the_one_that_is_named(
    tmp_path: Path, own_server: OwnServer, stranger: Path
) -> None:
    path = write_test(tmp_path, via=[own_server.reference()])
    options = ["--via-identity", f"127.0.0.1={stranger}", "--known-hosts", own_server.known_hosts]
    ended = sshload("run", path, "--output", "json", "--allow-target", "127.0.0.1", *options)
    assert_not_begun(
        ended,
        "CredentialsRejected",
        f"jump host 1 (127.0.0.1 port {own_server.port}) refused the credentials",
        "spec.via[0].credentialsSecretRef",
    )


def test_the_login_before_the_load_is_in_no_count(tmp_path: Path) -> None:
    ended = measured(write_test(tmp_path, workers={"replicas": 2}), "--logs", tmp_path / "logs")
    assert (ended.code, ended.status["verdict"]) == (0, "Passed"), ended.err
    target, login = ended.status["results"]["target"], steps_of(ended.status)["login"]
    assert target["accepted"] == target["clientLogins"] == login.count == ended.status["results"]["iterations"]
    assert (tmp_path / "logs/target.log").read_text().count("Accepted publickey") == target["accepted"] + 2


def test_refused_logins_are_measured_where_the_login_before_the_load_is_left_out(
    tmp_path: Path, own_server: OwnServer, stranger: Path
) -> None:
    path = write_test(tmp_path, target=own_server.target(), loginBeforeLoad=False)
    options = ["--allow-target", "127.0.0.1", "--identity", stranger, "--known-hosts", own_server.known_hosts]
    ended = measured(path, *options)
    results = ended.status["results"]
    assert (ended.status["reason"], results["failures"]) == ("CredentialsRejected", results["iterations"])
    assert results["errors"][0]["outcome"] == "authRejected"
    assert results["errors"][0]["count"] == results["iterations"] > 1


def test_a_closed_port_is_named_without_a_login_too(tmp_path: Path, own_server: OwnServer) -> None:
    external = {**own_server.reference(), "port": free_port(), "insecureIgnoreHostKey": True}
    del external["knownHostsSecretRef"]
    path = write_test(tmp_path, target={"external": external}, loginBeforeLoad=False, **SOON)
    options = ["--allow-target", "127.0.0.1", "--identity", own_server.identity]
    ended = sshload("run", path, "--output", "json", *options)
    assert_not_begun(ended, "TargetUnreachable", "the connection to the target", "Connection refused")
