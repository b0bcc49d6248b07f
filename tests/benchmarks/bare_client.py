"""The least that a client of gevent and ssh2-python must do: the floor under the worker's cost.

It checks, counts and times nothing but the whole, and prints one line of JSON: operations, CPU and wall seconds of
them, and the most memory held. With `--hold`, it holds as many sessions as `--at-once` says, and tells their memory.
"""

import argparse
import json
import resource
import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import monotonic, process_time
from typing import Any

import gevent
from gevent import get_hub
from gevent import socket as gevent_socket
from ssh2 import session as ssh2_session
from ssh2.error_codes import LIBSSH2_ERROR_EAGAIN
from ssh2.session import Session
from ssh2.sftp import LIBSSH2_FXF_READ, LIBSSH2_SFTP_S_IRUSR, SFTP

_READ = 1
_WRITE = 2
_VERSION_LINE_BYTES = 255


class BareClient:
    """One session, driven by one greenlet."""

    def __init__(self, options: argparse.Namespace, key: bytes) -> None:
        self.options = options
        self.key = key
        self.socket = gevent_socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.connect((options.host, options.port))
        loop = get_hub().loop
        self.readable = loop.io(self.socket.fileno(), _READ)
        self.writable = loop.io(self.socket.fileno(), _WRITE)
        self.hub_wait = get_hub().wait
        self.socket.recv(_VERSION_LINE_BYTES, socket.MSG_PEEK)
        self.session = session = Session()
        session.set_blocking(False)
        for method, names in (
            (ssh2_session.LIBSSH2_METHOD_KEX, options.kex),
            (ssh2_session.LIBSSH2_METHOD_CRYPT_CS, options.ciphers),
            (ssh2_session.LIBSSH2_METHOD_CRYPT_SC, options.ciphers),
        ):
            if names:
                session.method_pref(method, names)
        self.until_done(session.handshake, self.socket)
        self.until_done(session.userauth_publickey_frommemory, options.user, key, "", None)
        self.sftp: SFTP | None = None

    def wait(self) -> None:
        """Let others run until the socket is as the session needs it."""
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        outbound = self.session.block_directions() & ssh2_session.LIBSSH2_SESSION_BLOCK_OUTBOUND
        self.hub_wait(self.writable if outbound else self.readable)

    def until_done(self, call: Callable[..., Any], *arguments: object) -> Any:
        """Call until the library has no need to wait."""
        result = call(*arguments)
        while result == LIBSSH2_ERROR_EAGAIN:
            self.wait()
            result = call(*arguments)
        return result

    def execute(self) -> None:
        """Run the command, and read its output."""
        channel = self.until_done(self.session.open_session)
        self.until_done(channel.execute, self.options.command)
        self.read_to_end(channel)
        self.until_done(channel.close)
        self.until_done(channel.wait_closed)
        if channel.get_exit_status():
            raise RuntimeError("the command failed")

    def read_file(self) -> None:
        """Read the file by SFTP."""
        if self.sftp is None:
            self.sftp = self.until_done(self.session.sftp_init)
        handle = self.until_done(self.sftp.open, self.options.path, LIBSSH2_FXF_READ, LIBSSH2_SFTP_S_IRUSR)
        self.read_to_end(handle)
        handle.close()

    def read_to_end(self, source: Any) -> None:
        """Read and drop what there is."""
        read, wait, size = source.read, self.wait, self.options.read_bytes
        count, _ = read(size)
        while count:
            if count == LIBSSH2_ERROR_EAGAIN:
                wait()
            elif count < 0:
                raise RuntimeError(f"read: error {count}")
            count, _ = read(size)

    def close(self) -> None:
        """Say goodbye and end the connection."""
        self.session.disconnect()
        self.readable.close()
        self.writable.close()
        self.socket.close()


def main() -> None:
    """Do the work, and print what it cost."""
    options = _options()
    key = options.key.read_bytes()
    if options.hold:
        print(json.dumps(_hold(options, key)))  # noqa: T201 - its output is what it is for
        return
    users = [_operation(options, key) for _ in range(options.at_once)]
    gevent.joinall([gevent.spawn(operation) for operation in users], raise_error=True)
    left = iter(range(options.operations))

    def work(operation: Callable[[], None]) -> None:
        for _ in left:
            operation()

    begin_s, begin_cpu_s = monotonic(), process_time()
    gevent.joinall([gevent.spawn(work, operation) for operation in users], raise_error=True)
    wall_s, cpu_s = monotonic() - begin_s, process_time() - begin_cpu_s
    rss_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    figures = {"operations": options.operations, "cpu_s": cpu_s, "wall_s": wall_s, "max_rss_bytes": rss_bytes}
    print(json.dumps(figures))  # noqa: T201 - likewise


def _operation(options: argparse.Namespace, key: bytes) -> Callable[[], None]:
    if options.work == "connect-exec":
        return partial(_connect_execute, options, key)
    client = BareClient(options, key)
    return client.execute if options.work == "exec" else client.read_file


def _connect_execute(options: argparse.Namespace, key: bytes) -> None:
    client = BareClient(options, key)
    client.execute()
    client.close()


def _hold(options: argparse.Namespace, key: bytes) -> dict[str, float]:
    _, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, most_files))
    BareClient(options, key).execute()
    before = _resident_bytes()
    held = []
    for _ in range(options.at_once):
        client = BareClient(options, key)
        client.execute()
        held.append(client)
    return {"sessions": len(held), "bytes_per_session": (_resident_bytes() - before) / len(held)}


def _resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", choices=("connect-exec", "exec", "sftp-read"), default="connect-exec")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--user", default="load")
    parser.add_argument("--key", type=Path, required=True)
    parser.add_argument("--command", default="true")
    parser.add_argument("--path", default="")
    parser.add_argument("--kex", default="")
    parser.add_argument("--ciphers", default="")
    parser.add_argument("--read-bytes", type=int, default=262_144)
    parser.add_argument("--at-once", type=int, default=1)
    parser.add_argument("--operations", type=int, default=100)
    parser.add_argument("--hold", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
