"""How fast and how frugal the operator is, on the cluster in KUBECONFIG. `make bench WHAT=operator` runs it.

It installs the chart, works in a namespace of its own, prints one table, and takes the namespace away again. Times are
seen from outside, by asking the API server for a test every 20 ms; what else the machine does shows in them.

With SSHLOAD_BENCH_NAMESPACED=1 the chart too is installed in that namespace, and for it alone, beside other releases.
"""

import argparse
import asyncio
import json
import os
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sshload_operator.api.kinds import TEST
from sshload_operator.api.shapes.reading import read_fitting
from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.control.api_server.client import api_client
from sshload_operator.control.api_server.cluster import Cluster, Object, collection_path, object_path

ROOT = Path(__file__).parents[2]
NAMESPACE = "sshload-bench"
NAMESPACED = os.environ.get("SSHLOAD_BENCH_NAMESPACED") == "1"
SYSTEM = NAMESPACE if NAMESPACED else "sshload-system"
AT_REST_CPU_S = 0.05
ASK_EVERY_S = 0.02
LIMIT_S = 300.0


@dataclass(frozen=True, slots=True)
class Usage:
    """What the operator has used since its start, and holds now."""

    cpu_s: float
    rss_bytes: float
    requests: float


def main() -> None:
    """Measure and print."""
    options = _options()
    kubectl("create", "namespace", NAMESPACE)
    try:
        helm("upgrade", "--install", "sshload", str(ROOT / "charts/sshload"), "--create-namespace", "--wait",
             "--values", str(ROOT / "charts/sshload/values-small.yaml"), "--take-ownership", "--force-conflicts",
             "--timeout=280s", "--set", f"image.registry={os.environ['SSHLOAD_IMAGE_REGISTRY']}",
             "--set", f"image.tag={os.environ['SSHLOAD_IMAGE_TAG']}",
             "--set", f"namespaced={str(NAMESPACED).lower()}")  # fmt: skip
        asyncio.run(measure(options))
    finally:
        kubectl("delete", "namespace", NAMESPACE, "--wait=true", "--timeout=280s")


async def measure(options: argparse.Namespace) -> None:
    """Take all measurements, one after the other."""
    async with connected() as cluster:
        await measure_idle(options, "no tests")
        finished = await measure_one_run(cluster, options.short_load_seconds)
        await measure_requests(cluster, options)
        await measure_at_once(cluster, options.at_once)
        await measure_reason(cluster, "bad image", "ImageUnavailable", workers={"image": "localhost/no-such:image"})
        refused = {"managed": {"sshd": {"extraConfig": {"NoSuchDirective": "yes"}}}}
        await measure_reason(cluster, "bad sshd_config", "SshdConfigRejected", target=refused)
        await fill(cluster, finished, options.finished_tests)
    await measure_idle(options, f"{options.finished_tests:,} finished tests")


async def measure_idle(options: argparse.Namespace, what: str) -> None:
    """Wait until the operator has come to rest, then watch it do nothing."""
    idle_s = options.idle_seconds
    before = await usage_at_rest(options.rest_seconds)
    after = await usage_after(idle_s)
    report(f"idle, {what}: CPU", f"{(after.cpu_s - before.cpu_s) / idle_s * 1000:.2f} mcore")
    report(f"idle, {what}: memory", f"{after.rss_bytes / 2**20:.1f} MiB RSS")
    report(f"idle, {what}: API requests", f"{(after.requests - before.requests) / idle_s * 60:.1f} per minute")


async def measure_one_run(cluster: Cluster, load_s: int) -> Object:
    """Measure the life of one test and return it as it is at its end."""
    applied_unix_s = time.time()
    await create(cluster, load_test("one", f"{load_s}s"))
    await until(cluster, "one", lambda status: bool(status.get("phase")))
    report("apply to first status", f"{time.time() - applied_unix_s:.2f} s")
    test = await until(cluster, "one", lambda status: status.get("phase") == "Finished")
    finished_unix_s = time.time()
    name = test["status"]["resultsConfigMap"]
    summary = json.loads(kubectl("get", "configmap", name, "-n", NAMESPACE, "-o", r"jsonpath={.data.results\.json}"))
    results = read_fitting(TestStatus, test["status"]).results
    login = None if results is None else results.step("login")
    if login is None or login.mean_ms is None:
        raise SystemExit("no login succeeded")
    first_login_unix_s = summary["started_unix_s"] + login.mean_ms / 1000
    report("apply to first measured login (load's start + mean login)", f"{first_login_unix_s - applied_unix_s:.2f} s")
    last_due_unix_s = summary["started_unix_s"] + load_s
    report("end of load to terminal phase with results", f"{finished_unix_s - last_due_unix_s:.2f} s")
    report("its verdict", f"{test['status']['verdict']} ({test['status']['reason']})")
    return test


