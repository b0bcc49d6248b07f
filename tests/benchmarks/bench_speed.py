"""How fast the worker is, and how near to the limit: one table. `make bench` runs it, in about five minutes.

All clients use the same algorithms, but for those of the rows that say otherwise. The CPU is that of the client's
process alone; where clients are compared, their runs are interleaved. Each figure is a median, with least and most.
What the processes cost before and beside SSH is measured by `own_cost`. `make bench IMAGE=yes` measures the worker of
the image, and the least client with the image's Python and library: the table says which Python that was.
"""

import argparse
import getpass
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from cost import CIPHER, FILE_BYTES, HYBRID, KEX, SMALL_FILE_BYTES, Clients, Works
from held_pod import held_pod_row
from instructions import of_scenario, per_operation
from own_cost import recording_row, start_rows
from programs import ROOT, compiled, output, python_in, server_double
from record import machine, measured_on
from speed_rows import (
    Row,
    against_sshd,
    against_wire,
    cpu,
    held_memory,
    interleaved,
    make_key,
    rate,
    ratio,
    server_of,
)
from ssh_server import make_keys, ssh_server

_DOWNLOAD_BYTES = 134_217_728
_MB = 2**20
_PACKAGES = ("gevent", "greenlet", "locust", "ssh2-python")
_TELL_VERSIONS = """
import importlib.metadata, platform, sys
versions = [f"{name} {importlib.metadata.version(name)}" for name in sys.argv[1:]]
print(", ".join([f"Python {platform.python_version()}", *versions]))
"""


def main() -> None:
    """Measure and print."""
    options = _options()
    python = python_in(options.root.resolve()) if options.root else (sys.executable,)
    say("\n".join(_machine(options, python)))
    say("")
    warm_up_s = options.warm_up_seconds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.only != "sshd":
            with server_double() as server:
                key = make_key(folder)
                clients = Clients(server, "load", key, folder, compiled("go_client"), warm_up_s, python)
                show(against_double(clients, options))
        if options.only != "double":
            keys = make_keys(folder)
            with ssh_server(folder, keys) as sshd:
                clients = Clients(
                    server_of(sshd),
                    getpass.getuser(),
                    keys.user,
                    folder,
                    compiled("go_client"),
                    warm_up_s,
                    python,
                )
                show([against_sshd(clients, sshd, options.users, options.seconds)])
                if options.wire:
                    show([against_wire(clients, options.wire_users, options.seconds, guaranteed=True)])


def against_double(clients: Clients, options: argparse.Namespace) -> Iterator[Row]:
    """Measure against the cheap server."""
    works = Works(
        options.share, options.double_seconds, options.download_bytes, options.file_bytes, options.small_files
    )
    download, file = (f"{size / _MB:,.3g} MB" for size in (options.download_bytes, options.file_bytes))
    go_as_it_is = partial(clients.go, defaults=True)
    measures = (clients.product, clients.bare, clients.go, go_as_it_is)
    product, bare, go, go_default = interleaved(measures, works.connect_exec, options.repeats)
    yield Row("connect-exec, CPU", "0.65 ms", cpu(product))
    yield Row("connect-exec, CPU of Go", "", cpu(go))
    yield Row("connect-exec, worker / Go", "0.7 x", ratio(product, go))
    yield Row("connect-exec, worker / Go with its own algorithms", "", ratio(product, go_default))
    yield Row("connect-exec, worker / least client", "1.1 x", ratio(product, bare))
    yield Row("connect-exec, CPU of the least client", "", cpu(bare))
    yield Row("connect-exec per second and process", "1,300/s", rate(product))
    yield from with_hybrid(replace(clients, kex=HYBRID), works, options.repeats)
    product, bare, go = interleaved(measures[:3], works.exec, options.repeats)
    yield Row("exec on a live session, CPU", "0.08 ms", cpu(product))
    yield Row("exec on a live session, worker / least client", "1.3 x", ratio(product, bare))
    yield Row("exec on a live session, worker / Go", "1.0 x", ratio(product, go))
    yield Row("exec per second and process", "15,000/s", rate(product))
    product, bare, go = interleaved(measures[:3], works.download, options.repeats)
    yield Row(f"download of {download}, CPU", "", cpu(product))
    yield Row(f"download of {download}, worker / Go", "1.2 x", ratio(product, go))
    product, bare, go = interleaved(measures[:3], works.sftp_read, options.repeats)
    yield Row(f"SFTP read of {file}, 10 at once, CPU", "", cpu(product))
    yield Row(f"SFTP read of {file}, 10 at once, worker / Go", "1.1 x", ratio(product, go))
    product, go = interleaved((clients.product, clients.go), works.sftp_files, options.repeats)
    small = f"SFTP reads of {SMALL_FILE_BYTES:,} bytes, {options.small_files} over a subsystem"
    yield Row(f"{small}, CPU of one", "", cpu(product))
    yield Row(f"{small}, worker / Go", "0.9 x", ratio(product, go))
    yield from held_memory(clients, options.sessions)
    yield held_pod_row(clients, options.pod_sessions, options.held_seconds)
    yield from start_rows(clients, options.repeats)
    if options.root:  # what follows is of this Python
        return
    yield recording_row(options.repeats)
    if options.instructions:
        counted = per_operation(clients, works.connect_exec, 20)
        yield Row("connect-exec, least client", "", f"{counted / 1e6:.2f} M instructions")
        counted = per_operation(clients, works.download, 1)
        yield Row(f"download of {download}, least client", "", f"{counted / 1e6:.0f} M instructions")
        yield Row("exec, the scenario by itself", "", f"{of_scenario(1_000):,.0f} instructions")


