"""One run of a test against a server that runs: `sshload run`, and what the server used meanwhile."""

import json
import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from measurements import Figure, Measurement
from results import Record
from running import Running
from testing.machine import cpu_times
from warm_processes import start_warm_sshload

_EVERY_S = 0.2
_QUIET_WITHIN_S = 2.0
_QUIET_CPU = 0.02
_PERCENT = 100


def run_once(server: Running, measurement: Measurement, name: str, number: int) -> Record:
    """Run the measurement's test once against a server; `name` and `number` are the server's and the round's.

    The server's CPU is read once it is at rest after the run before, and once it is at rest after this one: what
    sessions take at their end is counted.
    """
    before, times, load = _at_rest(server), cpu_times(), os.getloadavg()[0]
    busy_s, began_s = _busy_s(server.core), time.monotonic()
    with _watched_memory(server) as peak:
        status = sshload_status(server, measurement.spec)
    after, shares = _at_rest(server), cpu_times().share_since(times)
    others_s = _busy_s(server.core) - busy_s - (after - before)
    record = Record(
        server=name,
        measurement=measurement.name,
        round=number,
        at=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        load=round(load, 2),
        stolen_percent=round(_PERCENT * shares.stolen, 2),
        others_percent=max(0.0, round(_PERCENT * others_s / (time.monotonic() - began_s), 1)),
        verdict=str(status.get("verdict", "")),
        reason=str(status.get("reason", "")),
        message=str(status.get("message", "")),
        cpu_s=round(after - before, 6),
    )
    return _with_results(record, status, measurement, max(peak) - peak[0])


def _with_results(record: Record, status: Mapping[str, Any], measurement: Measurement, held_bytes: int) -> Record:
    results = status.get("results") or {}
    if not results:
        return record
    steps = {step["step"]: step["count"] for step in results.get("steps", ())}
    failed = int(results.get("failures", 0))
    done = int(results.get("iterations", 0)) - failed
    negotiated: Mapping[str, Any] = next(iter(results.get("negotiated", ())), {})
    record = replace(
        record,
        done=done,
        failed=failed,
        logins=int(steps.get("login", 0)) + 1,
        seconds=float(results.get("durationSeconds", 0.0)),
        algorithms=", ".join(str(negotiated.get(name, "")) for name in ("kex", "hostKey", "cipher")),
    )
    if failed:
        record = replace(record, message=f"{failed} of {failed + done} failed. {_errors(results)}")
    if measurement.figure is Figure.HELD_BYTES:
        return replace(record, held_bytes=held_bytes if record.verdict == "Passed" else None)
    if measurement.figure is Figure.CAPACITY:
        found = status.get("capacity") or {}
        return replace(record, capacity=found.get("value"), capacity_failed_at=found.get("upperBound"))
    return record


def _errors(results: Mapping[str, Any]) -> str:
    return "; ".join(f"{one['outcome']}: {one.get('firstMessage', '')}" for one in results.get("errors", ())[:1])


def _busy_s(core: int) -> float:
    """Return for how long a core has been busy since the machine began, by proc_stat(5)."""
    lines = Path("/proc/stat").read_text(encoding="ascii").splitlines()
    ticks = next(line.split()[1:] for line in lines if line.startswith(f"cpu{core} "))
    user, nice, system, _, _, irq, softirq = map(int, ticks[:7])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def _at_rest(server: Running) -> float:
    """Wait until the server takes next to no CPU, or for two seconds, and return what it has taken."""
    deadline_s = time.monotonic() + _QUIET_WITHIN_S
    taken = server.usage().cpu_s
    while time.monotonic() < deadline_s:
        time.sleep(_EVERY_S)
        now = server.usage().cpu_s
        if now - taken < _QUIET_CPU * _EVERY_S:
            return now
        taken = now
    return taken


@contextmanager
def _watched_memory(server: Running) -> Iterator[list[int]]:
    """Yield the server's memory as it is read again and again until the block ends, the first before it begins."""
    seen = [server.usage().memory_bytes]
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(_EVERY_S):
            seen.append(server.usage().memory_bytes)

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        yield seen
    finally:
        ended.set()
        watching.join()


def sshload_status(server: Running, spec: Path) -> Mapping[str, Any]:
    """Run the test, and return the status that it ends with: of an Error too, with its message."""
    place = server.place
    with TemporaryDirectory() as folder:
        output, errors = Path(folder, "output"), Path(folder, "errors")
        allowed = f"127.0.0.1:{place.port}"
        files = ("--identity", str(place.user_key), "--known-hosts", str(server.known_hosts))
        command = ["run", str(spec), "--output", "json", "--allow-target", allowed, *files]
        start_warm_sshload(command, output, errors).wait()
        told = output.read_text(encoding="utf-8") if output.exists() else ""
        if not told:
            return {"verdict": "Error", "reason": "NoResult", "message": errors.read_text(encoding="utf-8").strip()}
    status: Mapping[str, Any] = json.loads(told)["status"]
    return status
