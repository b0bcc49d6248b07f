"""The SFTP subsystem of a libssh2 session, its files, and its requests, many of which may be in progress at once."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final

from ssh2.channel import Channel
from ssh2.error_codes import LIBSSH2_ERROR_EAGAIN
from ssh2.exceptions import (
    AllocError,
    BufferTooSmallError,
    ChannelFailure,
    ChannelPacketExceeded,
    SFTPProtocolError,
    SSH2Error,
)
from ssh2.file_reading import FileReading
from ssh2.nonblocking import close_file, has_ended, last_error_text, own_file, take_channel
from ssh2.sftp import (
    LIBSSH2_FXF_CREAT,
    LIBSSH2_FXF_READ,
    LIBSSH2_FXF_TRUNC,
    LIBSSH2_FXF_WRITE,
    LIBSSH2_SFTP_ATTR_SIZE,
    SFTP,
)
from ssh2.sftp_handle import SFTPAttributes, SFTPHandle
from ssh2.utils import handle_error_codes
from sshload_contract.client import Client
from sshload_contract.vocabulary import Outcome, Timing

from sshload_worker.clients.file_protocols import status_failure
from sshload_worker.clients.interface import Course, SftpRequest, SftpType
from sshload_worker.clients.ssh2.driver import Driver
from sshload_worker.outcomes import StepFailure

_LENGTH_ERRORS = (AllocError, BufferTooSmallError, ChannelPacketExceeded)
"""libssh2's errors for packets of an impossible length. AllocError is one of them."""

_STATUS_TEXTS = {
    2: "no such file",
    3: "permission denied",
    4: "failure",
    5: "bad message",
    6: "no connection",
    7: "connection lost",
    8: "operation unsupported",
}

_DEFAULT_TRANSFER_BYTES = 262_144
_FIRST_READ_BYTES = 15_000
"""libssh2 requests four times as much, in two requests: one for a small file's content, one that finds its end."""

_READ_GROWTH = 4
_SUBSYSTEM_REFUSED = "subsystem"
_FILE_MODE = 0o644


def _permissions(flags: int, mode: int) -> SFTPAttributes:
    attributes = SFTPAttributes()
    attributes.flags, attributes.permissions = flags, mode
    return attributes


_CALLS: Final[Mapping[SftpType, Callable[..., Any]]] = {
    SftpType.REMOVE: SFTP.unlink,
    SftpType.MKDIR: lambda sftp, path, _, mode: sftp.mkdir(path, mode),
    SftpType.RMDIR: SFTP.rmdir,
    SftpType.RENAME: SFTP.rename,
    SftpType.SYMLINK: SFTP.symlink,
    SftpType.SETSTAT: lambda sftp, path, flags, mode: sftp.setstat(path, _permissions(flags, mode)),
}
"""libssh2's call for each request, with the request's fields."""

_NAME_BYTES = 4_096
_OWN_ENTRIES = (b".", b"..")


