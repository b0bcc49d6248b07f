"""A second node with a part of a run: it stays, is lost in mid-run, drained by evictions, or short of a resource."""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from chaos_case import Case, Found
from chaos_stage import Stage
from cluster_daemons import cluster
from cluster_oracles import Ended, end_of, is_loading, steady, went_back
from live_cluster import LiveCluster

SECOND = "second"
_HOSTNAME = "kubernetes.io/hostname"
_ON_SECOND: Mapping[str, Any] = {"nodeSelector": {_HOSTNAME: SECOND}}
_IS_SECOND = {"matchExpressions": [{"key": _HOSTNAME, "operator": "In", "values": [SECOND]}]}
_WITHOUT_MASTER: Mapping[str, Any] = {  # the master takes nothing of affinity
    "affinity": {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [_IS_SECOND]}}
    }
}
_EVICTED = "EvictionByEvictionAPI"
_EVICTED_BY_KUBELET = "TerminationByKubelet"
_COLLECTED = "DeletionByPodGC"
_LONG = "90s"
Ends = tuple[tuple[str, str], ...]
_WORKER_LOST: Ends = (("Invalid", "WorkerLost"),)
_TARGET_LOST: Ends = (("Error", "TargetLost"),)
_MASTER_LOST: Ends = (("Error", "MasterLost"),)
_DRAINED: Ends = (*_WORKER_LOST, *_MASTER_LOST)
"""The workers are on the master's node too, and whether it hears of their end before its own is chance."""

_UNCONFIRMED: Ends = (("Invalid", "CountsDisagree"),)
"""Until its node is deleted or five minutes are over, the API server has a lost pod as running."""


@dataclass(frozen=True, slots=True)
class Part:
    """Which pods of a run are on the second node: of which role, and what in the spec puts them there."""

    role: str
    workers: Mapping[str, Any] = field(default_factory=dict)
    target: Mapping[str, Any] = field(default_factory=dict)


_WORKERS = Part("worker", workers=_WITHOUT_MASTER)
_MASTER = Part("master", workers=_ON_SECOND)
_TARGET = Part("target", target=_ON_SECOND)


def cases() -> Iterator[Case]:
    """Yield the cases. What befalls a node befalls no test beside it."""
    for part in (_WORKERS, _MASTER, _TARGET):
        yield Case(f"node of the {part.role} of its own", partial(_across, part=part))
    yield Case("node of the workers lost", partial(_lost, part=_WORKERS, ends=_WORKER_LOST))
    yield Case("node of the target lost", partial(_lost, part=_TARGET, ends=_UNCONFIRMED))
    yield Case("node of the target lost and deleted", partial(_lost_and_deleted, part=_TARGET, ends=_TARGET_LOST))
    yield Case("node of the master lost and deleted", partial(_lost_and_deleted, part=_MASTER, ends=_MASTER_LOST))
    for of in ("memory", "nodefs", "pid"):
        yield Case(f"node of the workers short of {of}", partial(_short, part=_WORKERS, ends=_WORKER_LOST, of=of))
    yield Case("node of the target short of memory", partial(_short, part=_TARGET, ends=_TARGET_LOST, of="memory"))
    yield Case("node of the workers drained", partial(_drained, part=_WORKERS, ends=_WORKER_LOST))
    yield Case("node of the target drained", partial(_drained, part=_TARGET, ends=_TARGET_LOST))
    yield Case("node of the master drained", partial(_drained, part=_MASTER, ends=_DRAINED))


@contextlib.contextmanager
def second_node() -> Iterator[str]:
    """Add a node to the cluster, and take it away when the block ends."""
    cluster("node-add", SECOND)
    try:
        yield SECOND
    finally:
        cluster("node-remove", SECOND)


def _across(stage: Stage, part: Part) -> Found:
    """Let nothing happen: a run whose pods are on two nodes passes."""
    with second_node():
        namespace, there, here = _loading(stage, part, "20s")
        return _found(stage, namespace, end_of(stage, namespace, there), end_of(stage, namespace, here))


def _lost(stage: Stage, part: Part, ends: Ends) -> Found:
    with second_node():
        namespace, there, here = _loading(stage, part, _LONG)
        cluster("node-lose", SECOND)
        return _found(stage, namespace, end_of(stage, namespace, there, ends), end_of(stage, namespace, here))


def _lost_and_deleted(stage: Stage, part: Part, ends: Ends) -> Found:
    """Let the API server lose the Node too, as a cloud's controller does: the controller manager collects the pods."""
    with second_node():
        namespace, there, here = _loading(stage, part, "200s")
        cluster("node-lose", SECOND)
        namespace.kubectl("delete", "node", SECOND)
        ended = end_of(stage, namespace, there, ends, says=_COLLECTED)
        return _found(stage, namespace, ended, end_of(stage, namespace, here))


def _short(stage: Stage, part: Part, ends: Ends, of: str) -> Found:
    """Let the kubelet evict what is on its node."""
    with second_node():
        namespace, there, here = _loading(stage, part, _LONG)
        cluster("node-pressure", SECOND, f"{of}.available")
        ended = end_of(stage, namespace, there, ends, says=_EVICTED_BY_KUBELET)
        return _found(stage, namespace, ended, end_of(stage, namespace, here))


def _drained(stage: Stage, part: Part, ends: Ends) -> Found:
    with second_node():
        namespace, there, here = _loading(stage, part, _LONG)
        namespace.kubectl("drain", SECOND, "--ignore-daemonsets", "--delete-emptydir-data", "--force")
        ended = end_of(stage, namespace, there, ends, says=_EVICTED)
        return _found(stage, namespace, ended, end_of(stage, namespace, here))


def _found(stage: Stage, namespace: LiveCluster, *ends: Ended) -> Found:
    return Found.of(*ends).saying(f"it says: {ends[0].status['message']}").with_problems(*went_back(stage, namespace))


def _loading(stage: Stage, part: Part, duration: str) -> tuple[LiveCluster, dict[str, Any], dict[str, Any]]:
    """Return a namespace with two tests under load: one has a part on the second node, the other is on the first."""
    namespace = stage.namespace()
    namespace.kubectl("taint", "node", SECOND, "sshload.dev/chaos=:PreferNoSchedule")
    there, here = steady("there", duration), steady("here", "20s")
    there["spec"] |= {"deadline": "6m", "workers": {**there["spec"]["workers"], **part.workers}}
    there["spec"]["target"] = {"managed": {**there["spec"]["target"]["managed"], **part.target}}
    namespace.apply(there, here)
    for test in (there, here):
        stage.followed.wait(namespace, test["metadata"]["name"], is_loading, "load", 120)
    for pod in namespace.labelled("pods", "sshload.dev/test in (there,here)"):
        labels, node = pod["metadata"]["labels"], pod["spec"]["nodeName"]
        mine = labels["sshload.dev/test"] == "there" and labels["sshload.dev/role"] == part.role
        assert not mine or node == SECOND, f"{pod['metadata']['name']} is on {node}"
    return namespace, there, here
