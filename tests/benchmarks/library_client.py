"""One client library in threads or greenlets: each session does everything once, each operation timed.

It prints one line of JSON: the median milliseconds of each operation, and CPU seconds and memory of the process.
"""

import argparse
import sys

if "gevent" in sys.argv:
    from gevent import monkey

    monkey.patch_all()

import json
import resource
import socket
import threading
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import monotonic, process_time
from typing import Any

READ_BYTES = 262_144
_MS_PER_S = 1_000
_FOREVER_S = 300

Timed = Callable[[str, Callable[[], Any]], Any]


def by_ssh2_blocking(options: argparse.Namespace, timed: Timed) -> None:
    """Work with ssh2-python, which waits inside of the library without the interpreter's lock."""
    from ssh2.session import Session  # noqa: PLC0415 - only the library that is measured is imported
    from ssh2.sftp import LIBSSH2_FXF_READ, LIBSSH2_SFTP_S_IRUSR  # noqa: PLC0415

    connection, session = _connected(options), Session()

    def log_in() -> None:
        session.handshake(connection)
        session.userauth_publickey_frommemory(options.user, options.key.read_bytes(), "", None)

    def close() -> int:
        channel.close()
        channel.wait_closed()
        return int(channel.get_exit_status())

    timed("auth", log_in)
    channel = timed("channel open", session.open_session)
    timed("execute", lambda: channel.execute("true"))
    timed("read", lambda: _drained(channel.read))
    assert timed("close and exit status", close) == 0
    files = session.sftp_init()
    handle = files.open(options.path, LIBSSH2_FXF_READ, LIBSSH2_SFTP_S_IRUSR)
    timed("SFTP read of 11 MB", lambda: _drained(handle.read))
    handle.close()
    session.disconnect()


def by_ssh2_greenlets(options: argparse.Namespace, timed: Timed) -> None:
    """Work with ssh2-python, waiting by gevent."""
    from bare_client import BareClient  # noqa: PLC0415 - likewise

    client = timed("auth", lambda: BareClient(options, options.key.read_bytes()))
    channel = timed("channel open", lambda: client.until_done(client.session.open_session))
    timed("execute", lambda: client.until_done(channel.execute, "true"))
    timed("read", lambda: client.read_to_end(channel))

    def close() -> int:
        client.until_done(channel.close)
        client.until_done(channel.wait_closed)
        return int(channel.get_exit_status())

    assert timed("close and exit status", close) == 0
    timed("SFTP read of 11 MB", client.read_file)
    client.close()


def by_paramiko(options: argparse.Namespace, timed: Timed) -> None:
    """Work with paramiko, which has a thread for each connection, or a greenlet in its place."""
    from paramiko.ed25519key import Ed25519Key  # noqa: PLC0415 - likewise
    from paramiko.sftp_client import SFTPClient  # noqa: PLC0415
    from paramiko.transport import Transport  # noqa: PLC0415

    transport = Transport(_connected(options))
    transport.banner_timeout = transport.handshake_timeout = transport.auth_timeout = _FOREVER_S
    key = Ed25519Key.from_private_key_file(str(options.key))
    algorithms = transport.get_security_options()
    algorithms.kex = tuple(name for name in algorithms.kex if name.startswith(options.kex))
    algorithms.ciphers = (options.ciphers,)
    timed("auth", lambda: transport.connect(username=options.user, pkey=key))
    channel = timed("channel open", transport.open_session)
    timed("execute", lambda: channel.exec_command("true"))

    def drain() -> None:
        while channel.recv(READ_BYTES):
            pass

    def close() -> int:
        status = int(channel.recv_exit_status())
        channel.close()
        return status

    def read_file() -> None:
        with files.open(options.path, "rb") as file:
            file.prefetch()
            while file.read(READ_BYTES):
                pass

    timed("read", drain)
    assert timed("close and exit status", close) == 0
    files = SFTPClient.from_transport(transport)
    assert files is not None
    timed("SFTP read of 11 MB", read_file)
    transport.close()


def _connected(options: argparse.Namespace) -> socket.socket:
    connection = socket.create_connection((options.host, options.port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def _drained(read: Callable[[int], tuple[int, bytes]]) -> None:
    while read(READ_BYTES)[0] > 0:
        pass


def main() -> None:
    """Let all sessions work at once, and print what they took."""
    options = _options()
    work = {"paramiko": by_paramiko, "ssh2-python": by_ssh2_blocking}[options.library]
    if (options.library, options.mode) == ("ssh2-python", "gevent"):
        work = by_ssh2_greenlets
    taken_ms: defaultdict[str, list[float]] = defaultdict(list)

    def timed(name: str, call: Callable[[], Any]) -> Any:
        begin_s = monotonic()
        result = call()
        taken_ms[name].append((monotonic() - begin_s) * _MS_PER_S)
        return result

    def session() -> None:
        timed("total", lambda: work(options, timed))

    begin_s, begin_cpu_s = monotonic(), process_time()
    threads = [threading.Thread(target=session) for _ in range(options.sessions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    figures = {
        "wall_s": monotonic() - begin_s,
        "cpu_ms_per_session": (process_time() - begin_cpu_s) / options.sessions * _MS_PER_S,
        "max_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6,
        "median_ms": {name: median(values) for name, values in taken_ms.items()},
    }
    assert len(taken_ms["total"]) == options.sessions
    print(json.dumps(figures))  # noqa: T201 - its output is what it is for


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", choices=("ssh2-python", "paramiko"), required=True)
    parser.add_argument("--mode", choices=("threads", "gevent"), required=True)
    parser.add_argument("--sessions", type=int, required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--user", default="load")
    parser.add_argument("--key", type=Path, required=True)
    parser.add_argument("--path", required=True)
    parser.add_argument("--kex", required=True)
    parser.add_argument("--ciphers", required=True)
    parser.add_argument("--read-bytes", type=int, default=READ_BYTES)
    return parser.parse_args()


if __name__ == "__main__":
    main()
