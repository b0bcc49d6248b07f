"""A second node, with workers or the target on it, that is lost in mid-run or drained by evictions."""

import contextlib
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from chaos_case import Case, Found
from chaos_stage import Stage
from cluster_daemons import cluster
from cluster_oracles import end_of, is_loading, steady, went_back
from live_cluster import LiveCluster

SECOND = "second"
_TAINT = "sshload.dev/chaos"
_THERE: Mapping[str, Any] = {
    "nodeSelector": {"kubernetes.io/hostname": SECOND},
    "tolerations": [{"key": _TAINT, "operator": "Exists"}],
}
_EVICTED = "EvictionByEvictionAPI"
_LONG = "90s"
Ends = tuple[tuple[str, str], ...]
_WORKER_LOST: Ends = (("Invalid", "WorkerLost"),)
_TARGET_LOST: Ends = (("Error", "TargetLost"),)


def cases() -> Iterator[Case]:
    """Yield the cases. What befalls a node befalls no test beside it."""
    yield Case("node of the workers lost", partial(_lost, part="workers", ends=_WORKER_LOST))
    yield Case("node of the target lost", partial(_lost, part="target", ends=_TARGET_LOST))
    yield Case("node of the workers drained", partial(_drained, part="workers", ends=_WORKER_LOST))
    yield Case("node of the target drained", partial(_drained, part="target", ends=_TARGET_LOST))


@contextlib.contextmanager
def second_node() -> Iterator[str]:
    """Add a node to the cluster, and take it away when the block ends."""
    cluster("node-add", SECOND)
    try:
        yield SECOND
    finally:
        cluster("node-remove", SECOND)


def _lost(stage: Stage, part: str, ends: Ends) -> Found:
    with second_node():
        namespace, there, here = _loading(stage, part)
        cluster("node-lose", SECOND)
        found = Found.of(end_of(stage, namespace, there, ends), end_of(stage, namespace, here))
        return found.with_problems(*went_back(stage, namespace))


def _drained(stage: Stage, part: str, ends: Ends) -> Found:
    with second_node():
        namespace, there, here = _loading(stage, part)
        namespace.kubectl("drain", SECOND, "--ignore-daemonsets", "--delete-emptydir-data", "--force")
        found = Found.of(end_of(stage, namespace, there, ends, says=_EVICTED), end_of(stage, namespace, here))
        return found.with_problems(*went_back(stage, namespace))


def _loading(stage: Stage, part: str) -> tuple[LiveCluster, dict[str, Any], dict[str, Any]]:
    """Return a namespace with two tests under load: one has a part on the second node, the other is on the first."""
    namespace = stage.namespace()
    namespace.kubectl("taint", "node", SECOND, f"{_TAINT}=:NoSchedule")  # for all else, the master of that run included
    there, here = steady("there", _LONG), steady("here", "20s")
    _place(there, **{part: _THERE})
    namespace.apply(there, here)
    for test in (there, here):
        stage.followed.wait(namespace, test["metadata"]["name"], is_loading, "load", 120)
    (pod, *_) = namespace.labelled("pods", f"sshload.dev/test=there,sshload.dev/role={part.removesuffix('s')}")
    assert pod["spec"]["nodeName"] == SECOND
    return namespace, there, here


def _place(
    test: dict[str, Any], workers: Mapping[str, Any] | None = None, target: Mapping[str, Any] | None = None
) -> None:
    spec = test["spec"]
    spec["workers"] = {**spec["workers"], **(workers or {})}
    spec["target"]["managed"] = {**spec["target"]["managed"], **(target or {})}
