"""The chart's default is one operator for all namespaces: it measures in one that nobody named, and may lose one."""

import pytest
from chart_release import cluster_in, create_namespaces
from live_cluster import LiveCluster, lone_worker_test

pytestmark = [pytest.mark.alone, pytest.mark.usefixtures("everywhere")]


def test_a_namespace_can_be_deleted_in_mid_run_and_hurts_no_other(cluster: LiveCluster) -> None:
    deleted = cluster_in(f"{cluster.namespace}-deleted")

    def delete() -> None:
        create_namespaces(deleted.namespace)  # here, because all of this is done again where the bystander lagged
        deleted.apply(lone_worker_test("doomed", load={"arrivals": {"stages": [{"rate": 2, "duration": "300s"}]}}))
        deleted.running("doomed")
        deleted.kubectl("delete", "namespace", deleted.namespace, "--wait=false")
        deleted.gone(lambda: deleted.exists("namespace", deleted.namespace), "namespace")

    status = cluster.run(lone_worker_test("bystander"), meanwhile=delete)
    assert (status["verdict"], status["reason"]) == ("Passed", "NoThresholds"), status["message"]
