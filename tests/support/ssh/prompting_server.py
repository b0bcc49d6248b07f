"""A hostile SSH server, by asyncssh: what it asks and says in a login is that of the user's name. A program, too.

It writes each answer that it gets to a file, one a line, after the user's name.
"""

import asyncio
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from free_ports import free_port

CHALLENGES: dict[str, tuple[str, list[str]]] = {
    "endless": ("", ["Password: "]),
    "storm": ("a message of PAM", []),
    "many": ("", ["Password: "] * 90),
    "most": ("", [""] * 6_000),
    "huge": ("", ["P" * 30_000]),
    "control": ("", ["\x1b[2J\x07Pass\r\n\tcode\x00 of \u202eroot: "]),
    "other": ("", ["Password: ", "Mother's name: "]),
    "expired": ("", ["Your password has expired.\nNew password: "]),
}
"""What each user is asked again and again: an instruction and prompts."""

PARTLY = "partly"
"""Of this user every method is accepted, and more is asked for."""
BANNERS = "banners"
"""This user gets texts without end."""
ECHOES = "echoes"
"""This user is told what was answered, in a text and in a prompt."""
CHANGE = "change"
"""This user is to change the password (RFC 4252 section 8)."""


@contextmanager
def prompting_server(host_key: Path, answers: Path) -> Iterator[int]:
    """Run it, and yield its port."""
    answers.touch()
    command = [sys.executable, __file__, str(host_key), str(answers), str(free_port())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield int(server.stdout.readline())
        finally:
            server.terminate()


async def _serve(host_key: str, answers: str, port: str) -> None:  # noqa: C901 - the callbacks of one server
    import asyncssh  # noqa: PLC0415 - only the program needs it, which gevent has not patched
    from asyncssh.connection import SSHServerConnection  # noqa: PLC0415 - likewise

    send_failure = SSHServerConnection.send_userauth_failure

    def partly(self: Any, partial_success: bool) -> None:  # noqa: FBT001 - asyncssh's signature
        send_failure(self, partial_success or self._username == PARTLY)

    SSHServerConnection.send_userauth_failure = partly  # type: ignore[method-assign]

    class Gate(asyncssh.SSHServer):
        connection: Any = None

        def connection_made(self, conn: Any) -> None:
            self.connection = conn

        def begin_auth(self, username: str) -> bool:
            if username == BANNERS:
                for number in range(5_000):
                    self.connection.send_auth_banner(f"text {number}\n" * 20)
            return True

        def public_key_auth_supported(self) -> bool:
            return True

        def validate_public_key(self, username: str, key: Any) -> bool:
            del username, key
            return False

        def password_auth_supported(self) -> bool:
            return True

        def validate_password(self, username: str, password: str) -> bool:
            del password
            if username == CHANGE:
                raise asyncssh.PasswordChangeRequired("Choose another one")
            return False

        def kbdint_auth_supported(self) -> bool:
            return True

        def get_kbdint_challenge(self, username: str, lang: str, submethods: str) -> Any:
            del lang, submethods
            instruction, prompts = CHALLENGES.get(username, ("", ["Password: "]))
            return "", instruction, "", [(prompt, False) for prompt in prompts]

        def validate_kbdint_response(self, username: str, responses: Sequence[str]) -> Any:
            with Path(answers).open("a", encoding="utf-8") as file:
                file.writelines(f"{username} {one}\n" for one in responses)
            if username == ECHOES:
                return "", f"not {responses[0]}", "", [(f"{responses[0]} is wrong, say another: ", False)]
            return username in CHALLENGES and self.get_kbdint_challenge(username, "", "")

    acceptor = await asyncssh.create_server(Gate, "127.0.0.1", int(port), server_host_keys=[host_key])
    print(acceptor.get_port(), flush=True)  # noqa: T201 - for whoever started this
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve(*sys.argv[1:]))
