"""The step that fetches a repository as `git clone` would, and the protocol of git-upload-pack.

The protocol is version 0 (gitprotocol-pack(5)), framed as pkt-lines.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from sshload_contract.steps import GitUploadPackStep
from sshload_contract.vocabulary import Outcome, Timing

from sshload_worker.clients.interface import Channel
from sshload_worker.outcomes import StepFailure
from sshload_worker.scenario.steps.command import check_end
from sshload_worker.scenario.steps.runners import StepMethods, times
from sshload_worker.scenario.steps.step_run import StepRun
from sshload_worker.scenario.steps.transfer import raise_mismatch, read_to_end

_PKT_LENGTH_BYTES = 4
_LONGEST_PKT_BYTES = 65_520
_HEXADECIMAL = frozenset(b"0123456789abcdefABCDEF")
FLUSH = b"0000"
_WANTED_CAPABILITIES = (b"ofs-delta",)
_OBJECT_FORMAT = b"object-format="
_PACK_START = b"PACK"
_BRANCH = b"refs/heads/"


class TruncatedError(Exception):
    """The server's output ended, possibly in the middle of a line."""


class PktLineReader:
    """Reads lines from a source that returns pieces of any length, empty at its end. Buffers a line and a piece."""

    def __init__(self, read: Callable[[], bytes]) -> None:
        self._read = read
        self._unread = bytearray()

    def read_line(self) -> bytes | None:
        """Return the next line's data, without a newline at its end, or None for a flush packet.

        Raises TruncatedError, and StepFailure if there is no pkt-line, or it is an error (`ERR `), with git's message.
        """
        length = _length(self._take(_PKT_LENGTH_BYTES))
        if length == 0:
            return None
        data = self._take(length - _PKT_LENGTH_BYTES).removesuffix(b"\n")
        if data.startswith(b"ERR "):
            raise StepFailure(Outcome.OUTPUT_MISMATCH, f"git: {_shown(data[4:])}")
        return data

    def read_rest(self) -> bytes:
        """Return the next piece of the data after the lines, empty at the end."""
        if not self._unread:
            return self._read()
        piece = bytes(self._unread)
        self._unread.clear()
        return piece

    def _take(self, count: int) -> bytes:
        while len(self._unread) < count:
            piece = self._read()
            if not piece:
                raise TruncatedError
            self._unread += piece
        taken = bytes(self._unread[:count])
        del self._unread[:count]
        return taken


def pkt_line(data: bytes) -> bytes:
    """Return the pkt-line of this data."""
    return b"%04x" % (len(data) + _PKT_LENGTH_BYTES) + data


def _length(digits: bytes) -> int:
    length = int(digits, 16) if _HEXADECIMAL.issuperset(digits) else -1
    if length in range(1, _PKT_LENGTH_BYTES) or not 0 <= length <= _LONGEST_PKT_BYTES:
        raise StepFailure(Outcome.OUTPUT_MISMATCH, f"the output is not git's protocol: {_shown(digits)!r}")
    return length


def _shown(text: bytes) -> str:
    return text.decode("utf-8", "replace").strip()


@dataclass(frozen=True, slots=True)
class Advertisement:
    """A repository's HEAD, and the server's capabilities. `object_format` is the name of the hash (sha1)."""

    head: bytes
    capabilities: tuple[bytes, ...]
    object_format: str


def upload_pack_command(repository: str) -> str:
    """Return the command that git's own client sends, with the path quoted in the same way (sq_quote in quote.c)."""
    quoted = "".join(f"'\\{character}'" if character in "'!" else character for character in repository)
    return f"git-upload-pack '{quoted}'"


def read_advertisement(lines: PktLineReader) -> Advertisement:
    """Read all refs; raises StepFailure if there is no HEAD, and TruncatedError as `lines` does."""
    head, capabilities, first = b"", b"", True
    branches = 0
    while (line := lines.read_line()) is not None:
        if first:
            line, _, capabilities = line.partition(b"\0")
            first = False
        name, _, ref = line.partition(b" ")
        if ref == b"HEAD":
            head = name
        branches += ref.startswith(_BRANCH)
    if not head:
        why = "the repository is empty: it has no HEAD"
        if branches:
            why = f"the repository has no HEAD: its HEAD names none of the {branches} branches (git symbolic-ref HEAD)"
        raise StepFailure(Outcome.OUTPUT_MISMATCH, why)
    words = tuple(capabilities.split())
    formats = [word.removeprefix(_OBJECT_FORMAT).decode("ascii", "replace") for word in words if _is_format(word)]
    return Advertisement(head, words, formats[0] if formats else "sha1")


