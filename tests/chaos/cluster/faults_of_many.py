"""Many tests at once, in namespaces of many and of few; and many finished tests when the operator starts."""

import json
import os
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from chaos_case import Case, Found
from chaos_stage import Stage
from cluster_oracles import end_of, steady, went_back
from live_cluster import LiveCluster
from sshload_operator.control.api_server.cluster import FIELD_MANAGER

AT_ONCE = 8
_TESTS = int(os.environ.get("TESTS") or 200)
_OF_FEW = _TESTS // 10
_OF_MANY = _TESTS - 3 * _OF_FEW
_READY_WITHIN_S = 60.0
_MOST_RSS_MIB = 300
FINISHED = 1000
_WATCHED_FOR_S = 20.0


def cases() -> Iterator[Case]:
    """Yield the cases."""
    yield Case(f"{FINISHED} finished tests when the operator starts", _finished)
    yield Case(f"{_TESTS} tests at once, {AT_ONCE} may run", _at_once)


def _at_once(stage: Stage) -> Found:
    """Apply them in four namespaces, one of which has most of them."""
    clusters = [stage.namespace() for _ in range(4)]
    counts = dict(zip([cluster.namespace for cluster in clusters], (_OF_MANY, *([_OF_FEW] * 3)), strict=True))
    tests = {
        cluster.namespace: [_tiny(f"one-{number:03}") for number in range(counts[cluster.namespace])]
        for cluster in clusters
    }
    stage.release.install("--set", f"limits.concurrentTests={AT_ONCE}")
    began = time.monotonic()
    for cluster in clusters:
        cluster.apply(*tests[cluster.namespace])
    ended = [end_of(stage, cluster, test) for cluster in clusters for test in tests[cluster.namespace]]
    took_s = time.monotonic() - began
    stage.release.install()
    found = Found.of(*ended).with_problems(*_unfair(stage, clusters))
    for cluster in clusters:
        found = found.with_problems(*went_back(stage, cluster))
    most = _most_at_once(stage, clusters)
    too_many = (f"{most} tests were under way at once, and {AT_ONCE} may be",) if most > AT_ONCE else ()
    return found.with_problems(*too_many).saying(f"{len(ended)} tests in {took_s:.0f} s, at most {most} at once")


def _most_at_once(stage: Stage, clusters: list[LiveCluster]) -> int:
    """Return how many of the tests were under way at once at most, by the order of what the API server told."""
    under_way, most = set[tuple[str, str]](), 0
    namespaces = {cluster.namespace for cluster in clusters}
    for happening in list(stage.followed.history):
        key = (happening.body["metadata"]["namespace"], happening.name)
        if key[0] in namespaces:
            is_at_rest = happening.body.get("status", {}).get("phase") in (None, "Pending", "Finished")
            under_way = under_way - {key} if is_at_rest else under_way | {key}
            most = max(most, len(under_way))
    return most


def _unfair(stage: Stage, clusters: list[LiveCluster]) -> Iterator[str]:
    """Yield where a namespace of few tests waited for more of the one of many than its turn asks for.

    What began before the last test of the few was there took nothing from them.
    """
    many, *few = (_bodies(stage, cluster) for cluster in clusters)
    for tests in few:
        asked_at = max(datetime.fromisoformat(test["metadata"]["creationTimestamp"]) for test in tests)
        last_start = max(map(_start, tests))
        before = sum(asked_at < _start(test) < last_start for test in many)
        if before > _OF_FEW + AT_ONCE:
            yield f"{before} tests of the namespace of {_OF_MANY} began while one of {_OF_FEW} waited"


def _bodies(stage: Stage, cluster: LiveCluster) -> list[Mapping[str, Any]]:
    return [body for (namespace, _), body in list(stage.followed.bodies.items()) if namespace == cluster.namespace]


