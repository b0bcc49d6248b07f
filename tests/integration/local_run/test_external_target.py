"""One's own server: it is loaded only where the command line names it, with the user's own credentials."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from local_cli import measured, sshload, write_test
from own_server import OwnServer, running_server


@pytest.fixture(scope="module")
def own_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnServer]:
    with running_server(tmp_path_factory.mktemp("own-server")) as server:
        yield server


def test_an_allowed_server_is_measured_with_the_users_key(tmp_path: Path, own_server: OwnServer) -> None:
    path = write_test(tmp_path, target=own_server.target())
    ended = measured(path, "--allow-target", f"127.0.0.1:{own_server.port}", *own_server.credentials())
    assert (ended.code, ended.status["verdict"]) == (0, "Passed"), ended.err
    assert "target" not in ended.status["results"]


@pytest.mark.parametrize("allowed", [[], ["--allow-target", "other.example.com"]])
def test_a_server_that_the_command_line_does_not_name_is_left_alone(
    tmp_path: Path, own_server: OwnServer, allowed: list[str]
) -> None:
    path = write_test(tmp_path, target=own_server.target())
    ended = sshload("run", path, "--output", "json", *allowed, *own_server.credentials())
    assert (ended.code, ended.status["reason"]) == (4, "TargetNotAllowed")
    assert f"here, --allow-target 127.0.0.1:{own_server.port} allows it" in ended.err


def test_a_server_that_the_command_line_names_at_another_port_is_left_alone_and_the_port_named(
    tmp_path: Path, own_server: OwnServer
) -> None:
    path = write_test(tmp_path, target=own_server.target())
    ended = sshload("run", path, "-o", "json", "--allow-target", "127.0.0.1:1", *own_server.credentials())
    assert (ended.code, ended.status["reason"]) == (4, "TargetNotAllowed")
    assert ended.status["message"].endswith(
        f"the test names port {own_server.port} of 127.0.0.1, where only port 1 is allowed: set"
        " spec.target.external.port"
    )
    assert "--allow-target" not in ended.err


def test_what_cannot_be_judged_is_said_before_the_run(tmp_path: Path, own_server: OwnServer) -> None:
    too_much = {"latency": {"step": "total", "percentile": 99.9, "below": "1s"}}
    path = write_test(tmp_path, target=own_server.target(), thresholds=[too_much])
    ended = sshload("run", path, "--allow-target", f"127.0.0.1:{own_server.port}", *own_server.credentials())
    said = sshload("validate", path)
    (caution,) = (line.partition(": note: ")[2] for line in said.err.splitlines() if "p99.9 of total" in line)
    lines = ended.err.splitlines()
    assert f"caution: {caution}" in lines[: next(n for n, line in enumerate(lines) if "Running" in line or "%" in line)]


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        pytest.param(["--known-hosts"], "--identity", id="no credentials"),
        pytest.param(["--identity"], "--known-hosts", id="no known hosts"),
    ],
)
def test_what_the_command_line_lacks_is_named(
    tmp_path: Path, own_server: OwnServer, given: list[str], wanted: str
) -> None:
    path = write_test(tmp_path, target=own_server.target())
    ended = sshload("run", path, "--allow-target", "127.0.0.1", *given, own_server.identity)
    assert ended.code == 4
    assert wanted in ended.err


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, own_server: OwnServer) -> None:
    path = write_test(tmp_path, target=own_server.target())
    missing = tmp_path / "missing"
    ended = sshload("run", path, "--allow-target", "127.0.0.1", "--identity", missing, "--known-hosts", missing)
    assert ended.code == 4
    assert f"sshload: {missing}: No such file or directory. Give the path of a file that can be read" in ended.err
