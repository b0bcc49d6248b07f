"""What reports cost the master, by the number of its workers. Writes docs/measurements/master.*."""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from record import add_folder, keep, machine, table
from run_configs import NOWHERE, arrivals, run_config
from sshload_contract.wire.reporting import MOST_WORKERS, report_interval_s
from whole_run import WholeRun

_HERE = Path(__file__).parent
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_MS_PER_S = 1_000
_LOOK_EVERY_S = 0.02
_TITLE = "# What reports cost the master"
_WHAT = """A real master process, and simulated workers in one process beside it, which send real reports over the real,
encrypted line: as often as that many workers do, what each has counted that makes so many logins with a command per
second, and a heartbeat each second. CPU is time that the kernel counts, not time by the clock: *CPU* is the master's
CPU seconds per second as the workers mean it, of which it can use no more than one, with its heartbeats and snapshots;
*per report* is that by the reports that it took. *Longest pause* is the longest time between two snapshots, which are
due each second; *came* is how much of what was sent was counted at the end of the time: less than 100 % says that
reports wait. The machine's other load shows in the last two.
`make bench WHAT=master` measures again; the figures behind the table are in `master.json`."""
_HEAD = (
    "workers", "logins/s each", "reports/s", "CPU", "per report, ms", "memory, MB", "longest pause, s", "came, %",
)  # fmt: skip


def main() -> None:
    """Measure each number of workers, print the table, and keep it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 10, 50, 100, 200, 500])
    parser.add_argument("--rates", type=float, nargs="+", default=[50.0], help="logins per second of each worker")
    parser.add_argument("--seconds", type=float, default=20.0)
    add_folder(parser)
    options = parser.parse_args()
    where = machine("locust", "gevent", "pyzmq")
    rows = [_measured(workers, rate, options.seconds) for rate in options.rates for workers in options.workers]
    shown = table(_HEAD, map(_row, rows))
    keep(options.out / "master", where, [_TITLE, _WHAT, shown, _saturation(rows)], rows)
    print(shown)  # noqa: T201 - its output is what it is for


def _saturation(rows: Sequence[Mapping[str, Any]]) -> str:
    full = [f"{row['workers']} workers of {row['rate']:g} logins per second" for row in rows if row["cpu_share"] >= 1]
    refused = f"A test of more than {MOST_WORKERS} workers is refused before its run."
    return f"The master's one CPU is full with {'; '.join(full) or 'none of these'}. {refused}"


def _row(row: Mapping[str, Any]) -> Sequence[str]:
    return (
        str(row["workers"]),
        f"{row['rate']:g}",
        f"{row['reports_per_s']:.0f}",
        f"{row['cpu_share']:.3f}",
        f"{row['cpu_per_report_ms']:.2f}",
        f"{row['rss_bytes'] / 1e6:.0f}",
        f"{row['longest_pause_s']:.1f}",
        f"{row['came'] * 100:.0f}",
    )


@dataclass(frozen=True, slots=True)
class _Look:
    """How much CPU the master had used when it had counted so many iterations."""

    cpu_s: float
    iterations: int


def _measured(workers: int, rate: float, seconds: float) -> dict[str, Any]:
    config = run_config(NOWHERE, arrivals(rate * workers, seconds, 100 * workers), workers)
    reports_per_s = workers / report_interval_s(workers)
    iterations_per_report = round(rate * report_interval_s(workers))
    with tempfile.TemporaryDirectory(prefix="sshload-bench-") as folder:
        run = WholeRun(Path(folder), config)
        given = [str(run.locust_port), str(workers), str(rate), str(seconds)]
        simulated = subprocess.Popen([sys.executable, _HERE / "reporting_workers.py", *given])
        try:
            begun = _next_look(run, simulated, 0)
            begun_s = time.monotonic()
            time.sleep(max(seconds - report_interval_s(workers) - 2, 1))
            ended = _next_look(run, simulated, begun.iterations)
            passed_s = time.monotonic() - begun_s
            rss_bytes = _resident_bytes(run.master.pid)
            simulated.wait()
            run.wait_until(lambda: run.master.poll() is not None, "the master's end")
        finally:
            simulated.kill()
            run.end()
        at_s = [snapshot.elapsed_s for snapshot in run.snapshots() if snapshot.elapsed_s > 0]
    reports = (ended.iterations - begun.iterations) / iterations_per_report
    cpu_per_report_s = (ended.cpu_s - begun.cpu_s) / reports
    return {
        "workers": workers,
        "rate": rate,
        "reports": reports,
        "reports_per_s": reports_per_s,
        "cpu_s": ended.cpu_s - begun.cpu_s,
        "cpu_share": cpu_per_report_s * reports_per_s,
        "cpu_per_report_ms": cpu_per_report_s * _MS_PER_S,
        "came": reports / passed_s / reports_per_s,
        "longest_pause_s": _longest(at_s),
        "rss_bytes": rss_bytes,
    }


def _next_look(run: WholeRun, simulated: subprocess.Popen[bytes], iterations: int) -> _Look:
    """Wait for a snapshot that knows more iterations, and for the one after it, and look at once."""
    run.wait_until(lambda: run.iterations() > iterations or bool(simulated.poll()), "a report")
    assert not simulated.poll(), "the simulated workers failed"
    known = len(run.snapshots())
    while len(run.snapshots()) == known:
        time.sleep(_LOOK_EVERY_S)
    return _Look(_cpu_s(run.master.pid), run.iterations())


def _longest(instants_s: Sequence[float]) -> float:
    return max((later - earlier for earlier, later in pairwise(instants_s)), default=0.0)


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S


def _resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * _PAGE_BYTES


if __name__ == "__main__":
    main()
