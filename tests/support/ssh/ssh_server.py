"""A real sshd on loopback for one test: its keys, its port, and the log it wrote.

An sshd whose logins take long, however fast the machine is: what depends on that does not depend on the machine.

Keys that ssh-keygen makes, each one once per process: to find one of RSA takes most of a second.
"""

import getpass
import os
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from below import descendants, end_with_all_below, state
from free_ports import free_port

_CONDITION_TIMEOUT_S = 300.0
_POLL_S = 0.02
_GONE = ("", "Z")  # "Z" and "T" as in proc_pid_stat(5)
_STOPPED_OR_GONE = ("T", *_GONE)
_PRIVILEGE_SEPARATION = Path("/run/sshd")


@dataclass(frozen=True)
class Keys:
    """Key files: of the host, of the user who may log in, and of somebody who may not."""

    host: Path
    user: Path
    stranger: Path


@dataclass(frozen=True)
class SshServer:
    """A running sshd."""

    port: int
    user: str
    keys: Keys
    known_hosts: Path
    log_path: Path
    process: subprocess.Popen[bytes]

    @property
    def log(self) -> str:
        """All that sshd has logged so far."""
        return self.log_path.read_text()

    def await_log(self, pattern: str) -> None:
        """Wait until sshd has logged a line in which the pattern is: of a login it answers first, and then logs it."""
        deadline_s = time.monotonic() + _CONDITION_TIMEOUT_S
        while not re.search(pattern, self.log, re.MULTILINE):
            assert time.monotonic() < deadline_s, f"sshd does not log {pattern}: {self.log}"
            time.sleep(_POLL_S)

    def accepted(self) -> int:
        """How many logins sshd says that it accepted: each of them for sure once its client has opened a channel."""
        return len(re.findall(r"^Accepted (publickey|password) for ", self.log, re.MULTILINE))

    def logins_by_address(self) -> dict[str, int]:
        """Return how many logins each of its addresses granted; needs LogLevel VERBOSE.

        A look whether it is there is none.
        """
        address_by_port: dict[str, str] = {}
        logins: Counter[str] = Counter()
        for connecting, address, logged_in in re.findall(
            r"^Connection from \S+ port (\d+) on (\S+) port|^Accepted publickey for \S+ from \S+ port (\d+)",
            self.log,
            re.MULTILINE,
        ):
            if connecting:
                address_by_port[connecting] = address
            else:
                logins[address_by_port[logged_in]] += 1
        return logins

    def commands_by_connection(self) -> list[int]:
        """How many commands each connection ran, in the order of their logins; needs LogLevel VERBOSE."""
        pids = re.findall(r"^Starting session: command for .* port (\d+) id \d+$", self.log, re.MULTILINE)
        return [pids.count(port) for port in dict.fromkeys(pids)]

    def hang_up(self) -> None:
        """Kill all processes that serve connections, and wait until they are gone, which ends these.

        Stopped first, none can leave a child behind. No greenlet runs before this machine knows of all the ends.
        """
        self.freeze_sessions()
        killed = self._session_states()
        self.signal_sessions(signal.SIGKILL)
        _await_at_once(lambda: all(state(pid) in _GONE for pid in killed), "sessions do not end")

    def freeze_sessions(self) -> None:
        """Stop all processes that serve connections, and wait until they have: from now on they answer nothing.

        No greenlet runs meanwhile.
        """
        self.signal_sessions(signal.SIGSTOP)
        _await_at_once(self._are_stopped, "sessions do not stop")

    def _are_stopped(self) -> bool:
        if all(now in _STOPPED_OR_GONE for now in self._session_states().values()):
            return True
        self.signal_sessions(signal.SIGSTOP)  # those too that were forked meanwhile
        return False

    def _session_states(self) -> dict[int, str]:
        """Return the state of each process that serves a connection, by its pid."""
        return {pid: state(pid) for pid in descendants(self.process.pid) if _is_of_sshd(pid)}

    def signal_sessions(self, number: signal.Signals) -> None:
        """Send a signal to all processes that serve connections: stopped ones answer nothing, killed ones hang up.

        Not to the commands that they run, whose end would be told to the client before.
        """
        for pid in descendants(self.process.pid):
            if _is_of_sshd(pid):
                with suppress(OSError):
                    os.kill(pid, number)


