"""What a hostile tenant costs the others. Writes docs/measurements/hostile-tenants.*."""

import argparse
import asyncio
import itertools
import json
import random
import select
import statistics
import sys
import tempfile
import time
import uuid
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import socket_floods
from api_server import ApiServer, administrator, api_server
from bench_scale import INSTALLATION, load_test_of
from free_ports import free_port
from operator_process import OperatorProcess
from own_cgroups import own_cgroups
from played_kubelet import PlayedKubelet, played_kubelet
from record import add_folder, keep, machine, table

_LOOK_EVERY_S = 0.01
_GIVE_UP_S = 120.0
_BOMB_OBJECTS = 21_000_000
_OK, _FAULT = 200, 500
_BEGINS = b"begins\n"
_ATTACKS = {
    "none": "none",
    "log": "{} masters print a log of 82 kB that unpacks to 64 MB, again and again",
    "status": "{} clients write the statuses of as many running tests without a pause",
    "labels": "{} clients write the labels of as many running tests without a pause",
    "pods": "{} clients write the annotations of as many pods of running tests without a pause",
    "spec": "{} clients write the specs of as many suspended tests without a pause",
    "probes": "{} processes flood the port of the probes with connections of every bad kind",
    "metrics": "{} processes flood the port of the metrics with connections of every bad kind",
    "pages": "{} processes flood the port of the pages with TLS connections of every bad kind",
}
_CONNECTIONS = 250  # of each process that floods, at any time
_OPERATOR_BYTES = 512 * 1024 * 1024
_TITLE = "# What a hostile tenant costs the others"
_WHAT = """A real operator and a real kube-apiserver and etcd on loopback; node and pods are played. While one tenant
attacks, another one creates tests, one after the other, each at a random moment. *First status* is the time from the
API server's answer to the creation until the test has a status, found by a look every 10 ms. *Writes* are the
attackers', or the connections that they open. *API server* is the time of such a look: what an attack takes from the
API server and from the CPUs of the machine, whatever the operator does. *Memory* is the most that the operator has
taken so far (`VmHWM`), in a cgroup with the limit of its chart, 512 MiB. The attacks take turns.
`make bench WHAT=hostile` repeats the measurement; the figures behind the table are in `hostile-tenants.json`.

The aim is a first status within 0.5 s and 100 MB, and within 130 MB with pages that are flooded."""
_HEAD = (
    "attack", "writes/s", "API server, median, s", "first status, median, s", "p90, s", "longest, s", "memory, MB",
)  # fmt: skip


