"""SFTP by MINA SSHD (clients.interface.Sftp)."""

from sshload_contract.client import Client

from sshload_worker.clients.by_parts import read_file_by_parts
from sshload_worker.clients.interface import SftpRequest
from sshload_worker.clients.mina.conversation import Conversation, Request

_READ_BYTES = 261_120  # MINA SSHD takes no answer of more than 256 KiB, of which the content is a part
_WRITE_BYTES = 32_768


class MinaSftp:
    """The SFTP subsystem on its own channel, with one open file at a time."""

    read_file = read_file_by_parts

    def __init__(self, conversation: Conversation, client: Client) -> None:
        self._conversation = conversation
        self._read_bytes = client.sftp_read_bytes or _READ_BYTES
        self._write_bytes = client.sftp_write_bytes or _WRITE_BYTES

    def open_to_read(self, path: str) -> "MinaFile":
        self._conversation.ask(Request.OPEN_TO_READ, path, self._read_bytes)
        return MinaFile(self._conversation)

    def open_to_write(self, path: str) -> "MinaFile":
        self._conversation.ask(Request.OPEN_TO_WRITE, path, self._write_bytes)
        return MinaFile(self._conversation)

    def list_directory(self, path: str) -> int:
        return self._conversation.ask(Request.LIST, path).number()

    def stat(self, path: str) -> int:
        return self._conversation.ask(Request.STAT, path).number()

    def change(self, request: SftpRequest) -> None:
        self._conversation.ask(Request.CHANGE, request.kind, *request.fields)

    def close(self) -> None:
        self._conversation.close()


class MinaFile:
    """A file on the server, open for one direction (clients.interface.RemoteFile)."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    def read(self) -> bytes:
        return self._conversation.ask(Request.READ).data()

    def write(self, data: bytes) -> None:
        self._conversation.ask(Request.WRITE, data)

    def close(self) -> None:
        self._conversation.ask(Request.CLOSE_FILE)
