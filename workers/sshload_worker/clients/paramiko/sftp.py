"""SFTP by paramiko, in the same way as its own get and put: reads are requested ahead, and writes are pipelined."""

from contextlib import suppress

from paramiko.message import Message
from paramiko.sftp import (
    CMD_CLOSE,
    CMD_HANDLE,
    CMD_NAME,
    CMD_OPEN,
    CMD_OPENDIR,
    CMD_READDIR,
    SFTP_OK,
    SFTPError,
)
from paramiko.sftp_attr import SFTPAttributes
from paramiko.sftp_client import SFTPClient
from paramiko.sftp_file import SFTPFile
from paramiko.ssh_exception import SSHException
from sshload_contract.client import Client
from sshload_contract.vocabulary import Outcome, Timing

from sshload_worker.clients.by_parts import read_file_by_parts
from sshload_worker.clients.file_protocols import END_OF_FILE, split_into_pieces, status_failure
from sshload_worker.clients.interface import SftpRequest
from sshload_worker.clients.paramiko.channel import ParamikoChannel
from sshload_worker.clients.paramiko.transport import Driver
from sshload_worker.outcomes import StepFailure

_READ_BYTES = 32_768  # the size of paramiko's own read requests
_OWN_ENTRIES = (b".", b"..")
_TO_READ = 0x01
_TO_REPLACE = 0x02 | 0x08 | 0x10  # write, create, truncate


class _SftpDriver(Driver):
    """The calls of an SFTP subsystem, which may end before the connection does."""

    def lost(self) -> StepFailure:
        """Return the failure of an SFTP subsystem that has ended."""
        if self.transport.is_active() and not self.transport.disconnect_text:
            return StepFailure(Outcome.SFTP_CONNECTION_LOST, "the server's SFTP subsystem has ended")
        return super().lost()


class _Requests(SFTPClient):
    """paramiko's requests, with errors that keep the status code."""

    def _convert_status(self, message: Message) -> None:
        code, text = message.get_int(), message.get_text()
        if code == END_OF_FILE:
            raise EOFError(text)
        if code != SFTP_OK:
            raise status_failure(code, text)

    def open_file(self, path: str, flags: int, mode: str) -> "_File":
        """Request a handle."""
        kind, message = self._request(CMD_OPEN, path, flags, SFTPAttributes())
        if kind != CMD_HANDLE:
            raise SFTPError("no handle")
        return _File(self, message.get_binary(), mode)

    def change(self, request: SftpRequest) -> None:
        """Send a request, and wait for the status that answers it."""
        self._request(request.kind, *request.fields)

    def count_entries(self, path: str) -> int:
        """Read a whole directory, and count its entries without keeping them, unlike paramiko's `listdir`."""
        kind, message = self._request(CMD_OPENDIR, path)
        if kind != CMD_HANDLE:
            raise SFTPError("no handle")
        handle, count = message.get_binary(), 0
        with suppress(EOFError):
            while True:
                count += self._count_names(handle)
        self._request(CMD_CLOSE, handle)
        return count

    def _count_names(self, directory: bytes) -> int:
        """Return how many names other than `.` and `..` the server's next answer has; raises EOFError at the end."""
        kind, message = self._request(CMD_READDIR, directory)
        if kind != CMD_NAME:
            raise SFTPError("no names")
        count = 0
        for _ in range(message.get_int()):
            name = message.get_binary()
            message.get_binary()  # a line for people
            SFTPAttributes._from_msg(message)  # noqa: SLF001 - paramiko has no other way to skip them
            if not name:
                raise SFTPError("fewer names than announced")
            count += name not in _OWN_ENTRIES
        return count


class _File(SFTPFile):
    """paramiko's file, which neither waits nor prints a traceback if the connection has ended."""

    def __del__(self) -> None:
        """Leave the handle open until the connection ends: only `finish` closes it."""

    def ask_ahead(self, request_bytes: int) -> None:
        """Request the whole file, in pieces of this size, if the server tells how large it is."""
        self.MAX_REQUEST_SIZE = request_bytes
        size = self.stat().st_size
        if size is not None:
            self.prefetch(size)

    def finish(self) -> None:
        """Wait for the replies to all writes, then close the handle; raises the server's error for either."""
        while self._reqs:
            self.sftp._read_response(self._reqs.popleft())  # noqa: SLF001 - paramiko's own close drops these replies
        self._closed = True
        self.sftp._request(CMD_CLOSE, self.handle)  # noqa: SLF001 - paramiko's own close drops this reply too

    def _prefetch_thread(self, *arguments: object) -> None:
        with suppress(EOFError, OSError, SSHException):  # the reader of the file notices it as well
            super()._prefetch_thread(*arguments)


class ParamikoFile:
    """A remote file (clients.interface.RemoteFile)."""

    def __init__(self, driver: Driver, file: _File, client: Client) -> None:
        self._driver = driver
        self._file = file
        self._read_bytes = client.sftp_read_bytes or _READ_BYTES
        self._write_bytes = client.sftp_write_bytes

    def read(self) -> bytes:
        piece: bytes = self._driver.call(Timing.READ, self._file.read, self._read_bytes)
        return piece

    def write(self, data: bytes) -> None:
        """Send all of `data`, without waiting for the server's reply."""
        for piece in split_into_pieces(data, self._write_bytes):
            self._driver.call(Timing.WRITE, self._file.write, piece)

    def close(self) -> None:
        self._driver.call(Timing.CLOSE, self._file.finish)


class ParamikoSftp:
    """The SFTP subsystem (clients.interface.Sftp)."""

    read_file = read_file_by_parts

    def __init__(self, driver: Driver, channel: ParamikoChannel, client: Client) -> None:
        self._driver = _SftpDriver(driver.transport)
        self._channel = channel
        self._client = client
        subsystem = channel.start_subsystem("sftp")
        self._requests: _Requests = driver.call(Timing.SUBSYSTEM, _Requests, subsystem)

    def open_to_read(self, path: str) -> ParamikoFile:
        """Open a file, and request all of it."""
        file = self._driver.call(Timing.OPEN, self._requests.open_file, path, _TO_READ, "r")
        self._driver.call(Timing.OPEN, file.ask_ahead, self._client.sftp_read_bytes or _READ_BYTES)
        return ParamikoFile(self._driver, file, self._client)

    def open_to_write(self, path: str) -> ParamikoFile:
        file = self._driver.call(Timing.OPEN, self._requests.open_file, path, _TO_REPLACE, "w")
        file.set_pipelined(True)
        return ParamikoFile(self._driver, file, self._client)

    def list_directory(self, path: str) -> int:
        return int(self._driver.call("sftpList", self._requests.count_entries, path))

    def stat(self, path: str) -> int | None:
        size: int | None = self._driver.call("sftpStat", self._requests.stat, path).st_size
        return size

    def change(self, request: SftpRequest) -> None:
        self._driver.call(request.step, self._requests.change, request)

    def close(self) -> None:
        self._channel.close()
