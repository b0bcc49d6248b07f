"""What running and finished tests cost the operator. Writes docs/measurements/scale.*."""

import argparse
import asyncio
import os
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from api_server import api_server
from operator_process import OperatorProcess
from played_kubelet import PlayedKubelet, played_kubelet
from record import add_folder, keep, machine, table

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_LIMIT_S = 1_200.0
_LOOK_EVERY_S = 2.0
INSTALLATION = "externalTargets:\n- {host: server.example.com, ports: [22]}\n"
_REQUEST = re.compile(r'sshload_operator_api_requests_total\{resource="([^"]+)",verb="([^"]+)"\} (\S+)')
_RUNNING = re.compile(r'^sshload_test_phase\{.*phase="Running".*\} 1\.0$', re.MULTILINE)
_WATCHED = re.compile(r'apiserver_watch_events_sizes_(sum|count)\{.*"sshload\.dev".*\} (\S+)')
_TITLE = "# What tests cost the operator"
_WHAT = """The real operator process at a real kube-apiserver and etcd; node and pods are played, and each master
prints a snapshot a second. *Running* tests have a master and a worker, and are in the middle of a long load;
*finished* ones are there when the operator starts, with the results of a run. CPU is time that the kernel counts, in
thousandths of one CPU; *start* is the CPU that the operator takes for each further test from its creation until its
load runs. Requests are the operator's own, by verb and resource; *watch* is what the API server tells it of its own
kinds. Where *per test and minute* falls, the API server or the machine gives no more: passes take turns, and come
later. `make bench WHAT=scale` repeats the measurement; the figures behind the table are in `scale.json`."""
_HEAD = (
    "finished", "running", "CPU, mcore", "memory, MB", "requests/s", "per test and minute", "watch, events/s",
    "watch, kB/s", "start, CPU ms",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Usage:
    """What the operator has used, asked and heard since its start, and holds now."""

    at_s: float
    cpu_s: float
    rss_bytes: int
    requests: Counter[str]
    watched: Counter[str]


def main() -> None:
    """Measure each number of tests, print the table, and keep it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--running", type=int, nargs="+", default=[0, 10, 100, 1_000])
    parser.add_argument("--finished", type=int, nargs="+", default=[0, 1_000])
    parser.add_argument("--settle", type=float, default=10.0, help="seconds from the last start until it is watched")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long each number of tests is watched")
    add_folder(parser)
    options = parser.parse_args()
    where = machine("aiohttp", "kopf")
    rows = asyncio.run(_measure_all(options))
    shown = table(_HEAD, map(_row, rows))
    largest = rows[-1]["requests"]
    requests = table(("request", "per second"), ((name, f"{largest[name]:.2f}") for name in sorted(largest)))
    most = f"The requests of the last row, {rows[-1]['running']} running tests:"
    keep(options.out / "scale", where, [_TITLE, _WHAT, shown, most, requests], rows)
    print(shown)  # noqa: T201 - its output is what it is for


def _row(row: Mapping[str, Any]) -> Sequence[str]:
    asked = sum(row["requests"].values())
    return (
        str(row["finished"]),
        str(row["running"]),
        f"{row['cpu_mcore']:.1f}",
        f"{row['rss_bytes'] / 1e6:.0f}",
        f"{asked:.1f}",
        f"{asked / row['running'] * 60:.1f}" if row["running"] else "0",
        f"{row['watch_events_per_s']:.1f}",
        f"{row['watch_bytes_per_s'] / 1e3:.1f}",
        f"{row['start_cpu_ms']:.0f}",
    )


async def _measure_all(options: argparse.Namespace) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="sshload-bench-") as name, api_server(Path(name)) as server:
        async with played_kubelet(server) as kubelet:
            for finished in options.finished:
                namespace = kubelet.namespace()
                operator = OperatorProcess(server.kubeconfig, Path(name), (namespace,), lambda: None, INSTALLATION)
                bench = _Bench(kubelet, operator, namespace)
                try:
                    await bench.fill(finished)
                    measured = [await bench.measure(running, options) for running in options.running]
                    rows += [{"finished": finished, **row} for row in measured]
                finally:
                    operator.kill()
                    operator.wait()
    return rows


class _Bench:
    """One namespace, with an operator for it alone."""

    def __init__(self, kubelet: PlayedKubelet, operator: OperatorProcess, namespace: str) -> None:
        self._kubelet = kubelet
        self._operator = operator
        self._namespace = namespace
        self._tests = f"/apis/sshload.dev/v1alpha1/namespaces/{namespace}/sshloadtests"
        self._running = 0

    async def fill(self, finished: int) -> None:
        """Start the operator where so many tests are finished: copies of one that was run."""
        await asyncio.to_thread(self._operator.start)
        if not finished:
            return
        await self._kubelet.ask("POST", self._tests, load_test_of("finished"))
        await self._until_running(1)
        await self._kubelet.end(self._namespace, "finished")
        test = await self._finished("finished")
        await asyncio.to_thread(self._operator.stop)
        await asyncio.gather(*(self._copy(test["status"], number) for number in range(finished - 1)))
        await asyncio.to_thread(self._operator.start)

    async def _copy(self, status: Mapping[str, Any], number: int) -> None:
        name = f"finished-{number}"
        await self._kubelet.ask("POST", self._tests, load_test_of(name))
        await self._kubelet.ask("PATCH", f"{self._tests}/{name}/status", {"status": status})

    async def _finished(self, name: str) -> Any:
        give_up_s = time.monotonic() + _LIMIT_S
        while time.monotonic() < give_up_s:
            test = await self._kubelet.ask("GET", f"{self._tests}/{name}")
            if test["status"]["phase"] == "Finished":
                return test
            await asyncio.sleep(_LOOK_EVERY_S)
        raise AssertionError(f"{name} has not finished: {self._operator.log()[-2_000:]}")

    async def measure(self, running: int, options: argparse.Namespace) -> dict[str, Any]:
        """Bring the number of running tests up to this one, and watch the operator."""
        before = await self._usage()
        new = range(self._running, running)
        await asyncio.gather(
            *(self._kubelet.ask("POST", self._tests, load_test_of(f"running-{number}")) for number in new)
        )
        await self._until_running(running)
        self._running = running
        started = await self._usage()
        await asyncio.sleep(options.settle)
        begin = await self._usage()
        await asyncio.sleep(options.seconds)
        end = await self._usage()
        print(f"{running} tests have run, {end.cpu_s - begin.cpu_s:.1f} s of CPU", file=sys.stderr)  # noqa: T201 - it takes long
        passed_s = end.at_s - begin.at_s
        asked, heard = end.requests - begin.requests, end.watched - begin.watched
        return {
            "running": running,
            "cpu_mcore": (end.cpu_s - begin.cpu_s) / passed_s * 1_000,
            "rss_bytes": end.rss_bytes,
            "requests": {name: count / passed_s for name, count in asked.items()},
            "watch_events_per_s": heard["count"] / passed_s,
            "watch_bytes_per_s": heard["sum"] / passed_s,
            "start_cpu_ms": (started.cpu_s - before.cpu_s) / len(new) * 1_000 if new else 0.0,
        }

    async def _until_running(self, count: int) -> None:
        give_up_s = time.monotonic() + _LIMIT_S
        running = 0
        while running < count:
            assert time.monotonic() < give_up_s, f"{running} of {count} tests run: {self._operator.log()[-2_000:]}"
            self._operator.assert_not_ended()
            await asyncio.sleep(_LOOK_EVERY_S)
            page = await asyncio.to_thread(self._operator.metrics)
            running = len(_RUNNING.findall(page))

    async def _usage(self) -> _Usage:
        process = Path(f"/proc/{self._operator.pid}")
        fields = (process / "stat").read_text(encoding="ascii").rpartition(")")[2].split()
        page = await asyncio.to_thread(self._operator.metrics)
        requests = {f"{verb} {resource}": int(float(count)) for resource, verb, count in _REQUEST.findall(page)}
        watched: Counter[str] = Counter()
        for what, count in _WATCHED.findall(await self._kubelet.ask("GET", "/metrics")):
            watched[what] += int(float(count))
        return _Usage(
            at_s=time.monotonic(),
            cpu_s=(int(fields[11]) + int(fields[12])) / _TICKS_PER_S,
            rss_bytes=int((process / "statm").read_text(encoding="ascii").split()[1]) * _PAGE_BYTES,
            requests=Counter(requests),
            watched=watched,
        )


def load_test_of(name: str, **spec: Any) -> dict[str, Any]:
    """Return a test of an external server that loads for two hours; `spec` adds to it."""
    external = {
        "host": "server.example.com",
        "user": "probe",
        "credentialsSecretRef": {"name": "credentials"},
        "insecureIgnoreHostKey": True,
    }
    return {
        "apiVersion": "sshload.dev/v1alpha1",
        "kind": "SSHLoadTest",
        "metadata": {"name": name},
        "spec": {
            "target": {"external": external},
            "scenario": {"steps": [{"exec": {"command": "uptime"}}]},
            "load": {"arrivals": {"stages": [{"rate": 20, "duration": "2h"}]}},
            "warmUp": "0s",
            "deadline": "4h",
            **spec,
        },
    }


if __name__ == "__main__":
    main()