def _start(test: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(test["status"]["startTime"])


def _tiny(name: str) -> dict[str, Any]:
    test = steady(name, "2s")
    load = {"arrivals": {"stages": [{"rate": 2, "duration": "2s"}]}}
    # The deadline is counted from the start of the run; how long a test waits for its turn is no part of it.
    return {**test, "spec": {**test["spec"], "load": load, "workers": {"replicas": 1}, "deadline": "30m"}}


def _finished(stage: Stage) -> Found:
    """Write finished tests while the operator is away, and look what it does with them when it is back."""
    cluster = stage.namespace()
    model = steady("model", "5s")
    cluster.apply(model)
    found = Found.of(end_of(stage, cluster, model))
    body = cluster.get("sshloadtest", "model")
    with stage.release.away():
        copy_finished(cluster, body, FINISHED)
        before = versions(cluster)
        began = time.monotonic()
    ready_s = time.monotonic() - began
    at_start = usage(stage)
    time.sleep(_WATCHED_FOR_S)
    later = usage(stage)
    found = found.saying(
        f"ready after {ready_s:.1f} s",
        f"{later['process_resident_memory_bytes'] / 2**20:.0f} MiB RSS",
        f"{later['sshload_operator_api_requests_total']:.0f} requests, of which"
        f" {later['sshload_operator_api_requests_total'] - at_start['sshload_operator_api_requests_total']:.0f} in"
        f" {_WATCHED_FOR_S:g} s after it was ready",
    )
    return found.with_problems(*touched(cluster, before), *_too_much(ready_s, later))


def _too_much(ready_s: float, later: dict[str, float]) -> Iterator[str]:
    if ready_s > _READY_WITHIN_S:
        yield f"the operator was ready after {ready_s:.0f} s"
    if later["process_resident_memory_bytes"] > _MOST_RSS_MIB * 2**20:
        yield f"the operator holds {later['process_resident_memory_bytes'] / 2**20:.0f} MiB"


def touched(cluster: LiveCluster, before: dict[str, str]) -> Iterator[str]:
    """Yield where finished tests were changed, or load was started, in a namespace without other tests."""
    after = versions(cluster)
    changed = sorted(name for name, version in before.items() if after.get(name) != version)
    if changed:
        yield f"{len(changed)} finished tests were changed, such as {changed[0]}: {cluster.get('slt', changed[0])}"
    pods = cluster.kubectl("get", "pods,jobs,deployments", "-o", "name").split()
    if pods:
        yield f"load was started: {pods[:5]}"


def versions(cluster: LiveCluster) -> dict[str, str]:
    """Return the resourceVersion of each test of a namespace."""
    words = "jsonpath={range .items[*]}{.metadata.name} {.metadata.resourceVersion}{'\\n'}{end}"
    lines = cluster.kubectl("get", "sshloadtests", "-o", words).splitlines()
    return dict(line.split(" ", 1) for line in lines)


def copy_finished(cluster: LiveCluster, body: dict[str, Any], count: int) -> None:
    """Write copies of a finished test, with its status, while the operator is away."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    kept = {"apiVersion": body["apiVersion"], "kind": body["kind"]}
    names = [f"finished-{number}" for number in range(count)]
    made = [{**kept, "metadata": {"name": name}, "spec": body["spec"]} for name in names]
    cluster.kubectl("create", "-f", "-", stdin=_list(made))
    status = {**body["status"], "completionTime": now}
    ended = [{**kept, "metadata": {"name": name, "namespace": cluster.namespace}, "status": status} for name in names]
    as_operator = ("--server-side", "--subresource=status", f"--field-manager={FIELD_MANAGER}")
    cluster.kubectl("apply", *as_operator, "--validate=false", "-f", "-", stdin=_list(ended))


def _list(items: list[dict[str, Any]]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


def usage(stage: Stage) -> dict[str, float]:
    """Return the operator's own metrics, summed over labels."""
    (pod,) = (pod["metadata"]["name"] for pod in stage.operator_pods() if "deletionTimestamp" not in pod["metadata"])
    namespace = stage.release.cluster.namespace
    page = stage.release.cluster.kubectl(
        "get", "--raw", f"/api/v1/namespaces/{namespace}/pods/{pod}:9100/proxy/metrics"
    )
    sums: dict[str, float] = {}
    for line in page.splitlines():
        if not line.startswith("#"):
            series, _, value = line.rpartition(" ")
            name = series.partition("{")[0]
            sums[name] = sums.get(name, 0.0) + float(value)
    return sums
