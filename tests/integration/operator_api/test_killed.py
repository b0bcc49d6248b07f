"""The operator killed at each request of a run that writes, before and after the API server has seen it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from api_proxy import ApiProxy, Write
from live_cluster import LiveCluster, load_test
from master_words import says_running, says_summary
from operator_process import OperatorProcess
from played_pods import READY, PlayedPods, ended

Pods = Callable[[str], PlayedPods]

# (method, end of the path), in the order in which a run comes by.
AT_THE_START = (
    ("PATCH", "-target"),  # the first of NetworkPolicy and Service
    ("PATCH", "-config"),
    ("POST", "/secrets"),
    ("PATCH", "-target"),  # Deployment and Service
    ("PATCH", "-master"),
    ("PATCH", "-workers"),
    ("PATCH", "/status"),
    ("POST", "/events"),
)
AT_THE_END = (
    ("PATCH", "-results"),
    ("PATCH", "/status"),
    ("DELETE", "-workers"),
    ("DELETE", "-keys"),
    ("DELETE", "-target"),
    ("DELETE", "-master"),
    ("DELETE", "-master"),
)


class Killer:
    """Kills the operator at each of some writes, one after the other."""

    def __init__(self, operator: OperatorProcess) -> None:
        self._operator = operator
        self._points: Iterator[tuple[str, str]] = iter(())
        self._point: tuple[str, str] | None = None

    def aim(self, points: tuple[tuple[str, str], ...]) -> None:
        self._points = iter(points)
        self._point = next(self._points)

    def is_done(self) -> bool:
        return self._point is None

    def __call__(self, write: Write) -> None:
        if self._point is not None and write.method == self._point[0] and write.path.endswith(self._point[1]):
            self._point = next(self._points, None)
            self._operator.kill()


@pytest.mark.parametrize("moment", ["before", "after"])
def test_an_operator_killed_at_any_request_goes_on_with_the_same_run(
    cluster: LiveCluster, operator: OperatorProcess, proxy: ApiProxy, pods: Pods, moment: str
) -> None:
    killer = Killer(operator)
    setattr(proxy, moment, killer)
    killer.aim(AT_THE_START)
    cluster.apply(load_test("killed"))
    lives = restart_until(operator, killer)
    assert lives == len(AT_THE_START)
    operator.start()
    cluster.wait("killed", lambda status: status.get("phase") == "PreparingTarget", "start")
    made = identities(cluster)
    played = pods("killed")
    played.create()
    played.all_fare(READY)
    says_running(proxy, played)
    cluster.wait("killed", lambda status: status["phase"] == "Running", "load")
    assert identities(cluster) == made

    says_summary(proxy, played)
    killer.aim(AT_THE_END)
    played.fare("master", ended(0))
    operator.wait()
    lives = 1 + restart_until(operator, killer)
    assert lives == len(AT_THE_END)
    operator.start()
    status = cluster.finished("killed")
    assert (status["verdict"], status["run"]) == ("Passed", 1)
    cluster.gone(lambda: cluster.children("killed", "deployments,jobs,services,secrets,networkpolicies"), "children")
    (results,) = cluster.labelled("configmaps", "sshload.dev/test=killed")
    assert results["metadata"]["name"] == status["resultsConfigMap"]
    finished = [write for write in proxy.writes if is_finish(write)]
    assert len({write.body["status"]["completionTime"] for write in finished}) <= 2


def restart_until(operator: OperatorProcess, killer: Killer) -> int:
    """Start the operator, and again each time it was killed, until the last point is behind; return how often."""
    lives = 0
    while not killer.is_done():
        lives += 1
        operator.begin()
        assert operator.wait() == -9
    return lives


def identities(cluster: LiveCluster) -> set[tuple[str, str]]:
    """Return kind and uid of everything that was made for the test, but for its pods."""
    kinds = "deployments,jobs,services,secrets,configmaps,networkpolicies"
    found = cluster.labelled(kinds, "sshload.dev/test=killed")
    return {(item["kind"], item["metadata"]["uid"]) for item in found}


def is_finish(write: Write) -> bool:
    body: Any = write.body
    return write.path.endswith("/status") and body["status"]["phase"] == "Finished"
