"""Whoever has a certificate of the given authority may log in, and nobody else by one."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from running_target import WITHIN_S, RunningTarget, TargetFolder, make_target_folder, ready_target, wait_until

SSH_FAILED = 255


def make_key(path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True, timeout=WITHIN_S)


def sign(authority: Path, public_key: Path, principal: str, *options: str) -> None:
    command = ["ssh-keygen", "-q", "-s", authority, "-I", "test", "-n", principal, *options, public_key]
    subprocess.run(command, check=True, timeout=WITHIN_S)


@pytest.fixture
def folder(tmp_path: Path) -> TargetFolder:
    """Return the files of a target whose Secret has an authority, and a client's key that it was not told of."""
    folder = make_target_folder(tmp_path, "LogLevel INFO\n")
    make_key(tmp_path / "authority")
    (tmp_path / "keys/user_ca.pub").write_text((tmp_path / "authority.pub").read_text())
    make_key(tmp_path / "client")
    return folder


@pytest.fixture
def target(folder: TargetFolder) -> Iterator[RunningTarget]:
    """Run the target."""
    with ready_target(folder) as target:
        yield target


def login(target: RunningTarget) -> int:
    """Return the exit code of a login by the client's key, with its certificate where there is one beside it."""
    return subprocess.run(
        target.ssh("true", key="../client"), check=False, timeout=WITHIN_S, capture_output=True
    ).returncode


def test_a_certificate_of_the_authority_logs_in(target: RunningTarget) -> None:
    assert login(target) == SSH_FAILED
    sign(target.folder.path / "authority", target.folder.path / "client.pub", target.folder.config.user)
    assert login(target) == 0
    wait_until(lambda: " ID test " in target.log(), "the certificate's name in the log")


def test_certificates_for_others_and_by_others_and_of_yesterday_do_not(target: RunningTarget) -> None:
    path, user = target.folder.path, target.folder.config.user
    make_key(path / "other-authority")
    for authority, principal, options in (
        ("authority", "somebody-else", ()),
        ("other-authority", user, ()),
        ("authority", user, ("-V", "-2d:-1d")),
    ):
        sign(path / authority, path / "client.pub", principal, *options)
        assert login(target) == SSH_FAILED, authority


def test_the_key_without_certificate_logs_in_as_ever(target: RunningTarget) -> None:
    assert target.run("echo in") == "in\n"
