"""ssh2-python against paramiko by operation, in threads and in greenlets. Writes docs/measurements/libraries.*."""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from cost import CIPHER, FILE_BYTES, KEX
from index_ssh2 import index_ssh2
from programs import server_double
from record import add_folder, keep, machine, table
from speed_rows import make_key

_OPERATIONS = ("auth", "channel open", "execute", "read", "close and exit status", "SFTP read of 11 MB", "total")
_KINDS = ("ssh2-python", "ssh2-python of the image", "paramiko")
_TITLE = "# Client libraries by operation"
_WHAT = """Each session logs in, runs a command, and reads a file of 11 MB over SFTP, all sessions at once, against a
cheap server on the same machine, by the same algorithms (curve25519-sha256, aes128-gcm, ed25519): so it is the clients
that are compared, and how they get in each other's way. Times are medians over the sessions, in milliseconds, of one
process. `ssh2-python` is the package index's wheel; `of the image` is the same version as the worker's image has it
(`ssh-library/README.md`).
`make bench WHAT=libraries` measures again; the figures behind the tables are in `libraries.json`."""


def main() -> None:
    """Measure all kinds at all sizes, print the tables, and keep them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 10, 50])
    parser.add_argument("--greenlets", type=int, nargs="+", default=[1, 10, 50, 200])
    add_folder(parser)
    options = parser.parse_args()
    where = machine("ssh2-python", "paramiko", "gevent", "cryptography")
    figures = []
    with tempfile.TemporaryDirectory() as name, server_double() as server:
        server_and_key = ("--port", str(server.port), "--key", str(make_key(Path(name))))
        index = index_ssh2(Path(name, "ssh2"))
        for mode, sizes in (("threads", options.threads), ("gevent", options.greenlets)):
            for sessions in sizes:
                for kind in _KINDS:
                    measured = measure(kind, index, "--mode", mode, "--sessions", str(sessions), *server_and_key)
                    figures.append({"library": kind, "mode": mode, "sessions": sessions, **measured})
    tables = [f"## In {mode}\n\n{_table(figures, mode)}" for mode in ("threads", "gevent")]
    keep(options.out / "libraries", where, [_TITLE, _WHAT, *tables], figures)
    print("\n\n".join(tables))  # noqa: T201 - its output is what it is for


def measure(kind: str, index: Path, *options: str) -> dict[str, Any]:
    """Run one process of one kind; `index` is where the package index's ssh2-python is imported from."""
    library, _, image = kind.partition(" of the ")
    command = [sys.executable, str(Path(__file__).with_name("library_client.py")), "--library", library, *options,
               "--path", str(FILE_BYTES), "--kex", KEX, "--ciphers", CIPHER]  # fmt: skip
    environment = {} if image else {"PYTHONPATH": str(index)}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return dict(json.loads(done.stdout))


def _table(figures: list[dict[str, Any]], mode: str) -> str:
    head = ("library, sessions", *_OPERATIONS, "CPU ms per session", "memory MB")
    rows = (
        (
            f"{figure['library']}, {figure['sessions']}",
            *(f"{figure['median_ms'][operation]:,.1f}" for operation in _OPERATIONS),
            f"{figure['cpu_ms_per_session']:,.1f}",
            f"{figure['max_rss_mb']:,.0f}",
        )
        for figure in figures
        if figure["mode"] == mode
    )
    return table(head, rows)


if __name__ == "__main__":
    main()
