"""The standard streams of a command, also when nobody reads them any more."""

import io
import os
import sys
from typing import TextIO


class Lasting(io.TextIOBase):
    """Standard error, which drops output once nobody reads it: a closed terminal or pipe must not lose a result."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_gone = False

    @property
    def encoding(self) -> str:  # type: ignore[override]  # typeshed declares it writable, but it is not
        """The stream's own encoding."""
        return self._stream.encoding

    def write(self, text: str) -> int:
        """Write a text; after a failure, drop all further texts."""
        if not self._is_gone:
            try:
                self._stream.write(text)
            except (OSError, ValueError):  # the latter of a stream that was closed here
                self._is_gone = True
        return len(text)

    def flush(self) -> None:
        """Write what is left, if somebody still reads."""
        if not self._is_gone:
            try:
                self._stream.flush()
            except (OSError, ValueError):  # the latter of a stream that was closed here
                self._is_gone = True

    def isatty(self) -> bool:
        """Tell whether it is a terminal."""
        return self._stream.isatty()

    def fileno(self) -> int:
        """Return the stream's own number."""
        return self._stream.fileno()


def open_closed() -> None:
    """Put /dev/null in place of a standard stream that the shell has closed (`>&-`), which Python sets to None."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(nowhere, "r" if name == "stdin" else "w"))


def let_go(stream: TextIO) -> None:
    """Write what is left of a stream, or drop it: if this failed at Python's exit, the exit code would be Python's."""
    try:
        stream.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
