"""What objects that only wait cost the operator's memory. Writes docs/measurements/held.*."""

import argparse
import asyncio
import os
import re
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from api_server import api_server
from bench_scale import INSTALLATION, load_test_of
from operator_process import OperatorProcess
from played_kubelet import PlayedKubelet, played_kubelet
from record import add_folder, keep, machine, table
from specs.large import on_nodes

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_LIMIT_S = 60.0
_LIMIT_OF_AN_OBJECT_S = 1.2
_LOOK_EVERY_S = 2.0
# The API server adds to a spec the defaults of its CRD.
_NODES_IN_LARGEST = 2_100
_NODES_OVER_LIMIT = 2_400
_ONE_AT_ONCE = "limits: {concurrentTests: 1}\n"
_WITH_AFFINITY = "permitted: {affinity: true}\n"
_ABOUT_TESTS = re.compile(r'sshload_operator_api_requests_total\{resource="(sshload[^"]+)",verb="[^"]+"\} (\S+)')
_HELD = {
    "suspended": "tests that are suspended",
    "refused": "tests whose spec is refused",
    "queued": "tests in the queue, behind one that runs",
    "schedules": "schedules whose next start is in months",
    "comparisons": "comparisons, whose first tests are in the queue too",
}
# What the status of each says once it is dealt with: an object that is refused would cost something else.
_SAYS = {
    "suspended": ("reason", "Suspended"),
    "refused": ("reason", "InvalidSpec"),
    "queued": ("reason", "Queued"),
    "schedules": ("nextScheduleTime", "2028-02-29T00:00:00Z"),
    "comparisons": ("reason", "TestRunning"),
}
_PLURALS = {"schedules": "sshloadtestschedules", "comparisons": "sshloadtestcomparisons"}
_TITLE = "# What objects that only wait cost the operator"
_WHAT = """A real operator at a real kube-apiserver and etcd on loopback; node and pods are played. Each object has
a spec of 32 kB, which is as much as is accepted. *Idle* is the operator's resident memory before they were created,
*settled* that once each has its status and a while has passed, *most* the most that it took until then (`VmHWM`);
*restarted* is that of an operator that was started where they were there, and *most of it* the most that it took.
Requests are those for objects of sshload's own kinds, after all have settled, per object and minute.
`make bench WHAT=held` repeats the measurement; the figures behind the table are in `held.json`."""
_HEAD = (
    "what waits", "objects", "idle, MB", "settled, MB", "most, MB", "restarted, MB", "most of it, MB",
    "requests per minute",
)  # fmt: skip


