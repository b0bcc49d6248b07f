"""Reads one file by the worker's own client, with the window or SFTP read size given; prints wall and CPU seconds."""

from gevent import monkey

monkey.patch_all()

import argparse  # noqa: E402 - nothing may be imported before the patch
import json  # noqa: E402
from dataclasses import replace  # noqa: E402
from pathlib import Path  # noqa: E402
from time import monotonic, process_time  # noqa: E402

from run_configs import NOWHERE, arrivals, client, run_config  # noqa: E402
from sshload_worker.clients.interface import RemoteFile  # noqa: E402
from sshload_worker.clients.libraries import new_connection  # noqa: E402
from sshload_worker.scenario.target_login import prepare_login, resolve_first_hop  # noqa: E402


def main() -> None:
    """Log in, read the file to its end, and print what that took."""
    options = _options()
    target = replace(
        NOWHERE,
        host="127.0.0.1",
        port=options.port,
        user=options.user,
        private_key_path=str(options.key),
        known_hosts_path=str(options.known_hosts),
    )
    config = run_config(target, arrivals(rate=1, seconds=1))
    sizes = {"window_bytes": options.bytes} if options.protocol == "scp" else {"sftp_read_bytes": options.bytes}
    config = replace(config, client=replace(client(), ciphers=(options.cipher,), **sizes))
    connection = new_connection(prepare_login(config, resolve_first_hop(config, print)).at_next_address(), None)
    for part in (connection.connect, connection.banner, connection.kex, connection.auth):
        part()
    sftp = connection.open_sftp() if options.protocol == "sftp" else None
    begin_s, begin_cpu_s = monotonic(), process_time()
    file = sftp.open_to_read(options.path) if sftp else connection.scp_read(options.path)
    count = _read_to_end(file)
    figures = {"bytes": count, "wall_s": monotonic() - begin_s, "cpu_s": process_time() - begin_cpu_s}
    print(json.dumps(figures))  # noqa: T201 - its output is what it is for
    connection.close()


def _read_to_end(file: RemoteFile) -> int:
    count = 0
    while piece := file.read():
        count += len(piece)
    file.close()
    return count


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--protocol", choices=("scp", "sftp"), required=True)
    parser.add_argument("--bytes", type=int, required=True, help="scp: the window; sftp: the read size")
    parser.add_argument("--path", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--user", required=True)
    parser.add_argument("--key", type=Path, required=True)
    parser.add_argument("--known-hosts", type=Path, required=True)
    parser.add_argument("--cipher", required=True)
    return parser.parse_args()


if __name__ == "__main__":
    main()
