"""Uninstalling the chart before its objects leaves nothing hanging and keeps the CRDs and the objects."""

from typing import Any

from live_cluster import LiveCluster, load_test


def test_uninstalling_keeps_the_crds_and_the_objects_which_can_be_deleted(cluster: LiveCluster, operator: Any) -> None:
    cluster.apply(load_test("survivor"))
    finished = cluster.finished("survivor")
    operator.uninstall()
    try:
        assert cluster.status("survivor") == finished
        cluster.kubectl("delete", "slt", "survivor", "--timeout=60s")
        assert not cluster.exists("slt", "survivor")
        assert "sshloadtests.sshload.dev" in cluster.kubectl("get", "crd", "sshloadtests.sshload.dev")
    finally:
        operator.install()
    cluster.apply(load_test("after-reinstall"))
    assert cluster.finished("after-reinstall")["verdict"] == "Passed"


def test_a_namespaced_installation_sees_only_its_namespaces(cluster: LiveCluster, operator: Any) -> None:
    operator.uninstall()
    try:
        operator.install("--set", "namespaced=true", "--set", f"watchNamespaces={{{cluster.namespace}}}")
        cluster.apply(load_test("namespaced"))
        assert cluster.finished("namespaced")["verdict"] == "Passed"
        assert cluster.kubectl("get", "clusterrolebindings", "-l", "app.kubernetes.io/name=sshload", "-o", "name") == ""
    finally:
        operator.uninstall()
        operator.install()