def _is_format(capability: bytes) -> bool:
    return capability.startswith(_OBJECT_FORMAT)


def fetch_request(advertised: Advertisement) -> bytes:
    """Return the request for everything that HEAD reaches, from a client that has no objects."""
    able = [word for word in advertised.capabilities if word in _WANTED_CAPABILITIES or _is_format(word)]
    want = b" ".join([b"want", advertised.head, *able]) + b"\n"
    return pkt_line(want) + FLUSH + pkt_line(b"done\n")


class PackCheck:
    """Checks that a pack (gitformat-pack(5)) is complete: it ends with the digest of everything before it."""

    __slots__ = ("_digest", "_start", "_tail")

    def __init__(self, object_format: str) -> None:
        if object_format not in ("sha1", "sha256"):
            raise StepFailure(Outcome.OUTPUT_MISMATCH, f"unknown git object format {object_format!r}")
        self._digest = hashlib.new(object_format, usedforsecurity=False)
        self._start = b""
        self._tail = b""

    def update(self, piece: bytes) -> None:
        """Add the next piece of the pack."""
        if len(self._start) < len(_PACK_START):
            self._start += piece[: len(_PACK_START) - len(self._start)]
        seen = self._tail + piece
        self._digest.update(memoryview(seen)[: -self._digest.digest_size])
        self._tail = seen[-self._digest.digest_size :]

    def mismatch(self) -> str:
        """Return the defect of the pack, after its last piece; "" if there is none."""
        if self._start != _PACK_START:
            return "the output is not a git pack"
        if self._tail != self._digest.digest():
            return f"the pack ends with {self._tail.hex()}, its digest is {self._digest.hexdigest()}"
        return ""


@times(GitUploadPackStep)
def run_git_upload_pack(step: GitUploadPackStep, run: StepRun) -> None:
    """Fetch the repository; raises StepFailure if git refuses, or the pack is not complete."""
    with run.channel_limit():
        channel = run.time_part(step.name, Timing.CHANNEL_OPEN, run.connection.open_channel)
    with run.step_limit(step.kind):
        command = upload_pack_command(run.fill_in(step.repository))
        run.time_part(step.name, Timing.EXEC, partial(channel.execute, command))
        git = _UploadPackReader(channel)
        advertised = run.time_part(step.name, Timing.ADVERTISE, git.advertisement)
        check = PackCheck(advertised.object_format)
        channel.write(fetch_request(advertised))
        read = partial(read_to_end, run, step.name, step.kind, git.read_pack, check.update)
        run.time_part(step.name, Timing.READ, read)
        end = run.time_part(step.name, Timing.CLOSE, channel.close)
    check_end(end, 0)
    raise_mismatch(check.mismatch())


class _UploadPackReader:
    """Reads the output of git-upload-pack on a channel. If it ends early, its exit code and stderr are the failure."""

    __slots__ = ("_channel", "_lines", "_pack_begins")

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._lines = PktLineReader(channel.read)
        self._pack_begins = False

    def advertisement(self) -> Advertisement:
        """Return the server's advertisement of the repository."""
        try:
            return read_advertisement(self._lines)
        except TruncatedError:
            raise self._ended_early() from None

    def read_pack(self) -> bytes:
        """Return the next piece of the pack, empty at its end."""
        if not self._pack_begins:
            try:
                self._lines.read_line()  # NAK: no common objects
            except TruncatedError:
                raise self._ended_early() from None
            self._pack_begins = True
        return self._lines.read_rest()

    def _ended_early(self) -> StepFailure:
        try:
            check_end(self._channel.close(), 0)
        except StepFailure as failure:
            return failure
        return StepFailure(Outcome.OUTPUT_MISMATCH, "git's output ended too early")


class GitMethods(StepMethods):
    """The step that fetches a repository, for locustfiles."""

    def git_upload_pack(self, repository: str, *, name: str = "") -> None:
        """Fetch everything that HEAD of a repository reaches, as `git clone` would."""
        self._run(GitUploadPackStep(name, repository))
