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


@pytest.mark.parametrize("allowed", [[], ["--allow-target", "127.0.0.1:1"], ["--allow-target", "other.example.com"]])
def test_a_server_that_the_command_line_does_not_name_is_left_alone(
    tmp_path: Path, own_server: OwnServer, allowed: list[str]
) -> None:
    path = write_test(tmp_path, target=own_server.target())
    ended = sshload("run", path, "--output", "json", *allowed, *own_server.credentials())
    assert (ended.code, ended.status["reason"]) == (4, "TargetNotAllowed")
    assert "--allow-target" in ended.err


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
