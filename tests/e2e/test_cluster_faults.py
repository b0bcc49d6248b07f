"""Faults of the cluster itself in mid-run, of which `make chaos-cluster` plays many more."""

import time

import pytest
from chart_release import cluster_in, create_namespaces
from cluster_daemons import paused
from live_cluster import LiveCluster, load_test, lone_worker_test

pytestmark = pytest.mark.alone


def test_a_run_goes_on_while_etcd_stands_still(cluster: LiveCluster) -> None:
    def stand_still() -> None:
        cluster.load_begun("without-etcd")
        with paused("etcd"):
            time.sleep(6)

    load = {"arrivals": {"stages": [{"rate": 6, "duration": "10s"}]}}
    status = cluster.run(load_test("without-etcd", load=load), meanwhile=stand_still)
    assert status["verdict"] == "Passed", status["message"]
    assert status["results"]["iterations"] == 60
    assert "loginDifference" not in status["results"]["target"]
    cluster.gone(lambda: cluster.children("without-etcd"), "children")


def test_a_namespace_can_be_deleted_in_mid_run_and_hurts_no_other(cluster: LiveCluster) -> None:
    deleted = cluster_in(f"{cluster.namespace}-deleted")

    def delete() -> None:
        create_namespaces(deleted.namespace)  # here, because all of this is done again where the bystander lagged
        deleted.apply(lone_worker_test("doomed", load={"arrivals": {"stages": [{"rate": 2, "duration": "300s"}]}}))
        deleted.running("doomed")
        deleted.kubectl("delete", "namespace", deleted.namespace, "--wait=false")
        deleted.gone(lambda: deleted.exists("namespace", deleted.namespace), "namespace")

    assert cluster.run(load_test("bystander"), meanwhile=delete)["verdict"] == "Passed"
