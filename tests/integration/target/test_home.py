"""Home, keys and fixtures as a client finds them."""

import os
import pwd
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from running_target import WITHIN_S, RunningTarget, make_target_folder, started_target, wait_until
from sshload_contract.wire.target import DirectoryFixture, FileFixture

StartTarget = Callable[..., RunningTarget]
SSH_FAILED = 255


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_fixtures_are_as_they_were_asked_for(start_target: StartTarget) -> None:
    target = start_target(
        files=(FileFixture("file-26k", 26_624), FileFixture("deep/archive-3m", 3_145_728)),
        directories=(DirectoryFixture("dir-10k", 10_000),),
    )
    home = target.folder.config.home
    assert target.run(
        f"wc -c < {home}/file-26k; wc -c < {home}/deep/archive-3m; ls {home}/dir-10k | wc -l"
    ).split() == [
        "26624",
        "3145728",
        "10000",
    ]


def test_home_and_keys_are_for_their_owner_only(start_target: StartTarget) -> None:
    target = start_target()
    home = Path(target.folder.config.home)
    assert [_mode(path) for path in (home, home / ".ssh", home / ".ssh/authorized_keys")] == [0o700, 0o700, 0o600]
    (private,) = (target.folder.path / "private").iterdir()
    assert _mode(private) == 0o700
    assert {_mode(path) for path in private.glob("ssh_host_*")} == {0o600}


def test_only_the_given_key_may_log_in_and_both_host_keys_are_the_given_ones(start_target: StartTarget) -> None:
    """The client checks host keys against the given ones, so that a login proves them."""
    target = start_target()
    for algorithm in ("ssh-ed25519", "ecdsa-sha2-nistp256"):
        login = target.ssh("true", options=("-o", f"HostKeyAlgorithms={algorithm}"))
        assert subprocess.run(login, check=False, timeout=WITHIN_S).returncode == 0
    assert (Path(target.folder.config.home) / ".ssh/authorized_keys").read_text().count("ssh-ed25519 ") == 1


def test_a_match_block_in_the_given_text_swallows_nothing(start_target: StartTarget) -> None:
    target = start_target("LogLevel INFO\nMatch User nosuchuser\n  ForceCommand false\n  AuthorizedKeysFile none\n")
    assert target.run("echo in") == "in\n"


def test_an_ordinary_user_can_serve_itself() -> None:
    """Who runs the tests as root gives root up for daemon, which has no shell: the login alone is looked at then."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        server = pwd.getpwnam("daemon") if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())
        folder = make_target_folder(path, "LogLevel INFO\n", user=server.pw_name)
        target_only = (path, folder.config_path, *folder.path.glob("keys"), *folder.path.glob("keys/*"))
        for place in target_only:
            os.chown(place, server.pw_uid, server.pw_gid)
        with started_target(folder, _as_user(server, folder.command())) as target:
            target.wait_until_ready()
            assert Path(f"/proc/{target.process.pid}").stat().st_uid == server.pw_uid
            os.chown(path / "keys/id_ed25519", os.geteuid(), os.getegid())
            login = subprocess.run(target.ssh("true"), capture_output=True, check=False, timeout=WITHIN_S)
            assert login.returncode != SSH_FAILED, target.log()
            wait_until(lambda: target.stats().accepted == 1, "the login counted")
            assert target.stop() == 0


def _as_user(user: pwd.struct_passwd, command: list[str]) -> list[str]:
    """Return the command line that runs a target as `user`, who may not be able to read this interpreter's files."""
    become = f"os.setgroups([]); os.setgid({user.pw_gid}); os.setuid({user.pw_uid})" if os.geteuid() == 0 else ""
    imports_first = f"import os, random, sys; from sshload_target.__main__ import main; {become}"
    return [sys.executable, "-c", f"{imports_first}\nsys.exit(main())", *command[3:]]
