"""A real target of a test's own: `python -m sshload_target` with a real sshd on loopback, and ssh clients to it.

SSHLOAD_TEST_SSHD names another sshd than the installed one; its session programs are looked for beside it, in
../lib/openssh, as Debian's package has them.
"""

import contextlib
import json
import os
import pwd
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from free_ports import free_port
from sshload_contract.wire.codec import from_json, to_json
from sshload_contract.wire.target import (
    DirectoryFixture,
    FileFixture,
    RepositoryFixture,
    TargetConfig,
    TargetStats,
)

WITHIN_S = 300.0
"""Nothing takes so long but a fault, on a busy machine too."""
_OTHER_SSHD = os.environ.get("SSHLOAD_TEST_SSHD", "")


def wait_until(condition: Callable[[], bool], what: str, within_s: float = WITHIN_S) -> None:
    """Wait until `condition` holds; fails with `what` once `within_s` is over."""
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, f"not within {within_s} s: {what}"
        time.sleep(0.02)


def make_keys(keys_dir: Path) -> None:
    """Make the keys that a target's Secret holds, and the client's."""
    keys_dir.mkdir()
    for kind, name in (("ed25519", "ssh_host_ed25519_key"), ("ecdsa", "ssh_host_ecdsa_key"), ("ed25519", "id_ed25519")):
        subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", keys_dir / name], check=True, timeout=WITHIN_S)


def sshd_arguments() -> list[str]:
    """Return the arguments that choose the sshd under test."""
    return ["--sshd", _OTHER_SSHD] if _OTHER_SSHD else []


def sshd_lines() -> str:
    """Return the lines of sshd_config that the sshd under test needs where it is not installed in its place."""
    if not _OTHER_SSHD:
        return ""
    programs = Path(_OTHER_SSHD).parent.parent / "lib/openssh"
    return f"SshdSessionPath {programs}/sshd-session\nSshdAuthPath {programs}/sshd-auth\n"


@dataclass(frozen=True, slots=True)
class TargetFolder:
    """Where one target's files are, and what it is asked to be."""

    path: Path
    config: TargetConfig

    @property
    def config_path(self) -> Path:
        """The configuration's file."""
        return self.path / "target.json"

    @property
    def termination_log(self) -> Path:
        """Where the reason of a failure goes."""
        return self.path / "termination-log"

    def command(self) -> list[str]:
        """Return the target's command line."""
        loopback = ["--listen-address", "127.0.0.1", "--stats-host", "127.0.0.1"]
        own = ["--config", str(self.config_path), "--termination-log", str(self.termination_log)]
        return [sys.executable, "-m", "sshload_target", *own, *loopback, *sshd_arguments()]


def make_target_folder(
    path: Path,
    sshd_config: str,
    *,
    user: str | None = None,
    **fixtures: tuple[FileFixture | DirectoryFixture | RepositoryFixture, ...],
) -> TargetFolder:
    """Write keys and a configuration for a target that serves `user` (by default: who runs the test).

    `fixtures` are the fields of a TargetConfig: `files`, `directories` and `repositories`, each by default empty.
    """
    make_keys(path / "keys")
    own_start_files = f"SetEnv HOME={path / 'home'}\n"  # the user's own, such as ~/.bashrc, are not what is tested
    config = TargetConfig(
        user=user or pwd.getpwuid(os.geteuid()).pw_name,
        home=str(path / "home"),
        keys_dir=str(path / "keys"),
        sshd_config=f"UsePAM no\n{own_start_files}{sshd_lines()}{sshd_config}",
        sshd_port=free_port(),
        stats_port=free_port(),
        files=(),
        directories=(),
        repositories=(),
    )
    config = replace(config, **fixtures)  # type: ignore[arg-type]  # each is what its field holds
    folder = TargetFolder(path, config)
    folder.config_path.write_text(to_json(config))
    return folder


