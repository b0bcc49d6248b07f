"""The chart installed for one namespace: uninstalled while a run is under way, installed again, and its operator lost.

An operator that is killed, or gone for a while, loses nothing: the run goes on without it, and its results are kept.
"""

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from chart_release import Release
from live_cluster import LiveCluster, load_test, lone_worker_test

pytestmark = pytest.mark.xdist_group("an installation for one namespace")

PHASES = ("PreparingTarget", "StartingWorkers", "Running", "Collecting", "Finished")
SURVIVOR, ELSEWHERE, ORPHAN, UNATTENDED = "survivor", "elsewhere", "orphan", "unattended"


@dataclass(slots=True)
class Uninstalled:
    """What was seen of the first installation, of what it left behind, and of what the next one made of that."""

    finished: dict[str, Any] = field(default_factory=dict)
    not_its_own: dict[str, Any] = field(default_factory=dict)
    cluster_wide_rights: list[str] = field(default_factory=list)
    finished_after: dict[str, Any] = field(default_factory=dict)
    crds: str = ""
    orphan_is_deleted: bool = False
    unattended: dict[str, Any] = field(default_factory=dict)
    kinds_left: set[str] = field(default_factory=set)
    judged: dict[str, Any] = field(default_factory=dict)


@pytest.fixture(scope="module")
def uninstalled(own_release: Release) -> Uninstalled:
    """Run a test to its end, uninstall its operator while two others run, delete one of these, and install it again.

    The first test has come to rest by then: an Event is the last thing that an operator makes of a run, and it needs
    its rights for that.
    """
    own, found = own_release.cluster, Uninstalled()
    other = LiveCluster(own.kubectl_path, own.kubeconfig, "default")
    other.apply(lone_worker_test(ELSEWHERE))
    try:
        found.finished = own.run(lone_worker_test(SURVIVOR))
        own.tells(SURVIVOR, found.finished["reason"])
        found.not_its_own = other.status(ELSEWHERE)
    finally:
        other.delete("sshloadtest", ELSEWHERE)
    found.cluster_wide_rights = cluster_wide_rights(own)

    def be_away() -> None:
        own.apply(lone_worker_test(ORPHAN, load={"arrivals": {"stages": [{"rate": 2, "duration": "300s"}]}}))
        own.running(ORPHAN)
        own.load_begun(UNATTENDED)
        own_release.uninstall()
        try:
            look()
        finally:
            own_release.install_for(own.namespace)

    def look() -> None:
        own.kubectl("delete", "slt", ORPHAN, "--timeout=60s")
        own.gone(lambda: own.children(ORPHAN), "children of a deleted test")
        own.gone(lambda: running_load(own), "running pod of a load that is over")
        found.orphan_is_deleted = not own.exists("slt", ORPHAN)
        found.finished_after, found.unattended = own.status(SURVIVOR), own.status(UNATTENDED)
        found.kinds_left = {child.partition("/")[0] for child in own.children(UNATTENDED)}
        found.crds = own.kubectl("get", "crd", "-o", "name")

    load = {"arrivals": {"stages": [{"rate": 3, "duration": "15s"}]}}
    found.judged = own.run(load_test(UNATTENDED, load=load), meanwhile=be_away)
    return found


def running_load(cluster: LiveCluster) -> list[str]:
    """Return the pods of the unattended run that still make load, or count it."""
    pods = cluster.labelled("pods", f"sshload.dev/test={UNATTENDED},sshload.dev/role in (master,worker)")
    return [pod["metadata"]["name"] for pod in pods if pod["status"]["phase"] == "Running"]


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


def test_uninstalling_keeps_the_crds_and_the_objects(uninstalled: Uninstalled) -> None:
    assert uninstalled.finished_after == uninstalled.finished
    kinds = ("sshloadtests", "sshloadtestschedules", "sshloadtestcomparisons")
    assert {f"customresourcedefinition.apiextensions.k8s.io/{kind}.sshload.dev" for kind in kinds} <= set(
        uninstalled.crds.splitlines()
    )


def test_a_test_can_be_deleted_without_an_operator_and_leaves_nothing(uninstalled: Uninstalled) -> None:
    assert uninstalled.orphan_is_deleted


def test_a_run_whose_operator_is_uninstalled_ends_by_itself_and_leaves_its_target(uninstalled: Uninstalled) -> None:
    assert "verdict" not in uninstalled.unattended
    assert {"Deployment", "Service", "NetworkPolicy"} <= uninstalled.kinds_left


def test_the_next_installation_judges_that_run_and_takes_its_objects_away(
    uninstalled: Uninstalled, own_release: Release
) -> None:
    ended = uninstalled.judged["verdict"], uninstalled.judged["reason"]
    assert ended == ("Passed", "NoThresholds"), uninstalled.judged["message"]
    assert uninstalled.judged["results"]["iterations"] == 45
    cluster = own_release.cluster
    cluster.gone(lambda: cluster.children(UNATTENDED), "children of a judged test")


@pytest.fixture(scope="module")
def reinstalled(uninstalled: Uninstalled, own_release: Release) -> Release:
    """The second installation."""
    assert uninstalled.orphan_is_deleted
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
