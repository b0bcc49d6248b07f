"""An operator that is killed, or gone for a while: the run goes on without it, and its results are kept."""

from dataclasses import dataclass
from typing import Any

import pytest
from chart_release import Release
from live_cluster import LiveCluster, load_test, lone_worker_test

PHASES = ("PreparingTarget", "StartingWorkers", "Running", "Collecting", "Finished")

pytestmark = pytest.mark.xdist_group("an operator that is lost")


@pytest.mark.parametrize("phase", ["PreparingTarget", "Running"])
def test_a_killed_operator_takes_up_the_run_where_it_is(own_release: Release, phase: str) -> None:
    cluster, name = own_release.cluster, f"operator-killed-{phase.lower()}"
    soon_enough = PHASES[PHASES.index(phase) :]

    def kill() -> None:
        cluster.wait(name, lambda status: status.get("phase") in soon_enough, phase)
        own_release.kill()

    load = {"arrivals": {"stages": [{"rate": 5, "duration": "8s"}]}}
    status = cluster.run(lone_worker_test(name, load=load), meanwhile=kill)
    assert status["verdict"] == "Passed", status["message"]
    assert status["results"]["iterations"] == 40
    cluster.gone(lambda: cluster.children(name), "children")


@dataclass(frozen=True, slots=True)
class Absence:
    """How a run ended that was left alone, and what was left of another one that was deleted meanwhile."""

    cluster: LiveCluster
    unattended: dict[str, Any]
    children_of_deleted: list[str]


@pytest.fixture(scope="module")
def absence(own_release: Release) -> Absence:
    """Have no operator while one run ends and another one's test is deleted."""
    cluster = own_release.cluster
    left: list[str] = []

    def be_away() -> None:
        cluster.apply(lone_worker_test("orphan", load={"arrivals": {"stages": [{"rate": 2, "duration": "300s"}]}}))
        cluster.running("orphan")
        cluster.load_begun("unattended")
        with own_release.away():
            cluster.kubectl("delete", "slt", "orphan", "--timeout=60s")
            cluster.gone(lambda: cluster.children("orphan"), "children")
            left[:] = cluster.children("orphan")
            cluster.gone(lambda: running_masters(cluster), "running master")

    load = {"arrivals": {"stages": [{"rate": 3, "duration": "15s"}]}}
    unattended = cluster.run(load_test("unattended", load=load), meanwhile=be_away)
    cluster.tells("unattended", unattended["reason"])  # the last request about it, for which there are rights still
    return Absence(cluster, unattended, left)


def running_masters(cluster: LiveCluster) -> list[str]:
    masters = cluster.labelled("pods", "sshload.dev/test=unattended,sshload.dev/role=master")
    return [pod["metadata"]["name"] for pod in masters if pod["status"]["phase"] == "Running"]


def test_a_run_that_ends_without_an_operator_keeps_its_results(absence: Absence) -> None:
    assert absence.unattended["verdict"] == "Passed", absence.unattended["message"]
    assert absence.unattended["results"]["iterations"] == 45


def test_a_test_can_be_deleted_without_an_operator_and_leaves_nothing(absence: Absence) -> None:
    assert not absence.cluster.exists("slt", "orphan")
    assert absence.children_of_deleted == []