class _SftpRequests:
    """The requests of one subsystem, and the files and directories that they opened."""

    def __init__(self, driver: Driver, sftp: SFTP) -> None:
        self.driver = driver
        self._sftp = sftp
        self._handles: set[SFTPHandle] = set()
        self._readings: set[Any] = set()
        self._channel: Channel | None = None
        driver.subsystems.add(self)

    def done(self, step: str, path: str, attempt: Callable[..., Any], *arguments: object) -> Any:
        """Call `attempt` until it is done, and return its result. Raises StepFailure if the server returns an error."""
        return self.driver.until_done(step, self._try_request, path, attempt, *arguments)

    def close(self, step: str, path: str, handle: SFTPHandle) -> None:
        """Close a file or directory; raises StepFailure if the server returns an error."""
        self._handles.remove(handle)
        self.done(step, path, close_file, handle)
        self.driver.forget(handle)

    def read(self, path: str, client: Client, take: Callable[[bytes], object], course: Course) -> None:
        """Open a file, pass each piece of it to `take`, and close it."""
        most_bytes = client.sftp_read_bytes or _DEFAULT_TRANSFER_BYTES
        first_bytes = client.sftp_read_bytes or _FIRST_READ_BYTES
        reading = FileReading(self._sftp, path, first_bytes, _READ_GROWTH, most_bytes)
        self._readings.add(reading)
        try:
            while (piece := self.done(Timing.READ, path, reading.advance)) is not None:
                take(piece)
        finally:
            course.started_ns, course.first_byte_ns = reading.opened_ns, reading.first_byte_ns
            course.output_end_ns, course.closed_ns = reading.output_end_ns, reading.closed_ns
        self._readings.remove(reading)

    def end(self) -> Channel:
        """Give up the subsystem, and return the channel that it ends with. No other method may be called after that."""
        if self._channel is None:
            self.driver.subsystems.discard(self)
            for handle in self._handles:
                self.driver.forget(handle)
            self._channel = take_channel(self._sftp)
            self.driver.keep(self._channel)
            self.driver.forget(self._sftp)
        return self._channel

    def free(self) -> None:
        """Free the files that are still open, once the connection has ended."""
        while self._handles:
            with suppress(SSH2Error):  # the server can no longer close them
                close_file(self._handles.pop())
        while self._readings:
            self._readings.pop().free()

    def _try_request(self, path: str, attempt: Callable[..., Any], *arguments: object) -> Any:
        try:
            result = attempt(*arguments)
        except SFTPProtocolError:
            code = self._sftp.last_error()
        except _LENGTH_ERRORS:
            code = 0
        else:
            if result == LIBSSH2_ERROR_EAGAIN and has_ended(self._sftp):
                raise StepFailure(Outcome.SFTP_CONNECTION_LOST, f"{path}: the server's SFTP subsystem has ended")
            if isinstance(result, SFTPHandle):
                own_file(result)
                self._handles.add(result)
            return result
        text = last_error_text(self.driver.session)
        if code == 0:  # an invalid packet in place of a status
            raise StepFailure(Outcome.SFTP_BAD_MESSAGE, f"{path}: {text}")
        raise status_failure(code, f"{path}: {_STATUS_TEXTS.get(code, f'status {code}')}")


def _try_end(requests: _SftpRequests) -> int:
    """Close a subsystem's channel, and the subsystem with it: return 0 once that is done, or EAGAIN."""
    channel = requests.end()
    result = int(channel.close())
    if result == 0:
        requests.driver.forget(channel)
    return result


class SSH2File:
    """An open file (clients.interface.RemoteFile).

    libssh2 requests up to four times the read size ahead. If the client sets no read size, the first read requests
    little, because requests beyond the end of a small file cost both sides time, and each later read requests more.

    libssh2 sends up to one write size ahead of the server's replies. Each call of its write gets the data without a
    reply again, followed by new data.
    """

    def __init__(self, requests: _SftpRequests, path: str, handle: Any, client: Client) -> None:
        self._requests = requests
        self._path = path
        self._handle = handle
        self._most_read_bytes = client.sftp_read_bytes or _DEFAULT_TRANSFER_BYTES
        self._read_bytes = client.sftp_read_bytes or _FIRST_READ_BYTES
        self._write_bytes = client.sftp_write_bytes or _DEFAULT_TRANSFER_BYTES
        self._unanswered = b""

    def read(self) -> bytes:
        """Return the next piece, empty at the end."""
        piece: bytes = self._requests.done(Timing.READ, self._path, self._try_read)
        self._read_bytes = min(_READ_GROWTH * self._read_bytes, self._most_read_bytes)
        return piece

    def write(self, data: bytes) -> None:
        """Send all of `data`. The last bytes, up to the write size, may still have no reply from the server."""
        self._send(data, self._write_bytes)

    def close(self) -> None:
        """Wait for the replies to all writes, and close the file."""
        self._send(b"", 0)
        self._requests.close(Timing.CLOSE, self._path, self._handle)

    def _send(self, data: bytes, may_stay_bytes: int) -> None:
        pending = self._unanswered + data
        answered = 0
        while len(pending) - answered > may_stay_bytes:
            window = pending[answered : answered + self._write_bytes]
            answered += self._requests.done(Timing.WRITE, self._path, self._try_write, window)
        self._unanswered = pending[answered:]

    def _try_read(self) -> bytes | int:
        count, data = self._handle.read(self._read_bytes)
        return data if count >= 0 else int(handle_error_codes(count))

    def _try_write(self, window: bytes) -> int:
        result, answered = self._handle.write(window)
        return int(answered or result)


