"""An SSH server by asyncssh, for tests, that lets any user in with the keys: `AUTHORIZED_KEYS PORT HOSTKEY...`.

It listens on this port of loopback (0: on a free one), which it prints. asyncssh serves SFTP, scp and forwards itself;
a command or shell is what this program runs.
"""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE
from contextlib import suppress
from signal import Signals
from typing import Any

import asyncssh

_MOST_BYTES = 65_536


class _Server(asyncssh.SSHServer):
    """Lets everybody have forwards."""

    def connection_requested(self, dest_host: str, dest_port: int, orig_host: str, orig_port: int) -> bool:
        """Allow it, and leave it to asyncssh."""
        del dest_host, dest_port, orig_host, orig_port
        return True


async def _pass_on(source: Any, target: Any) -> None:
    """Copy bytes to the end of the source, which ends the target."""
    with suppress(OSError, asyncssh.Error):  # who reads has gone
        while piece := await source.read(_MOST_BYTES):
            target.write(piece)
            await target.drain()
        target.write_eof()


async def _run(process: "asyncssh.SSHServerProcess[bytes]") -> None:
    """Run a command, or a shell, without a terminal."""
    command = ["-c", process.command] if process.command else []
    user = process.get_extra_info("username")
    program = await asyncio.create_subprocess_exec(
        "/bin/sh", *command, stdin=PIPE, stdout=PIPE, stderr=PIPE, env={**os.environ, "SSH_USER": user}
    )
    said = asyncio.create_task(_pass_on(process.stdin, program.stdin))
    await asyncio.gather(_pass_on(program.stdout, process.stdout), _pass_on(program.stderr, process.stderr))
    code = await program.wait()
    said.cancel()
    if code < 0:
        process.exit_with_signal(Signals(-code).name.removeprefix("SIG"))
    else:
        process.exit(code)


async def _serve(authorized_keys: str, port: str, *host_keys: str) -> None:
    server = await asyncssh.listen(
        "127.0.0.1",
        int(port),
        server_factory=_Server,
        server_host_keys=[
            asyncssh.read_private_key(path) for path in host_keys
        ],  # of names, each login reads the files
        authorized_client_keys=asyncssh.read_authorized_keys(authorized_keys),
        process_factory=_run,
        sftp_factory=True,
        allow_scp=True,
        encoding=None,
        line_editor=False,
    )
    print(server.get_port(), flush=True)  # noqa: T201 - for who started it
    await server.wait_closed()


if __name__ == "__main__":
    asyncio.run(_serve(*sys.argv[1:]))