async def measure_requests(cluster: Cluster, options: argparse.Namespace) -> None:
    """Count the requests of one longer run, from apply until all that it had made is deleted."""
    before = usage()
    began_s = time.monotonic()
    await create(cluster, load_test("long", f"{options.long_load_seconds}s"))
    await until(cluster, "long", lambda status: status.get("phase") == "Finished")
    took_s = time.monotonic() - began_s
    requests = (await usage_at_rest(options.rest_seconds)).requests - before.requests
    report(f"API requests of one run of {options.long_load_seconds} s", f"{requests:.0f} in {took_s:.0f} s")
    report("API requests per minute of a running test", f"{requests / took_s * 60:.0f}")


async def measure_at_once(cluster: Cluster, count: int) -> None:
    """Start tests at the same time, and see all of their loads run."""
    names = [f"at-once-{number}" for number in range(count)]
    began_s = time.monotonic()
    await asyncio.gather(*(create(cluster, load_test(name, "30s", workers={"replicas": 1}, **SMALL)) for name in names))
    reached = ("Running", "Collecting", "Finished")
    found = await asyncio.gather(
        *(until(cluster, name, lambda status: status.get("phase") in reached, ask_every_s=0.3) for name in names)
    )
    ran = sum(test["status"]["phase"] == "Running" for test in found)
    report(f"{count} tests at once: all running", f"{time.monotonic() - began_s:.1f} s ({ran} of {count} running)")
    for name in names:
        await cluster.delete(object_path(TEST, NAMESPACE, name))


async def measure_reason(cluster: Cluster, what: str, reason: str, **spec: Any) -> None:
    """Measure how long a fault takes to be named in the status."""
    name = what.replace(" ", "-").replace("_", "-")
    began_s = time.monotonic()
    await create(cluster, load_test(name, "10s", **spec))
    await until(cluster, name, lambda status: status.get("reason") == reason)
    report(f"{what}: {reason} in status", f"{time.monotonic() - began_s:.1f} s")
    await until(cluster, name, lambda status: status.get("phase") == "Finished")
    report(f"{what}: finished", f"{time.monotonic() - began_s:.1f} s")


async def fill(cluster: Cluster, finished: Object, count: int) -> None:
    """Make copies of a finished test while the operator is away, then start the operator."""
    kubectl("scale", "deployment", "-n", SYSTEM, "-l", "app.kubernetes.io/name=sshload", "--replicas=0")
    kubectl("wait", "pod", "-n", SYSTEM, "-l", "app.kubernetes.io/component=operator", "--for=delete", "--timeout=280s")
    at_a_time = asyncio.Semaphore(8)
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    status = {**finished["status"], "completionTime": now}

    async def copy(number: int) -> None:
        async with at_a_time:
            test = {"apiVersion": finished["apiVersion"], "kind": finished["kind"], "spec": deepcopy(finished["spec"]),
                    "metadata": {"name": f"finished-{number}", "namespace": NAMESPACE}}  # fmt: skip
            await create(cluster, test)
            made = await cluster.read(TEST, NAMESPACE, f"finished-{number}")
            assert made is not None
            await cluster.write_status(TEST, made, status)

    await asyncio.gather(*(copy(number) for number in range(count)))
    kubectl("scale", "deployment", "-n", SYSTEM, "-l", "app.kubernetes.io/name=sshload", "--replicas=1")
    kubectl("rollout", "status", "deployment", "-n", SYSTEM, "-l", "app.kubernetes.io/name=sshload", "--timeout=280s")


SMALL: Mapping[str, Any] = {"load": {"arrivals": {"stages": [{"rate": 1, "duration": "30s"}]}}}


