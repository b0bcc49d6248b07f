"""The operator killed at each request of a run that writes, before and after the API server has seen it."""

from collections.abc import Callable
from signal import SIGKILL
from typing import Any

import pytest
from api_proxy import ApiProxy, Write
from live_cluster import LiveCluster, load_test
from operator_process import OperatorProcess
from played_pods import READY, PlayedPods, ended
from runs import says_running, says_summary

Pods = Callable[[str], PlayedPods]

# (method, end of the path), in the order in which a run comes by.
AT_THE_START = (
    ("PATCH", "-target"),  # the first of NetworkPolicy and Service
    ("PATCH", "-config"),
    ("POST", "/secrets"),
    ("POST", "/jobs"),  # the master's
    ("POST", "/deployments"),
    ("POST", "/jobs"),
    ("PATCH", "/status"),
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
    """Kills the operator at each of some writes, one in each of its lives."""

    def __init__(self, operator: OperatorProcess) -> None:
        self._operator = operator
        self._points: list[tuple[str, str]] = []
        self._killed = False

    def aim(self, points: tuple[tuple[str, str], ...]) -> None:
        """Kill at the next write that fits the first point, in the next life at one that fits the second, and so on."""
        self._points = list(points)

    def restart_until_done(self) -> int:
        """Start the operator again each time it was killed, until the last point is behind; return how often.

        Each time it is that of another release, which would give pods another label.
        """
        lives = 0
        while self._points:
            lives += 1
            self._operator.more_of_installation = f"runPods: {{userId: 10001, labels: {{release: r{lives}}}}}\n"
            self._killed = False
            self._operator.begin()
            assert self._operator.wait() == -SIGKILL
        self._killed = False
        return lives

    def __call__(self, write: Write) -> bool:
        """Look at a write; tell whether the operator is dead by now."""
        if not self._killed and self._points and self._fits(write):
            del self._points[0]
            self._killed = True
            self._operator.kill()
        return self._killed

    def _fits(self, write: Write) -> bool:
        method, end = self._points[0]
        return write.method == method and write.path.endswith(end)


@pytest.mark.parametrize("moment", [pytest.param("before", marks=pytest.mark.full), "after"])
def test_an_operator_killed_at_any_request_goes_on_with_the_same_run(
    cluster: LiveCluster, operator: OperatorProcess, proxy: ApiProxy, pods: Pods, moment: str
) -> None:
    killer = Killer(operator)
    setattr(proxy, moment, killer)
    killer.aim(AT_THE_START)
    cluster.apply(load_test("killed"))
    assert killer.restart_until_done() == len(AT_THE_START)
    operator.start()
    cluster.wait("killed", lambda status: status.get("phase") == "PreparingTarget", "start")
    made = identities(cluster)
    played = pods("killed")
    played.create()
    played.all_fare(READY)
    says_running(proxy, played)
    cluster.wait("killed", lambda status: status["phase"] == "Running", "load")
    assert identities(cluster) == made

    killer.aim(AT_THE_END)
    says_summary(proxy, played)
    played.fare("master", ended(0))
    operator.wait()
    assert 1 + killer.restart_until_done() == len(AT_THE_END)
    operator.start()
    status = cluster.finished("killed")
    assert (status["verdict"], status["run"]) == ("Passed", 1)
    cluster.gone(lambda: cluster.children("killed", "deployments,jobs,services,secrets,networkpolicies"), "children")
    (results,) = cluster.labelled("configmaps", "sshload.dev/test=killed")
    assert results["metadata"]["name"] == status["resultsConfigMap"]
    finished = [write for write in proxy.writes if is_finish(write)]
    assert len({write.body["status"]["completionTime"] for write in finished}) <= 2


def identities(cluster: LiveCluster) -> set[tuple[str, str]]:
    """Return kind and uid of everything that was made for the test, but for its pods."""
    kinds = "deployments,jobs,services,secrets,configmaps,networkpolicies"
    found = cluster.labelled(kinds, "sshload.dev/test=killed")
    return {(item["kind"], item["metadata"]["uid"]) for item in found}


def is_finish(write: Write) -> bool:
    body: Any = write.body
    return write.path.endswith("/status") and body["status"]["phase"] == "Finished"
