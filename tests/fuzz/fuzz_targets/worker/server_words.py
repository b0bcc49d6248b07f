"""What a server's programs say inside of a session: scp, git-upload-pack, and ssh's log and stderr that tell of it.

Input: the name of a reader and a line end, a byte for the size of the pieces in which it comes, then what is said.
Oracle: only StepFailure is raised (TruncatedError for a pkt-line), with a message of its stated length. Each of what is
read is within what its protocol allows.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress

from sshload_contract.steps import TIMINGS
from sshload_contract.vocabulary import Timing
from sshload_worker.clients.file_protocols import begin_read, begin_write
from sshload_worker.clients.interface import CommandEnd
from sshload_worker.clients.openssh.log import LoginLog, failure, sftp_failure
from sshload_worker.outcomes import MESSAGE_LIMIT_CHARACTERS, StepFailure
from sshload_worker.scenario.steps.git_upload_pack import (
    PackCheck,
    PktLineReader,
    TruncatedError,
    fetch_request,
    pkt_line,
    read_advertisement,
)
from sshload_worker.scenario.steps.transfer import AwaitedText

_MOST_BYTES_OF_A_FILE = 10**19


class _Channel:
    """A channel on which this comes, in pieces (clients.interface.Channel)."""

    def __init__(self, said: bytes, piece_bytes: int) -> None:
        self._said = said
        self._piece_bytes = piece_bytes

    def request_terminal(self) -> None:
        """Do nothing."""

    def start_shell(self) -> None:
        """Do nothing."""

    def execute(self, command: str) -> None:
        """Do nothing."""

    def read(self) -> bytes:
        piece, self._said = self._said[: self._piece_bytes], self._said[self._piece_bytes :]
        return piece

    def write(self, data: bytes) -> None:
        """Do nothing."""

    def send_end(self) -> None:
        """Do nothing."""

    def close(self) -> CommandEnd:
        return CommandEnd(0, "", self._said[:100])


def seeds() -> Iterator[bytes]:
    """Yield what each of the programs says when all is well, and when it is not."""
    advertised = pkt_line(b"a" * 40 + b" HEAD\0ofs-delta object-format=sha1") + b"0000"
    for name, said in (
        (b"scp-read", b"C0644 5 name\nhello\0"),
        (b"scp-read", b"\1scp: no such file\n"),
        (b"scp-write", b"\0\0\0"),
        (b"git", advertised + pkt_line(b"NAK\n") + b"PACK" + b"\0" * 40),
        (b"git", pkt_line(b"ERR no such repository")),
        (b"ssh-log", b"debug1: Connection established.\r\ndebug1: kex: algorithm: curve25519-sha256\r\n"),
        (b"ssh-log", b"debug1: kex: client->server cipher: aes128-ctr MAC: <implicit> compression: none\n"),
        (b"ssh-error", b"kex_exchange_identification: banner line 0: Exceeded MaxStartups\n"),
        (b"ssh-error", b"ssh: connect to host a port 22: Connection refused\n"),
        (b"sftp-error", b'remote open("x"): No such file or directory\n'),
    ):
        yield name + b"\n\xff" + said
        yield name + b"\n\x03" + said


def check(data: bytes) -> None:
    """Let the reader read."""
    name, _, said = data.partition(b"\n")
    channel = _Channel(said[1:], max(said[:1] or b"\1"))
    try:
        _READERS.get(name, _ssh_error)(channel)
    except StepFailure as failed:
        _assert_bounded(failed)


def _assert_bounded(failed: StepFailure) -> None:
    assert len(failed.message) <= MESSAGE_LIMIT_CHARACTERS


def _scp_read(channel: _Channel) -> None:
    file = begin_read(channel, "path")
    read = 0
    while piece := file.read():
        read += len(piece)
    assert read < _MOST_BYTES_OF_A_FILE
    file.close()


def _scp_write(channel: _Channel) -> None:
    file = begin_write(channel, "path", 3)
    file.write(b"abc")
    file.close()


def _git(channel: _Channel) -> None:
    lines = PktLineReader(channel.read)
    with suppress(TruncatedError):
        advertised = read_advertisement(lines)
        check_of_pack = PackCheck(advertised.object_format)
        asked = PktLineReader(iter([fetch_request(advertised), b""]).__next__)
        assert asked.read_line()
        lines.read_line()
        while piece := lines.read_rest():
            check_of_pack.update(piece)
        check_of_pack.mismatch()


def _ssh_log(channel: _Channel) -> None:
    log = LoginLog()
    awaited = AwaitedText("debug1: ")
    came = False
    heard = b""
    while piece := channel.read():
        log.take(piece)
        heard += piece
        came = awaited.found_in(piece) or came
    log.end()
    assert came == (b"debug1: " in heard)
    log.negotiated()
    log.claim_killed()
    for step in (Timing.CONNECT, Timing.BANNER, Timing.KEX, Timing.AUTH, Timing.EXEC):
        _assert_bounded(failure(step, log.lines))


def _ssh_error(channel: _Channel) -> None:
    lines = channel.read().decode("utf-8", "replace").splitlines()
    for step in TIMINGS:
        _assert_bounded(failure(step, lines))


def _sftp_error(channel: _Channel) -> None:
    _assert_bounded(sftp_failure(channel.read().decode("utf-8", "replace")))


_READERS: Mapping[bytes, Callable[[_Channel], None]] = {
    b"scp-read": _scp_read,
    b"scp-write": _scp_write,
    b"git": _git,
    b"ssh-log": _ssh_log,
    b"ssh-error": _ssh_error,
    b"sftp-error": _sftp_error,
}
