"""pkt-line, the framing of git's protocol (gitprotocol-common(5)): four hexadecimal digits of length, then the data."""

from collections.abc import Callable

from sshload_contract.vocabulary import Outcome

from sshload_worker.outcomes import StepFailure

_LENGTH_BYTES = 4
_LONGEST_BYTES = 65_520
_HEXADECIMAL = frozenset(b"0123456789abcdefABCDEF")

FLUSH = b"0000"


class EndedError(Exception):
    """The other side's output ended, maybe in the middle of a line."""


class PktLineReader:
    """Reads lines from a source that yields pieces of any length, empty at its end. Holds no more than a line."""

    def __init__(self, read: Callable[[], bytes]) -> None:
        self._read = read
        self._unread = bytearray()

    def line(self) -> bytes | None:
        """Return the next line's data, without a newline at its end, or None for a flush packet.

        Raises EndedError, and StepFailure where what comes is no pkt-line or is an error's (`ERR `), in git's words.
        """
        length = _length(self._take(_LENGTH_BYTES))
        if length == 0:
            return None
        data = self._take(length - _LENGTH_BYTES).removesuffix(b"\n")
        if data.startswith(b"ERR "):
            raise StepFailure(Outcome.OUTPUT_MISMATCH, f"git: {_shown(data[4:])}")
        return data

    def rest(self) -> bytes:
        """Return the next piece of what comes after the lines, empty at the end."""
        if not self._unread:
            return self._read()
        piece = bytes(self._unread)
        self._unread.clear()
        return piece

    def _take(self, count: int) -> bytes:
        while len(self._unread) < count:
            piece = self._read()
            if not piece:
                raise EndedError
            self._unread += piece
        taken = bytes(self._unread[:count])
        del self._unread[:count]
        return taken


def pkt_line(data: bytes) -> bytes:
    """Return a line's data in its frame."""
    return b"%04x" % (len(data) + _LENGTH_BYTES) + data


def _length(digits: bytes) -> int:
    length = int(digits, 16) if _HEXADECIMAL.issuperset(digits) else -1
    if length in range(1, _LENGTH_BYTES) or not 0 <= length <= _LONGEST_BYTES:
        raise StepFailure(Outcome.OUTPUT_MISMATCH, f"what came is not git's protocol: {_shown(digits)!r}")
    return length


def _shown(text: bytes) -> str:
    return text.decode("utf-8", "replace").strip()
