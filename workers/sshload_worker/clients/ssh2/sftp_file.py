"""A file on the server, read and written over SFTP with many requests on the way at once."""

from typing import Any

from ssh2.utils import handle_error_codes
from sshload_contract.vocabulary import Step

from sshload_worker.clients.ssh2.sftp_requests import SftpRequests


class SSH2File:
    """An open file (clients.interface.RemoteFile).

    libssh2 asks for up to four times `read_bytes` ahead. It sends up to `write_bytes` ahead of the server's answers:
    each call of its write is given again what is not answered yet, and more behind it.
    """

    def __init__(self, requests: SftpRequests, path: str, handle: Any, read_bytes: int, write_bytes: int) -> None:
        self._requests = requests
        self._path = path
        self._handle = handle
        self._read_bytes = read_bytes
        self._write_bytes = write_bytes
        self._unanswered = b""

    def read(self) -> bytes:
        """Return the next piece, empty at the end."""
        piece: bytes = self._requests.done(Step.READ, self._path, self._try_read)
        return piece

    def write(self, data: bytes) -> None:
        """Send all of `data`, of which the last `write_bytes` may still wait for the server's answers."""
        self._send(data, self._write_bytes)

    def close(self) -> None:
        """Wait for the answers to all writes, and close the file."""
        self._send(b"", 0)
        self._requests.close(Step.CLOSE, self._path, self._handle)

    def _send(self, data: bytes, may_stay_bytes: int) -> None:
        pending = self._unanswered + data
        answered = 0
        while len(pending) - answered > may_stay_bytes:
            window = pending[answered : answered + self._write_bytes]
            answered += self._requests.done(Step.WRITE, self._path, self._try_write, window)
        self._unanswered = pending[answered:]

    def _try_read(self) -> bytes | int:
        count, data = self._handle.read(self._read_bytes)
        return data if count >= 0 else int(handle_error_codes(count))

    def _try_write(self, window: bytes) -> int:
        result, answered = self._handle.write(window)
        return int(answered or result)
