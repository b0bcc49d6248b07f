"""An SSH server that knows one user by a password, because sshd knows only the machine's own. Run as a program too."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from free_ports import free_port

USER = "tester"
SAY_NO_STATUS = "say no status"
"""A command that succeeds, of which the server closes the channel without an exit status."""
PASSWORD = "correct horse battery staple"
_PASSWORD_VARIABLE = "SSHLOAD_TEST_PASSWORD"


@contextmanager
def password_server(host_key: Path, method: str, port: int = 0, password: str = PASSWORD) -> Iterator[int]:
    """Run a server that takes `password` or `keyboard-interactive` only, at a free port or this one; yield its port.

    A free one is nobody else's between two servers of this process, either.
    """
    command = [sys.executable, __file__, str(host_key), method, str(port or free_port())]
    environment = {**os.environ, _PASSWORD_VARIABLE: password}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        try:
            assert server.stdout is not None
            yield int(server.stdout.readline())
        finally:
            server.terminate()


async def _serve(host_key: str, method: str, port: str) -> None:
    import asyncssh  # noqa: PLC0415 - only the program needs it, which gevent has not patched

    class Gate(asyncssh.SSHServer):
        def password_auth_supported(self) -> bool:
            return method == "password"

        def validate_password(self, username: str, password: str) -> bool:
            return (username, password) == (USER, os.environ[_PASSWORD_VARIABLE])

        def kbdint_auth_supported(self) -> bool:
            return method == "keyboard-interactive"

        def get_kbdint_challenge(
            self, username: str, lang: str, submethods: str
        ) -> tuple[str, str, str, list[tuple[str, bool]]]:
            del username, lang, submethods
            return "", "", "", [("Secret: ", False)]

        def validate_kbdint_response(self, username: str, responses: Sequence[str]) -> bool:
            return (username, list(responses)) == (USER, [os.environ[_PASSWORD_VARIABLE]])

    def answer(process: "asyncssh.SSHServerProcess[str]") -> None:
        process.stdout.write("welcome\n")
        if process.command == SAY_NO_STATUS:
            process.close()
        else:
            process.exit(0)

    acceptor = await asyncssh.create_server(
        Gate,
        "127.0.0.1",
        int(port),
        server_host_keys=[host_key],
        process_factory=answer,
        server_version="PasswordServer",
    )
    print(acceptor.get_port(), flush=True)  # noqa: T201 - for whoever started this
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve(*sys.argv[1:]))