def main() -> None:
    """Measure each kind of objects that wait, print the table, and keep it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, default=1_000)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long the requests are counted")
    add_folder(parser)
    options = parser.parse_args()
    where = machine("aiohttp", "kopf")
    rows = asyncio.run(_measure_all(options))
    shown = table(_HEAD, map(_row, rows))
    keep(options.out / "held", where, [_TITLE, _WHAT, shown], rows)
    print(shown)  # noqa: T201 - its output is what it is for


def _row(row: Mapping[str, Any]) -> Sequence[str]:
    memory = ("idle", "settled", "settled_most", "restarted", "restarted_most")
    megabytes = (f"{row[f'{name}_bytes'] / 1e6:.0f}" for name in memory)
    return _HELD[row["what"]], str(row["objects"]), *megabytes, f"{row['requests_per_minute']:.2f}"


async def _measure_all(options: argparse.Namespace) -> list[dict[str, Any]]:
    rows = []
    with tempfile.TemporaryDirectory(prefix="sshload-bench-") as name, api_server(Path(name)) as server:
        async with played_kubelet(server) as kubelet:
            for what in _HELD:
                namespace = kubelet.namespace()
                installation = INSTALLATION + _ONE_AT_ONCE + _WITH_AFFINITY
                operator = OperatorProcess(server.kubeconfig, Path(name), (namespace,), lambda: None, installation)
                try:
                    rows.append(await _Bench(kubelet, operator, namespace, options.objects).measure(what, options))
                finally:
                    operator.kill()
                    operator.wait()
                print(f"{what}: {_row(rows[-1])}", file=sys.stderr)  # noqa: T201 - it takes long
    return rows


class _Bench:
    """One namespace, with an operator for it alone."""

    def __init__(self, kubelet: PlayedKubelet, operator: OperatorProcess, namespace: str, objects: int) -> None:
        self._kubelet = kubelet
        self._operator = operator
        self._objects = objects
        self._folder = f"/apis/sshload.dev/v1alpha1/namespaces/{namespace}"

    async def measure(self, what: str, options: argparse.Namespace) -> dict[str, Any]:
        """Create so many objects, wait until the operator has dealt with them, and start it again."""
        await asyncio.to_thread(self._operator.start)
        if what in ("queued", "comparisons"):
            await self._create("sshloadtests", load_test_of("first"))
            await self._until_all_say("sshloadtests", "first", "observedGeneration", 1)
        idle_bytes = self._memory_bytes("VmRSS")
        plural = _PLURALS.get(what, "sshloadtests")
        for number in range(self._objects):
            await self._create(plural, _object(what, f"held-{number}"))
        await self._until_all_say(plural, "held-", *_SAYS[what])
        settled = await self._settled(options)
        await asyncio.to_thread(self._operator.stop)
        await asyncio.to_thread(self._operator.start)
        restarted = await self._settled(options)
        return {
            "what": what,
            "objects": options.objects,
            "idle_bytes": idle_bytes,
            "settled_bytes": settled[0],
            "settled_most_bytes": settled[1],
            "requests_per_minute": settled[2] / options.objects,
            "restarted_bytes": restarted[0],
            "restarted_most_bytes": restarted[1],
        }

    async def _settled(self, options: argparse.Namespace) -> tuple[int, int, float]:
        """Return the memory that is taken after a while, the most that was, and the requests per minute since."""
        await asyncio.sleep(options.seconds)
        before, begun_s = await self._requests(), time.monotonic()
        await asyncio.sleep(options.seconds)
        asked = await self._requests() - before
        per_minute = asked / (time.monotonic() - begun_s) * 60
        return self._memory_bytes("VmRSS"), self._memory_bytes("VmHWM"), per_minute

    async def _create(self, plural: str, body: Mapping[str, Any]) -> None:
        await self._kubelet.ask("POST", f"{self._folder}/{plural}", body)

    async def _until_all_say(self, plural: str, prefix: str, key: str, value: object) -> None:
        give_up_s = time.monotonic() + _LIMIT_S + _LIMIT_OF_AN_OBJECT_S * self._objects
        while not await self._all_say(plural, prefix, key, value):
            assert time.monotonic() < give_up_s, self._operator.log()[-2_000:]
            self._operator.assert_not_ended()
            await asyncio.sleep(_LOOK_EVERY_S)

    async def _all_say(self, plural: str, prefix: str, key: str, value: object) -> bool:
        page, following = 100, ""
        while True:
            found = await self._kubelet.ask("GET", f"{self._folder}/{plural}?limit={page}{following}")
            asked = (one for one in found["items"] if one["metadata"]["name"].startswith(prefix))
            if any(one.get("status", {}).get(key) != value for one in asked):
                return False
            if not found["metadata"].get("continue"):
                return True
            following = f"&continue={found['metadata']['continue']}"

    async def _requests(self) -> int:
        page = await asyncio.to_thread(self._operator.metrics)
        return sum(int(float(count)) for _, count in _ABOUT_TESTS.findall(page))

    def _memory_bytes(self, name: str) -> int:
        status = Path(f"/proc/{self._operator.pid}/status").read_text(encoding="ascii")
        return int(status.split(f"{name}:")[1].split()[0]) * 1_024


def _object(what: str, name: str) -> dict[str, Any]:
    workers = on_nodes(_NODES_IN_LARGEST)["workers"]
    test = load_test_of(name, workers=workers)
    match what:
        case "suspended":
            test["spec"]["suspend"] = True
        case "refused":
            test["spec"]["workers"] = on_nodes(_NODES_OVER_LIMIT)["workers"]
        case "schedules":
            test["kind"] = "SSHLoadTestSchedule"
            test["spec"] = {"schedule": "0 0 29 2 *", "testTemplate": {"spec": test["spec"]}}
        case "comparisons":
            test["kind"] = "SSHLoadTestComparison"
            variants = [{"name": "a"}, {"name": "b", "patch": {"warmUp": "1s"}}]
            test["spec"] = {"base": test["spec"], "variants": variants}
    return test


if __name__ == "__main__":
    main()
