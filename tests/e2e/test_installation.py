"""The chart installed for one namespace: uninstalled before its objects, installed again, and its operator lost.

An operator that is killed, or gone for a while, loses nothing: the run goes on without it, and its results are kept.
"""

import json
from dataclasses import dataclass
from typing import Any

import pytest
from chart_release import Release
from live_cluster import LiveCluster, load_test, lone_worker_test

pytestmark = pytest.mark.xdist_group("an installation for one namespace")

PHASES = ("PreparingTarget", "StartingWorkers", "Running", "Collecting", "Finished")
SURVIVOR, ELSEWHERE = "survivor", "elsewhere"


@dataclass(frozen=True, slots=True)
class Uninstalled:
    """What was seen of the first installation, and of what it left behind, before it was installed again."""

    finished: dict[str, Any]
    not_its_own: dict[str, Any]
    cluster_wide_rights: list[str]
    finished_after: dict[str, Any]
    is_deleted: bool
    crds: str


@pytest.fixture(scope="module")
def uninstalled(own_release: Release) -> Uninstalled:
    """Run a test to its end, uninstall its operator, delete the test, and install the chart again.

    The test has come to rest by then: an Event is the last thing that an operator makes of a run, and it needs its
    rights for that.
    """
    own = own_release.cluster
    other = LiveCluster(own.kubectl_path, own.kubeconfig, "default")
    other.apply(lone_worker_test(ELSEWHERE))
    try:
        finished = own.run(lone_worker_test(SURVIVOR))
        own.tells(SURVIVOR, finished["reason"])
        not_its_own = other.status(ELSEWHERE)
    finally:
        other.delete("sshloadtest", ELSEWHERE)
    rights = cluster_wide_rights(own)
    own_release.uninstall()
    try:
        after = own.status(SURVIVOR)
        own.kubectl("delete", "slt", SURVIVOR, "--timeout=60s")
        is_deleted = not own.exists("slt", SURVIVOR)
        crds = own.kubectl("get", "crd", "-o", "name")
    finally:
        own_release.install_for(own.namespace)
    return Uninstalled(finished, not_its_own, rights, after, is_deleted, crds)


def cluster_wide_rights(cluster: LiveCluster) -> list[str]:
    """Return the ClusterRoleBindings of service accounts in the namespace. Other releases have theirs meanwhile."""
    bindings = json.loads(cluster.kubectl("get", "clusterrolebindings", "-o", "json"))["items"]
    assert bindings
    return [
        binding["metadata"]["name"]
        for binding in bindings
        if cluster.namespace in [subject.get("namespace") for subject in binding.get("subjects", ())]
    ]


def test_an_installation_for_a_namespace_sees_only_that_one(uninstalled: Uninstalled) -> None:
    ended = uninstalled.finished["verdict"], uninstalled.finished["reason"]
    assert ended == ("Passed", "NoThresholds"), uninstalled.finished["message"]
    assert "phase" not in uninstalled.not_its_own
    assert uninstalled.cluster_wide_rights == []


def test_uninstalling_keeps_the_crds_and_the_objects_which_can_be_deleted(uninstalled: Uninstalled) -> None:
    assert uninstalled.finished_after == uninstalled.finished
    assert uninstalled.is_deleted
    kinds = ("sshloadtests", "sshloadtestschedules", "sshloadtestcomparisons")
    assert {f"customresourcedefinition.apiextensions.k8s.io/{kind}.sshload.dev" for kind in kinds} <= set(
        uninstalled.crds.splitlines()
    )


@pytest.fixture(scope="module")
def reinstalled(uninstalled: Uninstalled, own_release: Release) -> Release:
    """The second installation."""
    assert uninstalled.is_deleted
    return own_release


def test_operators_that_are_killed_take_up_the_run_where_it_is(reinstalled: Release) -> None:
    """Before the load, and during it."""
    cluster, name = reinstalled.cluster, "operators-killed"

    def kill() -> None:
        for phase in ("PreparingTarget", "Running"):
            soon_enough = PHASES[PHASES.index(phase) :]
            cluster.wait(name, lambda status, late=soon_enough: status.get("phase") in late, phase)
            reinstalled.kill()

    load = {"arrivals": {"stages": [{"rate": 5, "duration": "8s"}]}}
    status = cluster.run(lone_worker_test(name, load=load), meanwhile=kill)
    assert (status["verdict"], status["reason"]) == ("Passed", "NoThresholds"), status["message"]
    assert status["results"]["iterations"] == 40
    cluster.gone(lambda: cluster.children(name), "children")


@dataclass(frozen=True, slots=True)
class Absence:
    """How a run ended that was left alone, and what was left of another one that was deleted meanwhile."""

    cluster: LiveCluster
    unattended: dict[str, Any]
    children_of_deleted: list[str]


@pytest.fixture(scope="module")
def absence(reinstalled: Release) -> Absence:
    """Have no operator while one run ends and another one's test is deleted."""
    cluster = reinstalled.cluster
    left: list[str] = []

    def be_away() -> None:
        cluster.apply(lone_worker_test("orphan", load={"arrivals": {"stages": [{"rate": 2, "duration": "300s"}]}}))
        cluster.running("orphan")
        cluster.load_begun("unattended")
        with reinstalled.away():
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
    ended = absence.unattended["verdict"], absence.unattended["reason"]
    assert ended == ("Passed", "NoThresholds"), absence.unattended["message"]
    assert absence.unattended["results"]["iterations"] == 45


def test_a_test_can_be_deleted_without_an_operator_and_leaves_nothing(absence: Absence) -> None:
    assert not absence.cluster.exists("slt", "orphan")
    assert absence.children_of_deleted == []
