"""The standard streams of a command: what becomes of what is written where nobody reads any more."""

import io
import os
import sys
from typing import TextIO


class Lasting(io.TextIOBase):
    """Standard error as long as somebody reads it. A terminal that is hung up, or a closed pipe, costs no result."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_gone = False

    @property
    def encoding(self) -> str:  # type: ignore[override]  # typeshed has it writable, which it is not
        """The stream's own encoding."""
        return self._stream.encoding

    def write(self, text: str) -> int:
        """Write a text; nothing once that failed."""
        if not self._is_gone:
            try:
                self._stream.write(text)
            except OSError:
                self._is_gone = True
        return len(text)

    def flush(self) -> None:
        """Write what is left, if anybody is there."""
        if not self._is_gone:
            try:
                self._stream.flush()
            except OSError:
                self._is_gone = True

    def isatty(self) -> bool:
        """Tell whether it is a terminal."""
        return self._stream.isatty()

    def fileno(self) -> int:
        """Return the stream's own number."""
        return self._stream.fileno()


def open_closed() -> None:
    """Put /dev/null in place of a standard stream that the shell has closed (`>&-`), which Python has as None."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(nowhere, "r" if name == "stdin" else "w"))


def let_go(stream: TextIO) -> None:
    """Write what is left of a stream, or drop it: Python would end with a code of its own where that fails."""
    try:
        stream.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
