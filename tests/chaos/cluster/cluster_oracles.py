"""What has to hold of every SSHLoadTest on the cluster, whatever befell it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from chaos_oracles import backwards
from chaos_stage import Stage
from live_cluster import LiveCluster, load_test
from sshload_contract.quantities import duration_s

GRACE_S = 30.0
"""For how long after its deadline a test may still be on its way to its end: the operator may have been away."""

CHILDREN_GONE_WITHIN_S = 120.0
Manifest = Mapping[str, Any]
PASSED = (("Passed", "NoThresholds"),)


def steady(name: str, duration: str = "5s", **spec: Any) -> dict[str, Any]:
    """Return a test of four logins per second by two workers, which has four minutes."""
    load = {"arrivals": {"stages": [{"rate": 4, "duration": duration}]}}
    return {**load_test(name, load=load, deadline="4m", startTimeout="2m", **spec)}


@dataclass(frozen=True, slots=True)
class Ended:
    """How a test ended, and what was wrong with that."""

    status: Mapping[str, Any]
    problems: tuple[str, ...]

    def __str__(self) -> str:
        word = f"{self.status.get('verdict', self.status.get('phase', 'no status'))}"
        return f"{word} {self.status.get('reason', '')}".strip()


def end_of(
    stage: Stage, cluster: LiveCluster, test: Manifest, ends: Sequence[tuple[str, str]] = PASSED, says: str = ""
) -> Ended:
    """Wait for the end of a test, which has to be one of `ends` (verdict and reason), and `says` this in its words."""
    name, within_s = test["metadata"]["name"], duration_s(test["spec"]["deadline"]) + GRACE_S
    try:
        status = stage.followed.wait(cluster, name, lambda status: status.get("phase") == "Finished", "end", within_s)
    except AssertionError as error:
        return Ended(stage.followed.status(cluster, name), (str(error),))
    return Ended(status, tuple(f"{name}: {found}" for found in _problems(cluster, test, status, ends, says)))


def _problems(
    cluster: LiveCluster, test: Manifest, status: Manifest, ends: Sequence[tuple[str, str]], says: str
) -> Iterator[str]:
    if (status["verdict"], status["reason"]) not in ends:
        yield f"{status['verdict']} ({status['reason']}): {status['message'][:600]}"
    if says not in status["message"]:
        yield f"the message does not say {says!r}: {status['message'][:600]}"
    yield from _false_counts(test, status)
    took_s = (_time(status, "completionTime") - _time(status, "startTime")).total_seconds()
    if took_s > duration_s(test["spec"]["deadline"]) + GRACE_S:
        yield f"it took {took_s:g} s, and its deadline is {test['spec']['deadline']}"
    try:
        cluster.gone(lambda: cluster.children(test["metadata"]["name"]), "children", CHILDREN_GONE_WITHIN_S)
    except AssertionError as error:
        yield str(error)


def _false_counts(test: Manifest, status: Manifest) -> Iterator[str]:
    results = status.get("results")
    if results is None or "arrivals" not in test["spec"]["load"]:
        return
    asked = sum(stage["rate"] * duration_s(stage["duration"]) for stage in test["spec"]["load"]["arrivals"]["stages"])
    if results["iterations"] > asked or (status["verdict"] == "Passed" and results["iterations"] != asked):
        yield f"{results['iterations']} iterations, and the load makes {asked:g}"
    if status["verdict"] == "Passed" and "loginDifference" in results["target"]:
        yield f"the target counts {results['target']['loginDifference']} logins otherwise than the workers"


def _time(status: Manifest, field: str) -> datetime:
    return datetime.fromisoformat(status[field])


def went_back(stage: Stage, cluster: LiveCluster) -> Iterator[str]:
    """Yield where the status of a test in a namespace went back."""
    yield from backwards(stage.followed.in_namespace(cluster.namespace))


def is_loading(status: Manifest) -> bool:
    """Tell whether the load of a test has completed iterations, by its status."""
    return status.get("phase") == "Running" and status.get("progress", {}).get("iterations", 0) > 0