def with_hybrid(clients: Clients, works: Works, repeats: int) -> Iterator[Row]:
    """Measure the handshake that today's clients make."""
    product, bare, go = interleaved((clients.product, clients.bare, clients.go), works.connect_exec, repeats)
    yield Row(f"with {HYBRID}, CPU", "", cpu(product))
    yield Row(f"with {HYBRID}, worker / Go", "0.75 x", ratio(product, go))
    yield Row(f"with {HYBRID}, worker / least client", "1.1 x", ratio(product, bare))


def show(rows: Iterable[Row]) -> None:
    """Print each row as soon as it is known."""
    for row in rows:
        say(f"| {row.what:<58} | {row.goal:>8} | {row.figure} |")


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)  # noqa: T201 - its output is what it is for


def _machine(options: argparse.Namespace, python: tuple[str, ...]) -> Iterator[str]:
    yield measured_on({what: value for what, value in machine().items() if what != "Python"})
    versions = output(*python, "-c", _TELL_VERSIONS, *_PACKAGES).strip()
    whose = "of the worker's image" if options.root else "of this machine"
    yield f"{versions}, Python {whose}, {_go_version()}, {_sshd_version()}"
    yield f"{KEX}, {CIPHER}, ed25519; {options.repeats} repeats"


def _go_version() -> str:
    return output(output(ROOT / "scripts/find-go").strip(), "version").split()[2]


def _sshd_version() -> str:
    said = subprocess.run(["/usr/sbin/sshd", "-V"], check=False, capture_output=True, text=True).stderr
    return next(line.partition(",")[0] for line in said.splitlines() if line.startswith("OpenSSH"))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--share", type=float, default=1.0, help="of the operations of the clients compared with")
    parser.add_argument("--double-seconds", type=float, default=3.0, help="of each run against the cheap server")
    parser.add_argument("--warm-up-seconds", type=float, default=1.0, help="of each run of the worker")
    parser.add_argument("--download-bytes", type=int, default=_DOWNLOAD_BYTES, help="of each download")
    parser.add_argument("--small-files", type=int, default=50, help="how many are read by SFTP over each subsystem")
    parser.add_argument("--file-bytes", type=int, default=FILE_BYTES, help="of each file that is read by SFTP")
    parser.add_argument("--sessions", type=int, default=5_000, help="how many to hold")
    parser.add_argument("--pod-sessions", type=int, default=10_000, help="how many to hold in a pod of two processes")
    parser.add_argument("--held-seconds", type=float, default=60.0, help="how long the pod that holds is watched")
    parser.add_argument("--users", type=int, default=50, help="users against the real sshd")
    parser.add_argument("--wire-users", type=int, default=10, help="users whose packets are looked at")
    parser.add_argument("--no-wire", dest="wire", action="store_false", help="leave the wire out, which needs root")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each run against the real sshd")
    parser.add_argument("--only", choices=("double", "sshd", ""), default="")
    parser.add_argument("--root", type=Path, help="the files of the worker's image, whose Python is measured")
    parser.add_argument("--no-instructions", dest="instructions", action="store_false", help="leave callgrind out")
    return parser.parse_args()


if __name__ == "__main__":
    main()
