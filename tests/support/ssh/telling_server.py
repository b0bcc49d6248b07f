"""An SSH server, asyncssh's, that tells how long the shared secret of each key exchange is. Run as a program too."""

import asyncio
import hashlib
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from select import select
from typing import IO


@dataclass(frozen=True, slots=True)
class Secret:
    """The shared secret K of one key exchange: its size, and a hash of it."""

    bits: int
    sha256: str


@dataclass(frozen=True, slots=True)
class TellingServer:
    """A running server, in which the keys may log in; a command says itself."""

    port: int
    _told: IO[str]

    def next_secret(self) -> Secret:
        """Return the secret of the next key exchange that was not told yet; wait for it."""
        bits, sha256 = self._told.readline().split()
        return Secret(int(bits), sha256)

    def drop_secrets(self) -> None:
        """Drop what was told so far."""
        while select([self._told], [], [], 0)[0]:
            self._told.readline()


@contextmanager
def telling_server(host_keys: Sequence[Path], authorized: Path) -> Iterator[TellingServer]:
    """Run a server with these host keys, in which whoever has a key of the file `authorized` may log in."""
    command: list[str | Path] = [sys.executable, __file__, authorized, *host_keys]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield TellingServer(int(server.stdout.readline()), server.stdout)
        finally:
            server.terminate()


async def _serve(authorized: str, host_keys: list[str]) -> None:
    import asyncssh  # noqa: PLC0415 - only the program needs it, which gevent has not patched
    from asyncssh.connection import SSHConnection  # noqa: PLC0415
    from asyncssh.encryption import get_encryption_algs  # noqa: PLC0415
    from asyncssh.kex import get_kex_algs  # noqa: PLC0415
    from asyncssh.mac import get_mac_algs  # noqa: PLC0415
    from asyncssh.public_key import get_public_key_algs  # noqa: PLC0415

    send_newkeys = SSHConnection.send_newkeys

    def tell(connection: SSHConnection, secret: bytes, exchange_hash: bytes) -> None:
        value = secret[4:].lstrip(b"\0")  # a string or mpint (RFC 4251 section 5)
        print(int.from_bytes(value, "big").bit_length(), hashlib.sha256(value).hexdigest(), flush=True)  # noqa: T201
        send_newkeys(connection, secret, exchange_hash)

    def answer(process: "asyncssh.SSHServerProcess[str]") -> None:
        process.stdout.write(process.command or "")
        process.exit(0)

    SSHConnection.send_newkeys = tell  # type: ignore[method-assign, assignment]
    acceptor = await asyncssh.listen(
        "127.0.0.1",
        0,
        server_host_keys=host_keys,
        authorized_client_keys=authorized,
        process_factory=answer,
        kex_algs=[name.decode() for name in get_kex_algs() if not name.startswith(b"gss-")],
        encryption_algs=[name.decode() for name in get_encryption_algs()],
        mac_algs=[name.decode() for name in get_mac_algs()],
        signature_algs=[name.decode() for name in get_public_key_algs()],
    )
    print(acceptor.get_port(), flush=True)  # noqa: T201 - for whoever started this
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1], sys.argv[2:]))
