"""Daemons that a target runs beside sshd: each is ready before the next and sshd begin, and ends with the target."""

import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sshload_contract.wire.target import TargetConfig

from sshload_target.errors import InterruptedTargetError, TargetError
from sshload_target.pid1 import exit_in_words, stop_is_pending

if TYPE_CHECKING:
    from sshload_target.system.make import MadeSystem

_READY_WITHIN_S: Final = 60.0
_POLL_S: Final = 0.02
_LAST_LINES: Final = 5
_STDOUT: Final = 1


@dataclass(frozen=True, slots=True)
class Daemon:
    """A program in the foreground, and whether it answers.

    What it prints is in a file in the target's own folder, or with `is_logged` in the target's log.
    """

    name: str
    argv: Sequence[str]
    is_ready: Callable[[], bool]
    environment: Mapping[str, str] = field(default_factory=dict)
    is_logged: bool = False


@dataclass(frozen=True, slots=True)
class RunningDaemon:
    """A daemon that was started."""

    name: str
    pid: int
    output: Path | None

    def end_in_words(self, exit_code: int) -> str:
        """Return how it ended, with its last lines."""
        if self.output is None:
            return f"{self.name} ended by itself, {exit_in_words(exit_code)}; its last lines are in the target's log"
        with self.output.open(encoding="utf-8", errors="replace") as file:
            lines = "".join(deque(file, _LAST_LINES))
        return f"{self.name} ended by itself, {exit_in_words(exit_code)}; its last lines:\n{lines}"


def daemons_of(
    config: TargetConfig, system: "MadeSystem | None", private_dir: Path, listen_address: str
) -> Iterator[Daemon]:
    """Yield what a target needs beside sshd, in the order in which they start. Their files are in `private_dir`.

    Those that workers ask listen at one address, or at all if that is empty.
    """
    if system is not None and config.system is not None and config.system.kerberos is not None:
        from sshload_target.system.kerberos import make_kdc  # noqa: PLC0415 - other targets have none

        yield make_kdc(config, config.system.kerberos, system.population, private_dir, listen_address)
    if system is not None and system.ldap is not None:
        from sshload_target.ldap.daemons import ldap_daemons  # noqa: PLC0415 - other targets have none

        yield from ldap_daemons(system.ldap, system, private_dir)


def start_daemons(daemons: Iterable[Daemon], private_dir: Path) -> tuple[RunningDaemon, ...]:
    """Start each when the one before it is ready, and return them once all are.

    Raises TargetError with the last words of one that ended or did not get ready, and InterruptedTargetError.
    """
    return tuple(
        _start(daemon, None if daemon.is_logged else private_dir / f"{daemon.name}.output") for daemon in daemons
    )


def _start(daemon: Daemon, output: Path | None) -> RunningDaemon:
    written = os.dup(_STDOUT) if output is None else os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        pid = os.posix_spawn(
            daemon.argv[0],
            list(daemon.argv),
            {**os.environ, **daemon.environment},
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, written, 1),
                (os.POSIX_SPAWN_DUP2, written, 2),
            ],
            setsigmask=[],
            setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],
        )
    except OSError as error:
        raise TargetError(f"{daemon.name} cannot be started: {error}") from error
    finally:
        os.close(written)
    running = RunningDaemon(daemon.name, pid, output)
    _wait_until_ready(daemon, running)
    return running


def _wait_until_ready(daemon: Daemon, running: RunningDaemon) -> None:
    give_up_at_s = time.monotonic() + _READY_WITHIN_S
    while not daemon.is_ready():
        ended, status = os.waitpid(running.pid, os.WNOHANG)
        if ended:
            raise TargetError(running.end_in_words(os.waitstatus_to_exitcode(status)))
        if stop_is_pending():
            raise InterruptedTargetError(f"stopped while {daemon.name} was starting")
        if time.monotonic() > give_up_at_s:
            raise TargetError(f"{daemon.name} is not ready after {_READY_WITHIN_S:g} s")
        time.sleep(_POLL_S)
