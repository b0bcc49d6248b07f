"""Pipes to a program: our ends never block, and theirs are given away."""

import os
import tty
from collections.abc import Iterator
from contextlib import suppress

import gevent
from gevent import get_hub

_READ, _WRITE = 1, 2
_READ_BYTES = 65_536
_KEPT_BYTES = 4_096


class PipeEnd:
    """Our end of one pipe, and the number of the other end until that is given away."""

    def __init__(self, *, reading: bool, terminal: bool = False) -> None:
        """Make a pipe, or a terminal of which our end is the keyboard."""
        ends = os.openpty() if terminal else os.pipe2(os.O_CLOEXEC)
        self._own, self.given = ends if reading or terminal else ends[::-1]
        os.set_blocking(self._own, False)
        self._watcher = get_hub().loop.io(self._own, _READ if reading else _WRITE)
        self._open = True
        self._given = True

    def give_away(self) -> None:
        """Forget the other end, which somebody else has by now."""
        if self._given:
            self._given = False
            os.close(self.given)

    def read(self) -> bytes:
        """Return the next piece, empty at the end."""
        while self._open:
            try:
                return os.read(self._own, _READ_BYTES)
            except BlockingIOError:
                get_hub().wait(self._watcher)
        return b""

    def read_what_is_here(self) -> bytes:
        """Return the next piece without a wait, empty where there is none now, and at the end."""
        with suppress(BlockingIOError):
            return os.read(self._own, _READ_BYTES) if self._open else b""
        return b""

    def write(self, data: bytes) -> None:
        """Write all of `data`; raises BrokenPipeError where nobody reads any more."""
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
            os.close(self._own)


class Pipes:
    """The stdin, stdout and stderr of a program, of whose stderr the beginning is kept."""

    def __init__(self) -> None:
        self.stdin = PipeEnd(reading=False)
        self.stdout = PipeEnd(reading=True)
        self._stderr = PipeEnd(reading=True)
        self.stderr = b""
        self._reader = gevent.spawn(self._read_stderr)

    def use_terminal(self) -> None:
        """Make stdin a terminal, because a remote terminal is set up as the local one is."""
        self.stdin.close()
        self.stdin = PipeEnd(reading=False, terminal=True)

    def pass_on_unchanged(self) -> None:
        """Let a terminal pass on each byte as it is, which is for the remote one to look at."""
        if os.isatty(self.stdin.given):
            tty.setraw(self.stdin.given)

    def given(self) -> Iterator[int]:
        """Yield the numbers of the program's ends, in order."""
        yield from (end.given for end in (self.stdin, self.stdout, self._stderr))

    def give_away(self) -> None:
        """Forget the program's ends, which it has by now."""
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
        with suppress(OSError):
            while piece := self._stderr.read():
                if len(self.stderr) < _KEPT_BYTES:
                    self.stderr += piece
