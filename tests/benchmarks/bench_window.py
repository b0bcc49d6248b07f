"""Windows and read sizes, by SCP and SFTP, near and far. Writes docs/measurements/windows.*."""

import argparse
import getpass
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from statistics import median
from typing import Any

from cost import CIPHER
from programs import delay_proxy
from record import add_folder, keep, machine, table
from ssh_server import SshServer, make_keys, ssh_server

_WINDOWS = (65_536, 262_144, 1_048_576, 2_097_152, 8_388_608, 39_845_888)
_READ_SIZES = (65_536, 262_144, 1_048_576, 2_097_152, 8_388_608, 16_777_216)
_ROUND_TRIPS_MS = (0, 20)
_TITLE = "# Windows and read sizes"
_WHAT = """One file is read from a real sshd by the worker's own client (ssh2-python as the worker's image has it,
aes128-gcm), once for each line and repeat, on one session; at 20 ms round trip through a proxy that delays each
direction and buffers without limit. By SCP the size is the channel's receive window (`client.windowSize`), by SFTP what
one read asks for (`client.sftpReadSize`), of which libssh2 keeps four on the way. Medians of the repeats.
`make bench WHAT=windows` measures again; the figures behind the tables are in `windows.json`."""


def main() -> None:
    """Measure every size, print the tables, and keep them."""
    options = _options()
    sizes = {"scp": options.windows, "sftp": options.read_sizes}
    where = machine("ssh2-python", "gevent")
    figures = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "file"
        file.write_bytes(os.urandom(1_000_000) * options.megabytes)
        with ssh_server(folder, make_keys(folder), "Subsystem sftp internal-sftp") as server:
            for round_trip_ms in options.round_trips_ms:
                delayed = delay_proxy(server.port, round_trip_ms / 2) if round_trip_ms else nullcontext(server.port)
                with delayed as port:
                    for protocol, of_protocol in sizes.items():
                        for size in of_protocol:
                            measured = [read(server, port, protocol, size, file) for _ in range(options.repeats)]
                            assert all(one["bytes"] == file.stat().st_size for one in measured)
                            figures.append({"protocol": protocol, "bytes": size, "round_trip_ms": round_trip_ms,
                                            "runs": measured})  # fmt: skip
    said = f"{_WHAT}\n\nThe file: {options.megabytes} MB; {options.repeats} repeats."
    tables = [
        f"## By {protocol.upper()}\n\n{_table(figures, protocol, of_protocol, options)}"
        for protocol, of_protocol in sizes.items()
    ]
    keep(options.out / "windows", where, [_TITLE, said, *tables], figures)
    print("\n\n".join(tables))  # noqa: T201 - its output is what it is for


def read(server: SshServer, port: int, protocol: str, size: int, file: Path) -> dict[str, Any]:
    """Read the file once."""
    known_hosts = file.with_name("known_hosts_of_proxy")
    known_hosts.write_text(f"[127.0.0.1]:{port} {server.keys.host.with_suffix('.pub').read_text()}")
    command = [sys.executable, str(Path(__file__).with_name("window_client.py")), "--protocol", protocol,
               "--bytes", str(size), "--path", str(file), "--port", str(port), "--user", getpass.getuser(),
               "--key", str(server.keys.user), "--known-hosts", str(known_hosts), "--cipher", CIPHER]  # fmt: skip
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return dict(json.loads(done.stdout))


def _table(figures: list[dict[str, Any]], protocol: str, sizes: Sequence[int], options: argparse.Namespace) -> str:
    head = ["window" if protocol == "scp" else "read size"]
    for round_trip_ms in options.round_trips_ms:
        head += [f"MB/s at {round_trip_ms} ms", f"CPU ms at {round_trip_ms} ms"]
    rows = []
    for size in sizes:
        row = [f"{size / 1024:,.0f} KiB" if size < 2**20 else f"{size / 2**20:,.0f} MiB"]
        for round_trip_ms in options.round_trips_ms:
            wanted = (protocol, size, round_trip_ms)
            found = (one for one in figures if (one["protocol"], one["bytes"], one["round_trip_ms"]) == wanted)
            runs = next(found)["runs"]
            row += [f"{options.megabytes / median(run['wall_s'] for run in runs):,.1f}",
                    f"{median(run['cpu_s'] for run in runs) * 1_000:,.0f}"]  # fmt: skip
        rows.append(row)
    return table(head, rows)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=32, help="size of the file")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--windows", type=int, nargs="+", default=_WINDOWS, help="bytes, by SCP")
    parser.add_argument("--read-sizes", type=int, nargs="+", default=_READ_SIZES, help="bytes, by SFTP")
    parser.add_argument("--round-trips-ms", type=int, nargs="+", default=_ROUND_TRIPS_MS)
    add_folder(parser)
    return parser.parse_args()


if __name__ == "__main__":
    main()
