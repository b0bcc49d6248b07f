"""Programs, which are started without copying this process and awaited through gevent, and the pipes to them."""

import atexit
import os
import resource
import shutil
import signal
import tty
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache

import gevent
from gevent import get_hub, monkey
from gevent.event import Event
from sshload_contract.vocabulary import Outcome

from sshload_worker.outcomes import StepFailure

_close = monkey.get_original("os", "close")
"""The system's own. gevent's closes a pipe only after the event loop has waited for something else (since 25.8): until
then whoever reads the pipe would wait for its end. No watcher of a descriptor is left when it is closed here."""

_READ, _WRITE = 1, 2
_READ_BYTES = 65_536
_KEPT_BYTES = 4_096

_running: "set[Process]" = set()


@cache
def program(name: str) -> str:
    """Return a program's path; raises StepFailure if there is none."""
    path = shutil.which(name)
    if path is None:
        raise StepFailure(Outcome.GENERATOR_FAULT, f"the worker has no program {name}")
    return path


@atexit.register
def _end_all() -> None:
    """Kill the programs that still run when the worker ends."""
    for process in tuple(_running):
        process.kill()


class Process:
    """A running program. `exit_code` is valid once `ended` is set; it is 128 + `signal` if a signal killed it."""

    def __init__(self, command: list[str], environment: Mapping[str, str], descriptors: Sequence[int]) -> None:
        """Start a program whose descriptors 0, 1, 2 and so on are `descriptors`; raises OSError."""
        # First copied to numbers above all of them, so that no descriptor is overwritten before it is copied.
        beyond = max(descriptors) + 1
        actions: list[tuple[int, ...]] = []
        for number, own in enumerate(descriptors):
            actions.append((os.POSIX_SPAWN_DUP2, own, beyond + number))
        for number in range(len(descriptors)):
            actions.append((os.POSIX_SPAWN_DUP2, beyond + number, number))
            actions.append((os.POSIX_SPAWN_CLOSE, beyond + number))
        loop = get_hub().loop
        loop.install_sigchld()
        # A group of its own, so that it is killed with everything it has started, and gets no signal from a terminal.
        self._pid = os.posix_spawn(program(command[0]), command, environment, file_actions=actions, setpgroup=0)
        _running.add(self)
        self.ended = Event()
        self.exit_code = 0
        self.signal = 0
        self._watcher = loop.child(self._pid)
        self._watcher.start(self._record_end)

    def limit(self, memory_bytes: int, file_bytes: int) -> None:
        """Limit the memory and the size of files of this program and of each program that it starts from now on."""
        with suppress(ProcessLookupError):  # it has ended
            resource.prlimit(self._pid, resource.RLIMIT_AS, (memory_bytes, memory_bytes))
            resource.prlimit(self._pid, resource.RLIMIT_FSIZE, (file_bytes, file_bytes))

    def kill(self) -> None:
        """Kill it immediately, with everything that it has started; never waits."""
        if not self.ended.is_set():
            with suppress(ProcessLookupError):
                os.killpg(self._pid, signal.SIGKILL)

    def _record_end(self) -> None:
        status = self._watcher.rstatus
        self.signal = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        self.exit_code = 128 + self.signal if self.signal else os.WEXITSTATUS(status)
        _running.discard(self)
        self._watcher.stop()
        self._watcher.close()
        self.ended.set()


class PipeEnd:
    """Our end of one pipe, and the descriptor of the other end until the program has it."""

    def __init__(self, *, reading: bool, terminal: bool = False) -> None:
        """Make a pipe, or a pseudo-terminal with our end as its master."""
        ends = os.openpty() if terminal else os.pipe2(os.O_CLOEXEC)
        self._own, self.given = ends if reading or terminal else ends[::-1]
        os.set_blocking(self._own, False)
        self._watcher = get_hub().loop.io(self._own, _READ if reading else _WRITE)
        self._open = True
        self._given = True

    def give_away(self) -> None:
        """Close our copy of the other end, once the program has its own."""
        if self._given:
            self._given = False
            _close(self.given)

    def read(self) -> bytes:
        """Return the next piece, empty at the end."""
        while self._open:
            try:
                return os.read(self._own, _READ_BYTES)
            except BlockingIOError:
                get_hub().wait(self._watcher)
        return b""

    def read_available(self) -> bytes:
        """Return the next piece without waiting, empty if there is none now, and at the end."""
        with suppress(BlockingIOError):
            return os.read(self._own, _READ_BYTES) if self._open else b""
        return b""

    def write(self, data: bytes) -> None:
        """Write all of `data`; raises BrokenPipeError if nobody reads any more."""
        rest = memoryview(data)
        while rest:
            if not self._open:
                raise BrokenPipeError
            try:
                rest = rest[os.write(self._own, rest) :]
            except BlockingIOError:
                get_hub().wait(self._watcher)

    def close(self) -> None:
        """Close both ends."""
        self.give_away()
        if self._open:
            self._open = False
            self._watcher.close()
            _close(self._own)


class Pipes:
    """The stdin, stdout and stderr of a program. Only the beginning of stderr is kept."""

    def __init__(self) -> None:
        self.stdin = PipeEnd(reading=False)
        self.stdout = PipeEnd(reading=True)
        self._stderr = PipeEnd(reading=True)
        self.stderr = b""
        self._reader = gevent.spawn(self._read_stderr)

    def use_terminal(self) -> None:
        """Make stdin a terminal, because ssh sets up the remote terminal like the local one."""
        self.stdin.close()
        self.stdin = PipeEnd(reading=False, terminal=True)

    def set_raw_mode(self) -> None:
        """Put a terminal into raw mode: the remote terminal interprets the bytes."""
        if os.isatty(self.stdin.given):
            tty.setraw(self.stdin.given)

    def given(self) -> Iterator[int]:
        """Yield the descriptors of the program's ends, in order."""
        yield from (end.given for end in (self.stdin, self.stdout, self._stderr))

    def give_away(self) -> None:
        """Close our copies of the program's ends, once it has its own."""
        for end in (self.stdin, self.stdout, self._stderr):
            end.give_away()

    def await_stderr(self) -> None:
        """Wait until all of stderr has been read."""
        self._reader.join()

    def close(self) -> None:
        """Close everything."""
        self._reader.kill(block=False)
        for end in (self.stdin, self.stdout, self._stderr):
            end.close()

    def _read_stderr(self) -> None:
        with suppress(OSError, gevent.GreenletExit):  # a greenlet keeps the GreenletExit, and with it all of this
            while piece := self._stderr.read():
                if len(self.stderr) < _KEPT_BYTES:
                    self.stderr += piece
