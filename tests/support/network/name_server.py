"""A name server on a loopback address of its own, and processes that ask it and no other."""

import random
import socket
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from gevent.server import DatagramServer

Answers = Mapping[str, Sequence[Sequence[str]]]
"""By name, the IPv4 addresses of the first answer, of the second and so on; the last one is given again and again."""

_PORT = 53  # the only one that resolv.conf(5) can mean
_HEADER = struct.Struct(">6H")
_QUESTION_END = struct.Struct(">2H")
_ADDRESS = struct.Struct(">HHHIH4s")
_ANSWER, _NO_SUCH_NAME = 0x8180, 0x8183
_NAME_OF_THE_QUESTION = 0xC00C
_TYPE_A, _CLASS_IN = 1, 1


class NameServer:
    """What it answers, for no longer than the moment, and the names whose IPv4 addresses it was asked for."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self.asked: list[str] = []
        self.address = ""
        self._server: DatagramServer | None = None

    def start(self) -> None:
        """Listen at an address that nobody else listens at."""
        while self._server is None:
            self.address = "127." + ".".join(str(random.randint(1, 254)) for _ in range(3))  # noqa: S311 - no secret
            server = DatagramServer((self.address, _PORT), self._answer)  # type: ignore[arg-type]  # typed as a stream's
            try:
                server.start()
            except OSError:
                continue
            self._server = server

    def stop(self) -> None:
        """Listen no more."""
        if self._server is not None:
            self._server.stop()

    def launcher(self, folder: Path, *options: str) -> list[str]:
        """Return what starts a process that asks this server, with more lines of resolv.conf(5)."""
        (folder / "resolv.conf").write_text("".join(f"{line}\n" for line in (f"nameserver {self.address}", *options)))
        (folder / "nsswitch.conf").write_text("hosts: files dns\n")
        mounts = "; ".join(f"mount --bind {folder / name} /etc/{name}" for name in ("resolv.conf", "nsswitch.conf"))
        return ["unshare", "--mount", "sh", "-ec", f'{mounts}; exec "$@"', "sh"]

    def _answer(self, query: bytes, source: tuple[str, int]) -> None:
        name, end = _name(query, _HEADER.size)
        kind, _ = _QUESTION_END.unpack_from(query, end)
        question = query[_HEADER.size : end + _QUESTION_END.size]
        addresses = self._next_answer(name) if kind == _TYPE_A else ()
        flags = _ANSWER if name in self._answers else _NO_SUCH_NAME
        number = _HEADER.unpack_from(query)[0]
        records = b"".join(
            _ADDRESS.pack(_NAME_OF_THE_QUESTION, _TYPE_A, _CLASS_IN, 0, 4, socket.inet_aton(address))
            for address in addresses
        )
        assert self._server is not None
        self._server.sendto(_HEADER.pack(number, flags, 1, len(addresses), 0, 0) + question + records, source)

    def _next_answer(self, name: str) -> Sequence[str]:
        answers = self._answers.get(name, ((),))
        times = self.asked.count(name)
        self.asked.append(name)
        return answers[min(times, len(answers) - 1)]


def _name(message: bytes, at: int) -> tuple[str, int]:
    """Return the name at a place of a message, in lower case, and where it ends."""
    labels: list[str] = []
    while length := message[at]:
        labels.append(message[at + 1 : at + 1 + length].decode("ascii").lower())
        at += 1 + length
    return ".".join(labels), at + 1


@contextmanager
def name_server(answers: Answers) -> Iterator[NameServer]:
    """Run a name server within the block."""
    server = NameServer(answers)
    server.start()
    try:
        yield server
    finally:
        server.stop()
