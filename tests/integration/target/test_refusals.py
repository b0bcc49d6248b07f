"""What cannot be served is refused before sshd starts, with a message that says what to change."""

from pathlib import Path

import pytest
from running_target import WITHIN_S, TargetFolder, changed, make_target_folder, started_target

EX_CONFIG = 78


def _refusal(folder: TargetFolder, **environment: str) -> str:
    with started_target(folder, **environment) as target:
        assert target.process.wait(timeout=WITHIN_S) == EX_CONFIG
        reason = folder.termination_log.read_text()
        assert reason in target.log()
        return reason


@pytest.mark.parametrize(
    ("line", "message"),
    [
        pytest.param("NoSuchThing yes", "Bad configuration option: NoSuchThing", id="an unknown directive"),
        pytest.param("MaxStartups 10:300:100", "Invalid MaxStartups spec", id="a value that sshd rejects"),
        pytest.param("Ciphers rot13", "Bad SSH2 cipher spec 'rot13'", id="a cipher that sshd has not"),
    ],
)
def test_an_sshd_config_that_sshd_rejects_is_refused_in_its_words(tmp_path: Path, line: str, message: str) -> None:
    folder = make_target_folder(tmp_path, f"LogLevel INFO\n{line}\n")
    reason = _refusal(folder)
    line_number = folder.config.sshd_config.splitlines().index(line) + 1
    assert message.lower() in reason.lower()
    assert f"line {line_number}" in reason


def test_a_log_level_that_hides_logins_is_refused(tmp_path: Path) -> None:
    assert "LogLevel ERROR hides the logins" in _refusal(make_target_folder(tmp_path, "LogLevel ERROR\n"))


def test_a_port_in_the_sshd_config_is_refused(tmp_path: Path) -> None:
    assert "must not set Port" in _refusal(make_target_folder(tmp_path, "Port 22\n"))


@pytest.mark.parametrize("path", ["../outside", "/etc/outside", ".ssh/authorized_keys"])
def test_a_fixture_outside_of_the_home_is_refused_and_not_made(target_folder: TargetFolder, path: str) -> None:
    changed(target_folder, files=[{"path": path, "size_bytes": 1}])
    assert f"fixture path {path!r}" in _refusal(target_folder)
    assert not (target_folder.path / "outside").exists()
    assert not (target_folder.path / "home").exists()


def test_a_directory_outside_of_the_home_is_refused(target_folder: TargetFolder) -> None:
    changed(target_folder, directories=[{"path": "a/../../outside", "files": 1}])
    assert "leads out of the user's home" in _refusal(target_folder)


def test_a_repository_outside_of_the_home_is_refused(target_folder: TargetFolder) -> None:
    changed(target_folder, repositories=[{"path": "../outside.git", "commits": 1, "size_bytes": 1}])
    assert "leads out of the user's home" in _refusal(target_folder)


def test_a_repository_is_refused_by_its_name_where_there_is_no_git(target_folder: TargetFolder) -> None:
    changed(target_folder, repositories=[{"path": "repo.git", "commits": 1, "size_bytes": 1}])
    assert "fixture 'repo.git' is a git repository, and there is no git here" in _refusal(
        target_folder, PATH="/nowhere"
    )


def test_a_user_that_is_not_there_is_refused(target_folder: TargetFolder) -> None:
    changed(target_folder, user="nosuchuser")
    assert "user 'nosuchuser' is not in the user database" in _refusal(target_folder)


def test_missing_keys_are_refused_by_their_name(target_folder: TargetFolder) -> None:
    (target_folder.path / "keys/ssh_host_ecdsa_key").unlink()
    assert "ssh_host_ecdsa_key" in _refusal(target_folder)


def test_keys_that_somebody_else_may_log_in_with_are_left_alone(target_folder: TargetFolder) -> None:
    authorized_keys = target_folder.path / "home/.ssh/authorized_keys"
    authorized_keys.parent.mkdir(parents=True)
    authorized_keys.write_text("ssh-ed25519 AAAA me@home\n")
    assert "was not made by sshload" in _refusal(target_folder)
    assert authorized_keys.read_text() == "ssh-ed25519 AAAA me@home\n"


@pytest.mark.parametrize("home", ["/", "home", ""])
def test_a_home_that_cannot_be_one_is_refused(target_folder: TargetFolder, home: str) -> None:
    changed(target_folder, home=home)
    assert "home" in _refusal(target_folder)


def test_a_configuration_of_another_shape_is_refused_by_the_path(target_folder: TargetFolder) -> None:
    changed(target_folder, files=[{"path": "a", "size_bytes": "26Ki"}])
    assert "files[0].size_bytes: expected int, got str" in _refusal(target_folder)


def test_a_configuration_of_another_version_is_refused(target_folder: TargetFolder) -> None:
    changed(target_folder, version=2)
    assert "version: is 2, and this release reads 1" in _refusal(target_folder)


def test_no_configuration_is_refused(target_folder: TargetFolder) -> None:
    target_folder.config_path.unlink()
    assert "target.json" in _refusal(target_folder)


def test_without_the_option_no_termination_log_is_written(target_folder: TargetFolder) -> None:
    changed(target_folder, version=2)
    command = [word for word in target_folder.command() if "termination" not in word]
    with started_target(target_folder, command) as target:
        assert target.process.wait(timeout=WITHIN_S) == EX_CONFIG
        assert "version: is 2" in target.log()
    assert not target_folder.termination_log.exists()


def test_a_reason_never_holds_a_key(target_folder: TargetFolder) -> None:
    host_key = target_folder.path / "keys/ssh_host_ed25519_key"
    host_key.write_text(host_key.read_text().replace("OPENSSH", "OPENSHH"))
    body = host_key.read_text().splitlines()[1]
    reason = _refusal(target_folder)
    assert body not in reason
    assert "ssh_host_ed25519_key" in reason