def load_test(name: str, duration: str, **spec: Any) -> Object:
    """Return a small test against a managed target; `spec` replaces parts."""
    return {
        "apiVersion": "sshload.dev/v1alpha1",
        "kind": "SSHLoadTest",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "target": {"managed": {"sshd": {"maxStartups": "3000:30:3000"}}},
            "scenario": {"steps": [{"exec": {"command": "uptime"}}]},
            "load": {"arrivals": {"stages": [{"rate": 5, "duration": duration}]}},
            "warmUp": "0s",
            "workers": {"replicas": 2},
            **spec,
        },
    }


@asynccontextmanager
async def connected() -> AsyncIterator[Cluster]:
    """Connect to the API server as KUBECONFIG says."""
    cluster = Cluster(await api_client(os.environ["KUBECONFIG"]), lambda _verb, _resource: None)
    try:
        yield cluster
    finally:
        await cluster.close()


async def create(cluster: Cluster, test: Object) -> None:
    """Create a test."""
    assert await cluster.create(object_path(TEST, NAMESPACE, test["metadata"]["name"]), test)


async def until(
    cluster: Cluster, name: str, holds: Callable[[Mapping[str, Any]], bool], ask_every_s: float = ASK_EVERY_S
) -> Object:
    """Return the test as soon as its status fits."""
    give_up_s = time.monotonic() + LIMIT_S
    while True:
        test = await cluster.read(TEST, NAMESPACE, name)
        status = (test or {}).get("status", {})
        if test is not None and holds(status):
            return test
        assert time.monotonic() < give_up_s, f"{name} after {LIMIT_S} s: {json.dumps(status)[:2000]}"
        await asyncio.sleep(ask_every_s)


async def usage_at_rest(look_every_s: float) -> Usage:
    """Wait until the operator has hardly used any CPU between two looks, then return its metrics."""
    before = usage()
    while (now := await usage_after(look_every_s)).cpu_s - before.cpu_s > AT_REST_CPU_S:
        before = now
    return now


async def usage_after(wait_s: float) -> Usage:
    """Wait, then ask the operator for its own metrics."""
    await asyncio.sleep(wait_s)
    return usage()


def usage() -> Usage:
    """Ask the operator for its own metrics."""
    (pod,) = kubectl("get", "pods", "-n", SYSTEM, "-l", "app.kubernetes.io/component=operator", "-o", "name",
                     "--field-selector=status.phase=Running").split()  # fmt: skip
    path = f"{collection_path('v1', SYSTEM, 'pods')}/{pod.removeprefix('pod/')}:9100/proxy/metrics"
    samples = [line.rsplit(" ", 1) for line in kubectl("get", "--raw", path).splitlines() if not line.startswith("#")]
    return Usage(
        cpu_s=total(samples, "process_cpu_seconds_total"),
        rss_bytes=total(samples, "process_resident_memory_bytes"),
        requests=total(samples, "sshload_operator_api_requests_total"),
    )


def total(samples: Sequence[Sequence[str]], name: str) -> float:
    """Return the sum over all labels of a metric."""
    return sum(float(value) for series, value in samples if series.partition("{")[0] == name)


def kubectl(*arguments: str) -> str:
    """Run kubectl and return what it prints."""
    return run(os.environ["SSHLOAD_KUBECTL"], *arguments)


def helm(*arguments: str) -> str:
    """Run helm and return what it prints."""
    return run(os.environ["SSHLOAD_HELM"], "--namespace", SYSTEM, *arguments)


def run(*command: str) -> str:
    """Run a command and return what it prints; its complaints go to the terminal."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--finished-tests", type=int, default=1000, help="copies of a finished test")
    parser.add_argument("--at-once", type=int, default=10, help="tests that start at the same time")
    parser.add_argument("--idle-seconds", type=float, default=60.0, help="how long the idle operator is watched")
    parser.add_argument("--rest-seconds", type=float, default=10.0, help="between two looks for whether it is idle")
    parser.add_argument("--short-load-seconds", type=int, default=10, help="load of the test that is copied")
    parser.add_argument("--long-load-seconds", type=int, default=60, help="load of the run whose requests are counted")
    return parser.parse_args()


def report(what: str, figure: str) -> None:
    """Print one line of the table."""
    print(f"| {what:<62} | {figure} |", flush=True)  # noqa: T201 - its output is what it is for


if __name__ == "__main__":
    main()