def open_sftp(driver: Driver, client: Client) -> "SSH2Sftp":
    """Open a channel with the SFTP subsystem; raises StepFailure if the server refuses either."""
    return SSH2Sftp(driver, driver.until_opened(Timing.CHANNEL_OPEN, partial(_try_open, driver)), client)


def _try_open(driver: Driver) -> Any:
    try:
        return driver.session.sftp_init()
    except ChannelFailure:
        text = last_error_text(driver.session)
        if driver.descriptor.peer_has_closed():  # libssh2 raises the same error for this
            raise StepFailure(Outcome.DISCONNECTED, "the server closed the connection") from None
        if _SUBSYSTEM_REFUSED in text:
            raise StepFailure(Outcome.EXEC_REJECTED, text) from None
        raise
    except (SFTPProtocolError, *_LENGTH_ERRORS):
        raise StepFailure(Outcome.SFTP_BAD_MESSAGE, "the server's SFTP subsystem does not speak SFTP") from None


def _try_next_name(read_entry: Callable[[int], tuple[int, bytes, Any]]) -> bytes | int:
    """Return the next name in a directory, empty at the end."""
    count, name, _ = read_entry(_NAME_BYTES)
    return name if count >= 0 else int(handle_error_codes(count))


class SSH2Sftp:
    """The subsystem (clients.interface.Sftp)."""

    def __init__(self, driver: Driver, sftp: Any, client: Client) -> None:
        self._driver = driver
        self._sftp = sftp
        self._requests = _SftpRequests(driver, sftp)
        self._client = client
        self._closed = False

    def __del__(self) -> None:
        if not self._closed:
            self._driver.abandon(_try_end, self._requests)

    def open_to_read(self, path: str) -> SSH2File:
        """Open a file."""
        return self._opened(path, LIBSSH2_FXF_READ)

    def read_file(self, path: str, take: Callable[[bytes], object], course: Course) -> None:
        """Open a file, pass each piece of it to `take`, and close it."""
        self._requests.read(path, self._client, take, course)

    def open_to_write(self, path: str) -> SSH2File:
        """Open a file for writing, in place of an existing one."""
        return self._opened(path, LIBSSH2_FXF_WRITE | LIBSSH2_FXF_CREAT | LIBSSH2_FXF_TRUNC)

    def list_directory(self, path: str) -> int:
        """Read a whole directory, and return the number of its entries, without `.` and `..`."""
        request = partial(self._requests.done, "sftpList", path)
        handle = request(self._sftp.opendir, path)
        next_name = partial(request, _try_next_name, handle._readdir)  # noqa: SLF001 - readdir() hides errors
        entries, name = 0, next_name()
        while name:
            entries += name not in _OWN_ENTRIES
            name = next_name()
        self._requests.close("sftpList", path, handle)
        return entries

    def stat(self, path: str) -> int | None:
        """Return a file's size in bytes, or None if the server does not tell it."""
        attributes = self._requests.done("sftpStat", path, self._sftp.stat, path)
        return int(attributes.filesize) if attributes.flags & LIBSSH2_SFTP_ATTR_SIZE else None

    def change(self, request: SftpRequest) -> None:
        """Send a request, and wait for the status that answers it."""
        self._requests.done(request.step, request.path, _CALLS[request.kind], self._sftp, *request.fields)

    def close(self) -> None:
        """End the subsystem, and wait until the server has closed its channel."""
        until_done, channel = self._driver.until_done, self._requests.end()
        until_done(Timing.CLOSE, channel.close)
        until_done(Timing.CLOSE, channel.wait_eof)
        until_done(Timing.CLOSE, channel.wait_closed)
        self._closed = True
        self._driver.forget(channel)

    def _opened(self, path: str, flags: int) -> SSH2File:
        handle = self._requests.done(Timing.OPEN, path, self._sftp.open, path, flags, _FILE_MODE)
        return SSH2File(self._requests, path, handle, self._client)
