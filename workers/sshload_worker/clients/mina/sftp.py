"""SFTP by MINA SSHD (clients.interface.Sftp)."""

from collections.abc import Callable

from sshload_contract.client import Client

from sshload_worker.clients.by_parts import read_by_parts
from sshload_worker.clients.interface import Course, SftpRequest
from sshload_worker.clients.mina.conversation import Conversation, Request

_READ_BYTES = 261_120  # MINA SSHD takes no answer of more than 256 KiB, of which the content is a part
_WRITE_BYTES = 32_768


class MinaSftp:
    """The SFTP subsystem on its own channel, with one open file at a time."""

    def __init__(self, conversation: Conversation, client: Client) -> None:
        self._conversation = conversation
        self._read_bytes = client.sftp_read_bytes or _READ_BYTES
        self._write_bytes = client.sftp_write_bytes or _WRITE_BYTES

    def open_to_read(self, path: str) -> "MinaFile":
        """Open a file."""
        self._conversation.ask(Request.OPEN_TO_READ, path, self._read_bytes)
        return MinaFile(self._conversation)

    def read_file(self, path: str, take: Callable[[bytes], object], course: Course) -> None:
        """Open a file, pass each piece of it to `take`, and close it."""
        read_by_parts(lambda: self.open_to_read(path), take, course)

    def open_to_write(self, path: str) -> "MinaFile":
        """Open a file for writing, in place of an existing one."""
        self._conversation.ask(Request.OPEN_TO_WRITE, path, self._write_bytes)
        return MinaFile(self._conversation)

    def list_directory(self, path: str) -> int:
        """Read a whole directory, and return the number of its entries, without `.` and `..`."""
        return self._conversation.ask(Request.LIST, path).number()

    def stat(self, path: str) -> int:
        """Return a file's size in bytes."""
        return self._conversation.ask(Request.STAT, path).number()

    def change(self, request: SftpRequest) -> None:
        """Send a request, and wait for the status that answers it."""
        self._conversation.ask(Request.CHANGE, request.kind, *request.fields)

    def close(self) -> None:
        """End the subsystem and close its channel."""
        self._conversation.close()


class MinaFile:
    """A file on the server, open for one direction (clients.interface.RemoteFile)."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    def read(self) -> bytes:
        """Return the next piece, empty at the end."""
        return self._conversation.ask(Request.READ).data()

    def write(self, data: bytes) -> None:
        """Send all of `data`. Only after `close` is it certain that the server has it."""
        self._conversation.ask(Request.WRITE, data)

    def close(self) -> None:
        """Wait until all is written, and close the file."""
        self._conversation.ask(Request.CLOSE_FILE)
