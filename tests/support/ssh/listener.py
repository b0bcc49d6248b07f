"""The part of inetd: `listener.py COMMAND...` takes connections at a free port of loopback, which it prints.

Each connection is the standard input and output of a COMMAND of its own.
"""

import socket
import subprocess
import sys
from collections.abc import Sequence


def listen(command: Sequence[str]) -> None:
    """Run the command for each connection, until this program is ended."""
    running: list[subprocess.Popen[bytes]] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        print(listening.getsockname()[1], flush=True)  # noqa: T201 - for who started it
        while True:
            connection, _ = listening.accept()
            with connection:
                running = [program for program in running if program.poll() is None]
                running.append(subprocess.Popen(command, stdin=connection.fileno(), stdout=connection.fileno()))


if __name__ == "__main__":
    listen(sys.argv[1:])
