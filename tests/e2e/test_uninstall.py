"""The chart installed for one namespace, uninstalled before its objects, and installed again."""

import json
from typing import Any

import pytest
from chart_release import Release
from live_cluster import LiveCluster, Manifest, load_test, lone_worker_test

pytestmark = pytest.mark.xdist_group("an operator that is uninstalled")


def run_to_rest(cluster: LiveCluster, test: Manifest) -> dict[str, Any]:
    """Run a test until its operator has nothing more to ask about it, and may lose its rights; return its status.

    An Event is the last thing that it makes of a run: its status comes first, then the children are taken away.
    """
    status = cluster.run(test)
    cluster.tells(test["metadata"]["name"], status["reason"])
    return status


def cluster_wide_rights(cluster: LiveCluster) -> list[str]:
    """Return the ClusterRoleBindings of service accounts in the namespace. Other releases have theirs meanwhile."""
    bindings = json.loads(cluster.kubectl("get", "clusterrolebindings", "-o", "json"))["items"]
    assert bindings
    return [
        binding["metadata"]["name"]
        for binding in bindings
        if cluster.namespace in [subject.get("namespace") for subject in binding.get("subjects", ())]
    ]


def test_a_namespaced_installation_sees_only_its_namespaces(own_release: Release) -> None:
    own, name = own_release.cluster, "namespaced"
    elsewhere = LiveCluster(own.kubectl_path, own.kubeconfig, "default")
    elsewhere.apply(lone_worker_test(name))
    try:
        assert own.run(lone_worker_test(name))["verdict"] == "Passed"
        assert "phase" not in elsewhere.status(name)
    finally:
        elsewhere.kubectl("delete", "slt", name)
    assert cluster_wide_rights(own) == []


def test_uninstalling_keeps_the_crds_and_the_objects_which_can_be_deleted(own_release: Release) -> None:
    cluster = own_release.cluster
    finished = run_to_rest(cluster, load_test("survivor"))
    own_release.uninstall()
    try:
        assert cluster.status("survivor") == finished
        cluster.kubectl("delete", "slt", "survivor", "--timeout=60s")
        assert not cluster.exists("slt", "survivor")
        assert "sshloadtests.sshload.dev" in cluster.kubectl("get", "crd", "sshloadtests.sshload.dev")
    finally:
        own_release.install_for(cluster.namespace)
    assert run_to_rest(cluster, lone_worker_test("after-reinstall"))["verdict"] == "Passed"
