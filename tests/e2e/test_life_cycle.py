"""Abort, and many runs at once.

Of what else controls a run, test_hostile_tenant.py edits a test, test_security.py deletes one, and test_verdicts.py
changes its time to live.
"""

import pytest
from live_cluster import LiveCluster, load_test, lone_worker_test

LONG_LOAD = {"arrivals": {"stages": [{"rate": 5, "duration": "300s"}]}}


def test_abort_ends_a_run_and_all_that_it_made(cluster: LiveCluster) -> None:
    cluster.apply(lone_worker_test("aborted", load=LONG_LOAD))
    cluster.running("aborted")
    cluster.kubectl("patch", "slt", "aborted", "--type=merge", "-p", '{"spec":{"abort":true}}')
    status = cluster.finished("aborted")
    assert (status["verdict"], status["reason"]) == ("Aborted", "AbortRequested")
    cluster.gone(lambda: cluster.children("aborted"), "children")


@pytest.mark.full  # the lanes have four at once
def test_ten_tests_at_once_each_get_their_own_counts(cluster: LiveCluster) -> None:
    names = [f"one-of-ten-{number}" for number in range(10)]
    load = {"arrivals": {"stages": [{"rate": 1, "duration": "5s"}]}}
    cluster.apply(*(load_test(name, load=load, workers={"replicas": 1}, startTimeout="8m") for name in names))
    for name in names:
        status = cluster.finished(name, within_s=600)
        assert status["results"]["iterations"] == 5
        assert "loginDifference" not in status["results"]["target"]
