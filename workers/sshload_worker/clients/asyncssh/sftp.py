"""SFTP by asyncssh: each read and write is split into requests that are in progress at once."""

from typing import Any

from asyncssh import sftp as library
from asyncssh.packet import String, UInt32
from sshload_contract.client import Client
from sshload_contract.vocabulary import Timing

from sshload_worker.clients.asyncssh.driver import Driver
from sshload_worker.clients.by_parts import read_file_by_parts
from sshload_worker.clients.file_protocols import split_into_pieces
from sshload_worker.clients.interface import SftpRequest

_READ_BYTES = 4_194_304


class AsyncsshFile:
    """A remote file (clients.interface.RemoteFile)."""

    def __init__(self, driver: Driver, file: Any, client: Client) -> None:
        self._driver = driver
        self._file = file
        self._read_bytes = client.sftp_read_bytes or _READ_BYTES
        self._write_bytes = client.sftp_write_bytes

    def read(self) -> bytes:
        piece: bytes = self._driver.run(Timing.READ, self._file.read(self._read_bytes))
        return piece

    def write(self, data: bytes) -> None:
        """Send all of `data`, and wait for the server's replies."""
        for piece in split_into_pieces(data, self._write_bytes):
            self._driver.run(Timing.WRITE, self._file.write(piece))

    def close(self) -> None:
        self._driver.run(Timing.CLOSE, self._file.close())


class AsyncsshSftp:
    """The SFTP subsystem (clients.interface.Sftp)."""

    read_file = read_file_by_parts

    def __init__(self, driver: Driver, requests: library.SFTPClient, client: Client) -> None:
        self._driver = driver
        self._requests = requests
        self._client = client

    def open_to_read(self, path: str) -> AsyncsshFile:
        return self._opened(path, "rb")

    def open_to_write(self, path: str) -> AsyncsshFile:
        return self._opened(path, "wb")

    def list_directory(self, path: str) -> int:
        return self._driver.run("sftpList", self._count_entries(path.encode()))

    def stat(self, path: str) -> int | None:
        return self._driver.run("sftpStat", self._requests.stat(path)).size

    def change(self, request: SftpRequest) -> None:
        fields = (UInt32(field) if isinstance(field, int) else String(field) for field in request.fields)
        handler = self._requests._handler  # noqa: SLF001 - asyncssh's own calls add requests of theirs
        self._driver.run(request.step, handler._make_request(request.kind, *fields))  # noqa: SLF001 - likewise

    def close(self) -> None:
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
