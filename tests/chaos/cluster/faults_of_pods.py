"""Pods that come to a limit of their own, which is safe for the machine: memory, disk, processes. And two operators."""

import contextlib
import time
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from chaos_case import Case, Found
from chaos_stage import OPERATOR, Stage
from cluster_oracles import PASSED, end_of, is_loading, steady, went_back
from live_cluster import LiveCluster

_CGROUPS = Path("/sys/fs/cgroup")
_WORKER_LOST = (("Invalid", "WorkerLost"),)
_FEW_PROCESSES_FOR_S = 15.0
_TAKES_MEMORY = "self.kept = [*getattr(self, 'kept', []), bytes(range(256)) * 32_768]"
_TAKES_DISK = "print('x' * 4_000_000, flush=True)"
"""Its log is on the node's disk. /tmp is in memory, and the rest cannot be written."""

_LOCUSTFILE = """\
from sshload_worker.locustfile import SSHUser, task


class Hungry(SSHUser):
    @task
    def take(self) -> None:
        self.execute("true", name="take")
        {deed}
"""


def cases() -> Iterator[Case]:
    """Yield the cases."""
    memory, disk = {"memory": "192Mi"}, {"ephemeral-storage": "20Mi"}
    yield Case("worker over its memory limit", partial(_hungry, deed=_TAKES_MEMORY, limits=memory, says="OOMKilled"))
    yield Case("worker over its disk limit", partial(_hungry, deed=_TAKES_DISK, limits=disk, says="ephemeral"))
    yield Case("target without room for processes", _few_processes)
    yield Case("two operators, the one that acts is killed", _two_operators)


def _hungry(stage: Stage, deed: str, limits: Mapping[str, str], says: str) -> Found:
    """Let a locustfile take more and more of what its pod has little of; a test beside it has its own pods."""
    cluster = stage.namespace()
    bystander, hungry = steady("bystander", "30s"), steady("hungry")
    hungry["spec"] |= {
        "scenario": {"locustfile": {"configMapRef": {"name": "hungry"}, "key": "hungry.py"}, "sessionReuse": "user"},
        "load": {"users": {"stages": [{"users": 2, "duration": "90s"}], "thinkTime": {"min": "500ms", "max": "500ms"}}},
        "workers": {"replicas": 1, "resources": {"limits": dict(limits)}},
    }
    code = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "hungry"}}
    cluster.apply({**code, "data": {"hungry.py": _LOCUSTFILE.format(deed=deed)}}, hungry, bystander)
    found = Found.of(end_of(stage, cluster, hungry, _WORKER_LOST, says), end_of(stage, cluster, bystander))
    return found.with_problems(*went_back(stage, cluster))


def _few_processes(stage: Stage) -> Found:
    """Let the target's pod have no process more than it has, for a while."""
    cluster = stage.namespace()
    bystander, crowded = steady("bystander", "30s"), steady("crowded", "30s")
    cluster.apply(bystander, crowded)
    stage.followed.wait(cluster, "crowded", is_loading, "load", 120)
    with _no_more_processes(cluster, "crowded"):
        time.sleep(_FEW_PROCESSES_FOR_S)
    ends = (("Failed", "ManyFailed"),)
    found = Found.of(end_of(stage, cluster, crowded, ends), end_of(stage, cluster, bystander))
    return found.with_problems(*went_back(stage, cluster))


@contextlib.contextmanager
def _no_more_processes(cluster: LiveCluster, test: str) -> Iterator[None]:
    (pod,) = cluster.labelled("pods", f"sshload.dev/test={test},sshload.dev/role=target")
    (limit,) = (path / "pids.max" for path in _CGROUPS.glob(f"**/pod{pod['metadata']['uid']}") if _counts_pids(path))
    now = limit.with_name("pids.current").read_text()
    before = limit.read_text()
    limit.write_text(now)
    try:
        yield
    finally:
        limit.write_text(before)


def _counts_pids(path: Path) -> bool:
    return (path / "pids.max").exists()


def _two_operators(stage: Stage) -> Found:
    """Kill the operator that holds the Lease while another one waits for it, and a test runs."""
    cluster, operators = stage.namespace(), stage.release.cluster
    test: dict[str, Any] = steady("runs", "60s")
    (first,) = _names(operators)
    (deployment,) = operators.kubectl("get", "deployment", "-l", OPERATOR, "-o", "name").split()
    operators.kubectl("scale", deployment, "--replicas=2")
    operators.gone(lambda: len(_names(operators)) < 2, "lack of a second operator")
    cluster.apply(test)
    stage.followed.wait(cluster, "runs", is_loading, "load", 120)
    operators.kubectl("delete", "pod", first, "--grace-period=0", "--force")
    found = Found.of(end_of(stage, cluster, test, PASSED))
    operators.kubectl("scale", deployment, "--replicas=1")
    operators.kubectl("rollout", "status", deployment, "--timeout=280s")
    runs = {one.body["status"]["run"] for one in stage.followed.in_namespace(cluster.namespace) if _has_run(one.body)}
    twice = (f"it had {len(runs)} runs",) if len(runs) != 1 else ()
    return found.with_problems(*twice, *went_back(stage, cluster))


def _has_run(body: Mapping[str, Any]) -> bool:
    return "run" in body.get("status", {})


def _names(operators: LiveCluster) -> list[str]:
    pods = operators.labelled("pods", OPERATOR)
    return [
        pod["metadata"]["name"]
        for pod in pods
        if pod["status"]["phase"] == "Running" and "deletionTimestamp" not in pod["metadata"]
    ]
