"""What libraries share of the file transfer protocols: SFTP's status codes, and scp.

SFTP's status codes are those of draft-ietf-secsh-filexfer-02. scp is for libraries that do not implement it: it uses a
channel to the server's own scp program. The protocol is BSD rcp's. The sender (`scp -f`) announces a file with a line
(`C0644 26624 name`), and sends its bytes and a zero byte. The receiver (`scp -t`) sends a zero byte at the start, after
the line, and after the file. In place of the line or of a zero byte, either may send 1 or 2 and a line with an error.
"""

import re
import shlex
from collections.abc import Iterator
from posixpath import basename
from typing import NoReturn

from sshload_contract.shortened import printable, shortened
from sshload_contract.vocabulary import Outcome

from sshload_worker.clients.interface import Channel, CommandEnd, Connection, RemoteFile
from sshload_worker.outcomes import StepFailure

END_OF_FILE = 1
NO_SCP_STATUS = "the server closed the channel of its scp without an exit status"
_SFTP_STATUSES = {
    2: Outcome.SFTP_NO_SUCH_FILE,
    3: Outcome.SFTP_PERMISSION_DENIED,
    4: Outcome.SFTP_FAILURE,
    5: Outcome.SFTP_BAD_MESSAGE,
    6: Outcome.SFTP_NO_CONNECTION,
    7: Outcome.SFTP_CONNECTION_LOST,
    8: Outcome.SFTP_OP_UNSUPPORTED,
}

_SCP_ACK = b"\0"
_SCP_WARNING, _SCP_ERROR = 1, 2
_SCP_LETTERS = ("C", "D", "T", "E")
"""How each line of the protocol begins that is no error."""

_SHOWN_CHARACTERS = 60
_SCP_LINE_LIMIT_BYTES = 8_192
_SCP_MODE = "0644"
_SCP_FILE_WORDS = 3
_SCP_SIZE = re.compile("[0-9]{1,19}")  # a 64-bit number


def status_failure(code: int, text: str) -> StepFailure:
    """Return the failure for a status other than OK."""
    outcome = _SFTP_STATUSES.get(code, Outcome.SFTP_OTHER)
    return StepFailure(outcome, text or f"SFTP status {code}")


def split_into_pieces(data: bytes, size: int | None) -> Iterator[bytes]:
    """Yield `data` in pieces of at most `size` bytes, or in one piece if `size` is None."""
    if size is None or len(data) <= size:
        yield data
        return
    for begin in range(0, len(data), size):
        yield data[begin : begin + size]


def read_by_scp(connection: Connection, path: str) -> RemoteFile:
    """Implement `Connection.scp_read`."""
    return begin_read(connection.open_channel(), path)


def write_by_scp(connection: Connection, path: str, size_bytes: int) -> RemoteFile:
    """Implement `Connection.scp_write`."""
    return begin_write(connection.open_channel(), path, size_bytes)


def begin_read(channel: Channel, path: str) -> RemoteFile:
    """Request a file, and read its announcement; raises StepFailure if the server announces none."""
    stream = _Stream(channel)
    channel.execute(f"scp -f {_operand(path)}")
    channel.write(_SCP_ACK)
    line = stream.read_line()
    if not line.startswith(_SCP_LETTERS):
        stream.fail(_not_from_scp(line))
    words = line.split(" ", _SCP_FILE_WORDS - 1)
    if len(words) != _SCP_FILE_WORDS or not words[0].startswith("C") or _SCP_SIZE.fullmatch(words[1]) is None:
        stream.fail("the server's scp announced no file")
    channel.write(_SCP_ACK)
    return _Reading(stream, int(words[1]))


def begin_write(channel: Channel, path: str, size_bytes: int) -> RemoteFile:
    """Announce a file; raises StepFailure if the server does not accept it."""
    stream = _Stream(channel)
    channel.execute(f"scp -t {_operand(path)}")
    stream.expect_ok()
    channel.write(f"C{_SCP_MODE} {size_bytes} {basename(path)}\n".encode())
    stream.expect_ok()
    return _Writing(stream)


class _Stream:
    """A channel to an scp program, from which bytes and lines can be read."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self._ahead = b""

    def read_some(self, most: int) -> bytes:
        """Return at least one byte and at most `most`."""
        taken = self._ahead or self.channel.read()
        if not taken:
            self.fail("the server's scp ended early")
        self._ahead = taken[most:]
        return taken[:most]

    def read_line(self) -> str:
        """Return a line without its newline; raises StepFailure if it is an error."""
        line = b""
        while not line.endswith(b"\n") and len(line) < _SCP_LINE_LIMIT_BYTES:
            line += self.read_some(1)
        if line[0] in (_SCP_WARNING, _SCP_ERROR):
            raise StepFailure(Outcome.SCP_FAILED, _text(line[1:]))
        return _text(line)

    def expect_ok(self) -> None:
        """Read a reply; raises StepFailure if it is an error."""
        answer = self.read_some(1)
        if answer != _SCP_ACK:
            self._ahead = answer + self._ahead
            self.fail(_not_from_scp(self.read_line()))

    def fail(self, message: str) -> NoReturn:
        """Raise StepFailure with the program's stderr, or with `message` if that is empty."""
        said = _text(self.channel.close().stderr)
        raise StepFailure(Outcome.SCP_FAILED, said or message)


class _Reading:
    """A file that the server sends (clients.interface.RemoteFile)."""

    def __init__(self, stream: _Stream, size_bytes: int) -> None:
        self._stream = stream
        self._left = size_bytes

    def read(self) -> bytes:
        piece = self._stream.read_some(self._left) if self._left else b""
        self._left -= len(piece)
        return piece

    def write(self, data: bytes) -> None:
        """Fail: the file is open for reading."""
        raise NotImplementedError

    def close(self) -> None:
        """Read the server's confirmation that it has sent everything, and end its scp."""
        self._stream.expect_ok()
        self._stream.channel.write(_SCP_ACK)
        _end(self._stream.channel)


class _Writing:
    """A file that the server receives (clients.interface.RemoteFile)."""

    def __init__(self, stream: _Stream) -> None:
        self._stream = stream

    def read(self) -> bytes:
        """Fail: the file is open for writing."""
        raise NotImplementedError

    def write(self, data: bytes) -> None:
        self._stream.channel.write(data)

    def close(self) -> None:
        """Wait for the server's confirmation that it has received everything, and end its scp."""
        self._stream.channel.write(_SCP_ACK)
        self._stream.expect_ok()
        self._stream.channel.send_end()
        _end(self._stream.channel)


def _end(channel: Channel) -> None:
    while channel.read():
        pass
    end = channel.close()
    if end.exit_code is None and not end.signal:
        raise StepFailure(Outcome.NO_EXIT_STATUS, NO_SCP_STATUS)
    if end.exit_code or end.signal:
        raise StepFailure(Outcome.SCP_FAILED, _text(end.stderr) or f"the server's scp ended {_how(end)}")


def _not_from_scp(line: str) -> str:
    shown = shortened(printable(line), _SHOWN_CHARACTERS)
    return f'the server sent "{shown}" before what its scp says: the user\'s start-up files (such as .bashrc) print it'


def _how(end: CommandEnd) -> str:
    return f"by signal {end.signal}" if end.signal else f"with exit code {end.exit_code or 0}"


def _operand(path: str) -> str:
    """Return a path quoted for the server's shell, as by OpenSSH's scp: with a leading hyphen it is not an option."""
    return f"-- {shlex.quote(path)}" if path.startswith("-") else shlex.quote(path)


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace").strip()