@dataclass(frozen=True, slots=True)
class RunningTarget:
    """A target's process, and how to speak to it."""

    folder: TargetFolder
    process: subprocess.Popen[str]

    def http_status(self, path: str) -> int:
        """Return the status of GET `path`, 0 while nobody answers, or where the target ends while it answers."""
        try:
            return self._ask(path)[0]
        except (OSError, HTTPException):
            return 0

    def get(self, path: str) -> str:
        """Return what GET `path` answers."""
        status, text = self._ask(path)
        assert status == HTTPStatus.OK, text
        return text

    def _ask(self, path: str) -> tuple[int, str]:
        connection = HTTPConnection("127.0.0.1", self.folder.config.stats_port, timeout=WITHIN_S)
        with contextlib.closing(connection):
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    def stats(self) -> TargetStats:
        """Return the counts by now."""
        return from_json(TargetStats, self.get("/stats"))

    def log(self) -> str:
        """Return what the target printed by now."""
        return (self.folder.path / "output").read_text()

    def ssh_options(self, key: str = "id_ed25519") -> list[str]:
        """Return the options by which ssh, scp and sftp log in with `key`, having checked the target's host key."""
        folder, config = self.folder.path, self.folder.config
        settings = {
            "BatchMode": "yes",
            "IdentitiesOnly": "yes",
            "LogLevel": "ERROR",
            "Port": str(config.sshd_port),
            "StrictHostKeyChecking": "yes",
            "User": config.user,
            "UserKnownHostsFile": str(folder / "known_hosts"),
        }
        stated = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
        return ["-F", "none", *stated, "-i", str(folder / "keys" / key)]

    def ssh(self, *command: str, options: tuple[str, ...] = (), key: str = "id_ed25519") -> list[str]:
        """Return the command line of a client that checks the target's host key and runs `command`."""
        return ["ssh", *self.ssh_options(key), *options, "127.0.0.1", *command]

    def run(self, *command: str) -> str:
        """Run a command by ssh and return what it prints."""
        done = subprocess.run(self.ssh(*command), capture_output=True, text=True, check=False, timeout=WITHIN_S)
        assert done.returncode == 0, f"exit code {done.returncode}: {done.stderr}{self.log()}"
        return done.stdout

    def wait_until_ready(self) -> None:
        """Wait until the target says that it is ready."""

        def ready() -> bool:
            assert self.process.poll() is None, self.log()
            return self.http_status("/readyz") == 200

        wait_until(ready, "ready")

    def stop(self) -> int:
        """Send SIGTERM and return the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=WITHIN_S)


@contextlib.contextmanager
def started_target(
    folder: TargetFolder, command: list[str] | None = None, **environment: str
) -> Iterator[RunningTarget]:
    """Start a target, and see to its end. Its private folder is made in `private` beside its configuration."""
    private = folder.path / "private"
    private.mkdir(exist_ok=True)
    private.chmod(0o1777)  # as /tmp is
    with (folder.path / "output").open("w") as output:
        process = subprocess.Popen(
            command or folder.command(),
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=folder.path,
            env={**os.environ, "TMPDIR": str(private), **environment},
        )
    try:
        _write_known_hosts(folder)
        yield RunningTarget(folder, process)
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(timeout=WITHIN_S)


@contextlib.contextmanager
def ready_target(folder: TargetFolder) -> Iterator[RunningTarget]:
    """Start a target and wait until it is ready."""
    with started_target(folder) as target:
        target.wait_until_ready()
        yield target


def _write_known_hosts(folder: TargetFolder) -> None:
    keys = [path.read_text() for path in sorted(folder.path.glob("keys/ssh_host_*.pub"))]
    lines = [f"[127.0.0.1]:{folder.config.sshd_port} {key}" for key in keys]
    (folder.path / "known_hosts").write_text("".join(lines))


def changed(folder: TargetFolder, **fields: object) -> None:
    """Change fields of the configuration's JSON as it stands in its file."""
    plain = json.loads(folder.config_path.read_text())
    folder.config_path.write_text(json.dumps({**plain, **fields}))