def main() -> None:
    """Measure, print the table, and keep it; or be one attacker."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--creations", type=int, default=10, help="tests that are created in each turn")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--attackers", type=int, default=4, help="clients or masters that attack at once")
    parser.add_argument("--attacks", nargs="+", choices=_ATTACKS, default=list(_ATTACKS))
    parser.add_argument("--attack", nargs=3, metavar=("NAME", "KUBECONFIG", "PATH"), help=argparse.SUPPRESS)
    add_folder(parser)
    options = parser.parse_args()
    if options.attack:
        _attack(*options.attack)
        return
    where = machine("aiohttp", "kopf")
    figures = asyncio.run(_measure_all(options))
    shown = table(_HEAD, map(_row, figures))
    keep(options.out / "hostile-tenants", where, [_TITLE, _WHAT, shown], figures)
    print(shown)  # noqa: T201 - its output is what it is for


def _row(of: Mapping[str, Any]) -> Sequence[str]:
    waits = sorted(of["first_status_s"])
    return (
        _ATTACKS[of["attack"]].format(of["attackers"]),
        f"{of['writes_per_s']:.0f}",
        f"{statistics.median(of['api_server_s']):.3f}",
        f"{statistics.median(waits):.2f}",
        f"{waits[int(len(waits) * 0.9)]:.2f}",
        f"{waits[-1]:.2f}",
        f"{of['memory_bytes'] / 1e6:.0f}",
    )


async def _measure_all(options: argparse.Namespace) -> list[dict[str, Any]]:
    with (
        ExitStack() as held,
        tempfile.TemporaryDirectory(prefix="sshload-bench-") as name,
        api_server(Path(name)) as server,
    ):
        async with played_kubelet(server) as kubelet:
            limits = held.enter_context(own_cgroups(cpu_cores=2, memory_bytes=_OPERATOR_BYTES, processes=1_000))
            namespaces = kubelet.namespace(), kubelet.namespace()
            ui_port = free_port()
            operator = OperatorProcess(
                server.kubeconfig, Path(name), namespaces, lambda: None, INSTALLATION, ("--ui", f"--ui-port={ui_port}")
            )
            await asyncio.to_thread(operator.start)
            limits.put(operator.pid)
            try:
                bench = _Bench(server, kubelet, operator, options.attackers, ui_port, *namespaces)
                await bench.prepare()
                for _, attack in itertools.product(range(options.turns), options.attacks):
                    await bench.measure(attack, options.creations)
                return bench.figures()
            finally:
                operator.kill()
                operator.wait()


class _Bench:
    """Two namespaces of one operator: one tenant attacks, and the other one creates tests."""

    def __init__(  # noqa: PLR0913, PLR0917 - what a measurement needs
        self,
        server: ApiServer,
        kubelet: PlayedKubelet,
        operator: OperatorProcess,
        attackers: int,
        ui_port: int,
        attacker: str,
        other: str,
    ) -> None:
        self._server = server
        self._kubelet = kubelet
        self._operator = operator
        self._attackers = attackers
        self._ports = {
            "probes": (operator.health_port, "plain"),
            "metrics": (operator.metrics_port, "plain"),
            "pages": (ui_port, "tls"),
        }
        self._attacker = attacker
        self._tests, self._others = (
            f"/apis/sshload.dev/v1alpha1/namespaces/{namespace}/sshloadtests" for namespace in (attacker, other)
        )
        self._paths: Mapping[str, Sequence[str]] = {}
        self._figures: dict[str, dict[str, Any]] = {
            name: {
                "attack": name,
                "attackers": attackers,
                "turns_s": [],
                "writes": 0,
                "api_server_s": [],
                "first_status_s": [],
            }
            for name in _ATTACKS
        }

    async def prepare(self) -> None:
        """Bring the attacker's tests to run, and find what each attack writes to."""
        names = [f"hostile-{number}" for number in range(self._attackers)]
        for name in names:
            await self._kubelet.ask("POST", self._tests, load_test_of(name))
            await self._kubelet.ask("POST", self._tests, load_test_of(f"{name}-held", suspend=True))
        for name in names:
            await self._running(name)
        pods = f"/api/v1/namespaces/{self._attacker}/pods"
        found = (await self._kubelet.ask("GET", pods))["items"]
        self._paths = {
            "status": [f"{self._tests}/{name}/status" for name in names],
            "labels": [f"{self._tests}/{name}" for name in names],
            "pods": [f"{pods}/{pod['metadata']['name']}" for pod in found[: self._attackers]],
            "spec": [f"{self._tests}/{name}-held" for name in names],
        }

    async def _running(self, name: str) -> None:
        give_up_s = time.monotonic() + _GIVE_UP_S
        phase = None
        while phase != "Running":
            assert time.monotonic() < give_up_s, f"{name} is {phase}: {self._operator.log()[-2_000:]}"
            await asyncio.sleep(0.5)
            phase = (await self._kubelet.ask("GET", f"{self._tests}/{name}")).get("status", {}).get("phase")

    async def measure(self, attack: str, creations: int) -> None:
        """Create tests while this attack is under way."""
        of = self._figures[attack]
        begun_s = time.monotonic()
        async with self._attacked(of):
            for _ in range(creations):
                await asyncio.sleep(random.uniform(0.5, 1.5))  # noqa: S311 - nothing secret
                await self._create(of)
        of["turns_s"].append(time.monotonic() - begun_s)
        of["memory_bytes"] = _most_memory_bytes(self._operator.pid)
        self._operator.assert_not_ended()

    def figures(self) -> list[dict[str, Any]]:
        """Return what was measured, by attack."""
        return [
            {**of, "writes_per_s": of["writes"] / sum(of["turns_s"])} for of in self._figures.values() if of["turns_s"]
        ]

    async def _create(self, of: dict[str, Any]) -> None:
        name = f"other-{uuid.uuid4().hex[:8]}"
        await self._kubelet.ask("POST", self._others, load_test_of(name))
        begun_s = time.monotonic()
        found: Mapping[str, Any] = {}
        while not found.get("status"):
            assert time.monotonic() - begun_s < _GIVE_UP_S, f"{name} has no status: {found}"
            asked_s = time.monotonic()
            found = await self._kubelet.ask("GET", f"{self._others}/{name}")
            of["api_server_s"].append(time.monotonic() - asked_s)
            await asyncio.sleep(_LOOK_EVERY_S)
        of["first_status_s"].append(time.monotonic() - begun_s)
        await self._kubelet.ask("DELETE", f"{self._others}/{name}")

    @asynccontextmanager
    async def _attacked(self, of: dict[str, Any]) -> AsyncIterator[None]:
        if of["attack"] == "log":
            begun = asyncio.Event()
            masters = [asyncio.create_task(self._print_bombs(of, begun)) for _ in range(self._attackers)]
            await begun.wait()
            yield
            for master in masters:
                master.cancel()
            await asyncio.gather(*masters, return_exceptions=True)
            return
        commands = self._commands(of["attack"])
        clients = [await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE) for command in commands]
        try:
            for client in clients:
                assert client.stdout is not None
                assert await client.stdout.readline() == _BEGINS
            yield
        finally:
            said = await asyncio.gather(*(client.communicate(b"") for client in clients))
            of["writes"] += sum(int(out) for out, _ in said)

    def _commands(self, attack: str) -> Sequence[Sequence[str]]:
        if attack in self._ports:
            port, kind = self._ports[attack]
            flood = sys.executable, socket_floods.__file__, "127.0.0.1", str(port), kind, str(_CONNECTIONS)
            return [flood] * self._attackers
        command = sys.executable, __file__, "--attack", attack, str(self._server.kubeconfig)
        return [(*command, path) for path in self._paths.get(attack, ())]

    async def _print_bombs(self, of: dict[str, Any], begun: asyncio.Event) -> None:
        bomb = b"[" + b"{}," * _BOMB_OBJECTS + b"{}]"
        while True:
            name = f"bomb-{uuid.uuid4().hex[:8]}"
            await self._kubelet.ask("POST", self._tests, load_test_of(name))
            await self._running(name)
            await self._kubelet.end(self._attacker, name, bomb)
            of["writes"] += 1
            begun.set()


