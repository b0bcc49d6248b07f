"""A fault of the cluster itself in mid-run, of which `make chaos WHAT=cluster` plays many more."""

import time

import pytest
from cluster_daemons import paused
from live_cluster import LiveCluster, load_test

pytestmark = [pytest.mark.alone, pytest.mark.full]


def test_a_run_goes_on_while_etcd_stands_still(cluster: LiveCluster) -> None:
    def stand_still() -> None:
        assert cluster.load_begun("without-etcd")["phase"] == "Running", "the load ended before etcd stood still"
        with paused("etcd"):
            time.sleep(6)

    load = {"arrivals": {"stages": [{"rate": 6, "duration": "15s"}]}}
    status = cluster.run(load_test("without-etcd", load=load), meanwhile=stand_still)
    assert (status["verdict"], status["reason"]) == ("Passed", "NoThresholds"), status["message"]
    assert status["results"]["iterations"] == 90
    assert "loginDifference" not in status["results"]["target"]
    cluster.gone(lambda: cluster.children("without-etcd"), "children")
