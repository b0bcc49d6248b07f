"""SFTP by asyncssh: each read and write is split into requests that are in progress at once."""

from collections.abc import Callable
from functools import partial
from typing import Any

from asyncssh import sftp as library
from asyncssh.packet import String, UInt32
from sshload_contract.client import Client
from sshload_contract.vocabulary import Timing

from sshload_worker.clients.asyncssh.driver import Driver
from sshload_worker.clients.by_parts import read_by_parts
from sshload_worker.clients.file_protocols import split_into_pieces
from sshload_worker.clients.interface import Course, SftpRequest

_READ_BYTES = 4_194_304


class AsyncsshFile:
    """A remote file (clients.interface.RemoteFile)."""

    def __init__(self, driver: Driver, file: Any, client: Client) -> None:
        self._driver = driver
        self._file = file
        self._read_bytes = client.sftp_read_bytes or _READ_BYTES
        self._write_bytes = client.sftp_write_bytes

    def read(self) -> bytes:
        """Return the next piece, empty at the end."""
        piece: bytes = self._driver.run(Timing.READ, self._file.read(self._read_bytes))
        return piece

    def write(self, data: bytes) -> None:
        """Send all of `data`, and wait for the server's replies."""
        for piece in split_into_pieces(data, self._write_bytes):
            self._driver.run(Timing.WRITE, self._file.write(piece))

    def close(self) -> None:
        """Close the file."""
        self._driver.run(Timing.CLOSE, self._file.close())


class AsyncsshSftp:
    """The SFTP subsystem (clients.interface.Sftp)."""

    def __init__(self, driver: Driver, requests: library.SFTPClient, client: Client) -> None:
        self._driver = driver
        self._requests = requests
        self._client = client

    def open_to_read(self, path: str) -> AsyncsshFile:
        """Open a file."""
        return self._opened(path, "rb")

    def read_file(self, path: str, take: Callable[[bytes], object], course: Course) -> None:
        """Open a file, pass each piece of it to `take`, and close it."""
        read_by_parts(partial(self.open_to_read, path), take, course)

    def open_to_write(self, path: str) -> AsyncsshFile:
        """Open a file for writing, in place of an existing one."""
        return self._opened(path, "wb")

    def list_directory(self, path: str) -> int:
        """Read a whole directory, and return the number of its entries."""
        return self._driver.run(Timing.SFTP_LIST, self._count_entries(path.encode()))

    def stat(self, path: str) -> int | None:
        """Return a file's size in bytes, or None if the server does not tell it."""
        return self._driver.run(Timing.SFTP_STAT, self._requests.stat(path)).size

    def change(self, request: SftpRequest) -> None:
        """Send a request, and wait for the status that answers it."""
        fields = (UInt32(field) if isinstance(field, int) else String(field) for field in request.fields)
        handler = self._requests._handler  # noqa: SLF001 - asyncssh's own calls add requests of theirs
        self._driver.run(request.step, handler._make_request(request.kind, *fields))  # noqa: SLF001 - likewise

    def close(self) -> None:
        """End the subsystem and close its channel."""
        self._requests.exit()
        self._driver.run(Timing.CLOSE, self._requests.wait_closed())

    async def _count_entries(self, path: bytes) -> int:
        """Count entries without keeping them; for a path of bytes, asyncssh does not decode their names."""
        count = 0
        async for entry in self._requests.scandir(path):
            count += entry.filename not in (b".", b"..")
        return count

    def _opened(self, path: str, mode: str) -> AsyncsshFile:
        file = self._driver.run(Timing.OPEN, self._open(path, mode))
        return AsyncsshFile(self._driver, file, self._client)

    async def _open(self, path: str, mode: str) -> Any:
        return await self._requests.open(path, mode, encoding=None)
