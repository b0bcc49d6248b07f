"""Processes that are started without a copy of this one, and waited for by gevent."""

import atexit
import os
import shutil
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache

from gevent import get_hub
from gevent.event import Event
from sshload_contract.vocabulary import Outcome

from sshload_worker.outcomes import StepFailure

_NOWHERE = os.devnull


@cache
def program(name: str) -> str:
    """Return a program's path; raises StepFailure where there is none."""
    path = shutil.which(name)
    if path is None:
        raise StepFailure(Outcome.GENERATOR_FAULT, f"the worker has no program {name}")
    return path


_running: "set[Process]" = set()


@atexit.register
def _end_all() -> None:
    """End what still runs when the worker ends."""
    for process in tuple(_running):
        process.kill()


class Process:
    """A running program. `ended` is set when it has ended, and `exit_code` then known: 128 and more for a signal."""

    def __init__(self, command: list[str], environment: Mapping[str, str], descriptors: Sequence[int]) -> None:
        """Start a program whose stdin, stdout and stderr are `descriptors`; raises OSError."""
        actions = [(os.POSIX_SPAWN_DUP2, own, number) for number, own in enumerate(descriptors)]
        loop = get_hub().loop
        loop.install_sigchld()
        # A group of its own, so that it ends with all that it has started, and not by what is typed at a terminal.
        self._pid = os.posix_spawn(program(command[0]), command, environment, file_actions=actions, setpgroup=0)
        _running.add(self)
        self.ended = Event()
        self.exit_code = 0
        self._watcher = loop.child(self._pid)
        self._watcher.start(self._note_end)

    def kill(self) -> None:
        """End it now, with all that it has started; never waits."""
        if not self.ended.is_set():
            with suppress(ProcessLookupError):
                os.killpg(self._pid, signal.SIGKILL)

    def _note_end(self) -> None:
        status = self._watcher.rstatus
        self.exit_code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)
        _running.discard(self)
        self._watcher.stop()
        self._watcher.close()
        self.ended.set()
