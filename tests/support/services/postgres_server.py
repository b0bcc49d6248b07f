"""A PostgreSQL server of a test's own on loopback, of the installed package, run by an ordinary user.

Root runs it as the package's own user: PostgreSQL refuses to be root's.
"""

import getpass
import os
import pwd
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from free_ports import free_port

_WITHIN_S = 300.0
_POLL_S = 0.05
_USER = "gateway"
PASSWORD = "canary-of-the-database"


class PostgresServer:
    """A server that can be stopped and started again on its port, with its data."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The URL of its database, with the password."""
        return f"postgresql://{_USER}:{PASSWORD}@127.0.0.1:{self._port}/postgres"

    def make(self) -> None:
        """Make an empty database."""
        password = self._folder / "password"
        password.write_text(PASSWORD)
        options = ["--username", _USER, "--auth", "scram-sha-256", "--pwfile", str(password), "--no-sync"]
        command = [_program("initdb"), "--pgdata", str(self._folder / "data"), *options]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd="/", **_ordinary_user())

    def start(self) -> None:
        """Start it, and wait until it answers."""
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": self._port,
            "unix_socket_directories": "",
            "fsync": "off",
            "shared_buffers": "16MB",
        }
        words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        command = [_program("postgres"), "-D", str(self._folder / "data"), *words]
        log = self._folder / "log"
        with log.open("ab") as output:
            self._process = subprocess.Popen(command, stderr=output, cwd="/", **_ordinary_user())
        deadline_s = time.monotonic() + _WITHIN_S
        while not self._accepts() or "ready to accept connections" not in log.read_text().rpartition("starting")[2]:
            assert self._process.poll() is None, log.read_text()
            assert time.monotonic() < deadline_s, log.read_text()
            time.sleep(_POLL_S)

    def stop(self) -> None:
        """Stop it: it ends all connections."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait()
            self._process = None

    def empty(self) -> None:
        """Drop all tables."""
        statement = "DROP SCHEMA public CASCADE; CREATE SCHEMA public"
        subprocess.run([_program("psql"), "-q", "-c", statement, self.url], check=True, stderr=subprocess.DEVNULL)

    def _accepts(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self._port)).close()
        except OSError:
            return False
        return True


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """Run a server until the block ends."""
    with TemporaryDirectory(prefix="sshload-postgres-") as name:
        folder = Path(name)
        user = _ordinary_user().get("user")
        if user is not None:
            os.chown(folder, pwd.getpwnam(user).pw_uid, -1)
        server = PostgresServer(folder)
        server.make()
        server.start()
        try:
            yield server
        finally:
            server.stop()


def _ordinary_user() -> dict[str, Any]:
    return {"user": "postgres", "group": "postgres", "extra_groups": []} if getpass.getuser() == "root" else {}


def _program(name: str) -> str:
    """Return the newest installed version's program."""
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: float(path.parts[-3]))
    assert found, "install the package postgresql"
    return str(found[-1])