def _is_of_sshd(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/comm").read_text().startswith("sshd")
    except OSError:
        return False


def _await_at_once(condition: Callable[[], bool], problem: str) -> None:
    """Wait for other processes of this machine, but for no greenlet of this one."""
    deadline_s = time.monotonic() + _CONDITION_TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline_s, problem
        os.sched_yield()


def make_keys(folder: Path) -> Keys:
    """Make the key files."""
    keys = Keys(folder / "host", folder / "user", folder / "stranger")
    for path in (keys.host, keys.user, keys.stranger):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
    return keys


@contextmanager
def ssh_server(
    folder: Path, keys: Keys, directives: str = "", *, address: str = "127.0.0.1", within: Sequence[str] = ()
) -> Iterator[SshServer]:
    """Run sshd with these directives in place of the usual ones until the block ends.

    `within` is what is written before its command, where it is to run elsewhere than this process.
    """
    if getpass.getuser() == "root":
        _PRIVILEGE_SEPARATION.mkdir(exist_ok=True)
    port = free_port()
    config = folder / "sshd_config"
    config.write_text(_config(directives, address, port, keys, folder))
    known_hosts = folder / "known_hosts"
    known_hosts.write_text(f"[{address}]:{port} {keys.host.with_suffix('.pub').read_text()}")
    log_path = folder / "sshd.log"
    command: list[str | Path] = [*within, "/usr/sbin/sshd", "-D", "-e", "-f", config]
    with log_path.open("wb") as log, subprocess.Popen(command, stderr=log) as sshd:
        server = SshServer(port, getpass.getuser(), keys, known_hosts, log_path, sshd)
        try:
            _await_listening(server, config.read_text().count("ListenAddress"))
            yield server
        finally:
            end_with_all_below(sshd.pid)
            sshd.wait()
            _end_commands(port)


def _end_commands(port: int) -> None:
    """End the commands whose sessions are gone: nobody hangs up on one without a terminal, and it runs on."""
    while left := [pid for pid in descendants(os.getpid()) if _is_command(pid, port)]:
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _is_command(pid: int, port: int) -> bool:
    """Return whether sshd has started a process for a session at this port; it says so in the environment."""
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False
    return any(one.startswith(b"SSH_CONNECTION=") and one.endswith(b" %d" % port) for one in environment)


def _config(directives: str, address: str, port: int, keys: Keys, home: Path) -> str:
    usual = {
        "Port": port,
        "ListenAddress": address,
        "HostKey": keys.host,
        "AuthorizedKeysFile": keys.user.with_suffix(".pub"),
        "StrictModes": "no",
        "UsePAM": "no",
        "PidFile": "none",
        "PermitRootLogin": "prohibit-password",
        "MaxStartups": "3000:30:3000",
        "MaxSessions": "3000",
        "KexAlgorithms": "-sntrup761*",  # takes several times the CPU of all else in a login by OpenSSH's client
        "SetEnv": f"HOME={home}",  # the user's own shell start-up files are not what is measured
    }
    lines = [f"{keyword} {value}" for keyword, value in usual.items() if keyword not in directives]
    return "\n".join([directives, *lines, ""])


def _await_listening(server: SshServer, addresses: int) -> None:
    deadline_s = time.monotonic() + _CONDITION_TIMEOUT_S
    while server.log.count("Server listening") < addresses:
        assert server.process.poll() is None, server.log
        assert time.monotonic() < deadline_s, "sshd does not listen"
        time.sleep(_POLL_S)


CLIENT = {"auth": "certificate"}
"""The spec's client for whom it does: a key that AuthorizedKeysFile has is let in before any command is asked."""


def slow_logins(seconds: float, user: str) -> dict[str, str]:
    """Return the directives with which each login of a user by a certificate takes so long at least."""
    command = f'/bin/sh -c "sleep {seconds:g}; echo {user}"'
    return {"AuthorizedPrincipalsCommand": command, "AuthorizedPrincipalsCommandUser": user}


_SIZE = {"rsa": ("-b", "2048")}


def write_key(path: Path, kind: str = "ed25519", *options: str) -> Path:
    """Write a key without passphrase, and its public half beside it; another name has another key. Return the path.

    `options` are ssh-keygen's beside the type.
    """
    private, public = _made(path.name, kind, options)
    path.write_bytes(private)
    path.chmod(0o600)
    path.with_suffix(".pub").write_bytes(public)
    return path


@cache
def _made(_name: str, kind: str, options: tuple[str, ...]) -> tuple[bytes, bytes]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "key"
        command = ["ssh-keygen", "-q", "-t", kind, *_SIZE.get(kind, ()), *options, "-N", "", "-f", path]
        subprocess.run(command, check=True)
        return path.read_bytes(), path.with_suffix(".pub").read_bytes()
