"""The league: how much SSH one core takes at each server. `make league` runs this; it needs root and two cores.

It measures in rounds: each server in turn, and at each server every measurement, once. What was measured is kept after
each run, and a later call goes on where this one ended. At the end it writes the page.
"""

import argparse
import os
import platform
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from measurements import MEASUREMENTS, WARM_UP, Measurement
from obtained import commit
from one_run import run_once, sshload_status
from page import PAGE, page
from results import RESULTS, Entry, Record, Results
from running import NotStartedError, make_content, running
from servers import SERVERS, Place, Server, make_host_keys
from testing.machine import fixed_work_s
from warm_processes import end_what_is_forked

PORT = 2222
"""The port of all servers, which the tests name."""

_CLIENT_CORE, _SERVER_CORE = 0, 1
_ATTEMPTS = 2


def main() -> None:
    """Measure until the time is over, or serve one server until it is told to end, or only write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=15, help="how long to measure")
    parser.add_argument("--servers", nargs="+", metavar="NAME", help="only those whose names begin so")
    parser.add_argument("--measurements", nargs="+", metavar="NAME", help="only these: names of files")
    parser.add_argument("--again", action="store_true", help="forget what was measured before")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where it is kept")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page to write")
    parser.add_argument("--serve", metavar="NAME", help="only run this server, and say how to load it")
    parser.add_argument("--write", action="store_true", help="only write the page")
    options = parser.parse_args()
    results = Results() if options.again else Results.read(options.results)
    if options.serve:
        _serve(next(iter(_chosen([options.serve]))))
        return
    if not options.write:
        wanted = [one for one in MEASUREMENTS if options.measurements is None or one.name in options.measurements]
        _measure(results, _chosen(options.servers), wanted, options.results, time.monotonic() + 60 * options.minutes)
    options.page.write_text(page(results), encoding="utf-8")


def _chosen(names: list[str] | None) -> list[Server]:
    def is_named(server: Server) -> bool:
        return names is None or any(server.name.lower().startswith(name.lower()) for name in names)

    return [server for server in SERVERS if is_named(server)]


def _measure(results: Results, servers: list[Server], wanted: list[Measurement], kept: Path, until_s: float) -> None:
    """Measure round after round until the time is over, each server at most as often as the one measured least."""
    os.sched_setaffinity(0, {_CLIENT_CORE})
    results.machine |= _machine()
    with _places() as place:
        for server in servers:
            results.enter(Entry(server.name, server.version(), server.build(), server.program, server.changed))
        while servers and time.monotonic() < until_s:
            number = min(results.rounds_of(one.name, what.name) for one in servers for what in wanted) + 1
            turn = number % len(servers)
            for server in [*servers[turn:], *servers[:turn]]:
                missing = [what for what in wanted if results.rounds_of(server.name, what.name) < number]
                if not missing or time.monotonic() > until_s:
                    continue
                try:
                    for record in _measured(server, place(server), missing, number, until_s):
                        results.records.append(record)
                        results.write(kept)
                        _tell(record)
                except NotStartedError as error:
                    print(error, flush=True)
                    servers = [one for one in servers if one is not server]
    end_what_is_forked()


def _measured(server: Server, place: Place, wanted: list[Measurement], number: int, until_s: float) -> Iterator[Record]:
    with running(server, place, _SERVER_CORE) as started:
        if server.is_slow_at_first:
            sshload_status(started, WARM_UP.spec)
        for measurement in wanted:
            for _ in range(_ATTEMPTS):
                if time.monotonic() > until_s:
                    return
                record = run_once(started, measurement, server.name, number)
                yield record
                if record.verdict != "Invalid" or record.is_lower_bound:
                    break


@contextmanager
def _places() -> Iterator[Callable[[Server], Place]]:
    """Make the home that all servers share, and the keys; yield what makes the place of a server."""
    with TemporaryDirectory(prefix="sshload-league-") as name:
        home = Path(name)
        home.chmod(0o700)
        make_content(home)
        keys = home / "keys"
        keys.mkdir()
        host_keys = make_host_keys(keys)
        user_key = keys / "user"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", user_key], check=True)

        def place(server: Server) -> Place:
            folder = home / server.name.replace(" ", "-").replace("/", "-")
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            return Place(folder, PORT, host_keys, user_key)

        yield place


def _machine() -> dict[str, str]:
    cpus = Path("/proc/cpuinfo").read_text(encoding="ascii").splitlines()
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "commit": commit(),
        "CPU": f"{os.cpu_count()} x " + next(line.partition(": ")[2] for line in cpus if line.startswith("model name")),
        "kernel": platform.release(),
        "fixed work": f"{fixed_work_s():.3f} s",
    }


def _serve(server: Server) -> None:
    with _places() as place, running(server, place(server), _SERVER_CORE) as started:
        given = f"--identity {started.place.user_key} --known-hosts {started.known_hosts}"
        print(f"{server.name} listens. Load it, and end it with Ctrl-C:")
        print(f"taskset -c {_CLIENT_CORE} .venv/bin/sshload run docs/measurements/league/login-equal.yaml "
              f"--allow-target 127.0.0.1:{PORT} {given}", flush=True)  # fmt: skip
        while True:
            time.sleep(60)


def _tell(record: Record) -> None:
    per = f"{1000 * record.cpu_s / record.done:.2f} ms" if record.done else record.message[:150]
    print(
        f"{record.at[11:19]} {record.server:17} {record.measurement:25} {record.verdict:8} {record.done:5} {per} "
        f"{record.capacity or ''} {record.held_bytes or ''}",
        flush=True,
    )


if __name__ == "__main__":
    main()