def _attack(attack: str, kubeconfig: str, path: str) -> None:
    """Write until standard input is closed, and print how often."""
    server = administrator(Path(kubeconfig))
    connection = HTTPSConnection(urlsplit(server.url).netloc, context=server.tls)
    headers = {**server.login, "Content-Type": "application/merge-patch+json"}
    sys.stdout.buffer.write(_BEGINS)
    sys.stdout.flush()
    writes = 0
    for change in _changes(attack):
        connection.request("PATCH", path, json.dumps(change), headers)
        with connection.getresponse() as answer:
            said = answer.read()
            assert answer.status < _FAULT, said
            writes += answer.status == _OK
        if select.select([sys.stdin], [], [], 0)[0]:
            break
    print(writes)  # noqa: T201 - its parent reads it


def _changes(attack: str) -> Iterator[Mapping[str, Any]]:
    for number in itertools.count():
        match attack:
            case "status":
                yield {"status": {"message": f"written {number} times"}}
            case "spec":
                yield {"spec": {"warmUp": f"{number % 100 + 1}s"}}
            case "labels":
                yield {"metadata": {"labels": {"storm": str(number)}}}
            case _:
                yield {"metadata": {"annotations": {"storm": str(number)}}}


def _most_memory_bytes(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) * 1_024


if __name__ == "__main__":
    main()
