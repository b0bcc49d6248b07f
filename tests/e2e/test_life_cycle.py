"""Abort, edit, time to live, deletion: the spec of the object controls the run."""

from generator_reruns import GENERATOR_LAGGED
from live_cluster import WITHIN_S, LiveCluster, load_test, lone_worker_test

LONG_LOAD = {"arrivals": {"stages": [{"rate": 5, "duration": "300s"}]}}


def test_abort_ends_a_run_and_all_that_it_made(cluster: LiveCluster) -> None:
    cluster.apply(lone_worker_test("aborted", load=LONG_LOAD))
    cluster.running("aborted")
    cluster.kubectl("patch", "slt", "aborted", "--type=merge", "-p", '{"spec":{"abort":true}}')
    status = cluster.finished("aborted")
    assert (status["verdict"], status["reason"]) == ("Aborted", "AbortRequested")
    cluster.gone(lambda: cluster.children("aborted"), "children")


def test_a_changed_spec_ends_the_run_and_starts_a_new_one(cluster: LiveCluster) -> None:
    def edit() -> None:
        first = cluster.running("edited")
        cluster.apply(load_test("edited"))
        cluster.wait("edited", lambda status: status["run"] > first["run"], "new run")

    status = cluster.run(load_test("edited", load=LONG_LOAD), meanwhile=edit)
    assert status["verdict"] == "Passed", status["message"]
    assert status["results"]["iterations"] == 30
    cluster.gone(lambda: cluster.children("edited"), "children")


def test_a_finished_test_does_not_run_again_when_only_its_time_to_live_changes(cluster: LiveCluster) -> None:
    first = cluster.run(lone_worker_test("kept"))
    cluster.kubectl("patch", "slt", "kept", "--type=merge", "-p", '{"spec":{"ttlAfterFinished":{"passed":"1h"}}}')
    status = cluster.wait("kept", lambda status: status["observedGeneration"] == 2, "observation")
    assert (status["run"], status["phase"], status["completionTime"]) == (1, "Finished", first["completionTime"])


def test_a_finished_test_goes_when_its_time_to_live_is_over(cluster: LiveCluster) -> None:
    cluster.apply(lone_worker_test("short-lived", ttlAfterFinished={"passed": "2s", "failed": "2s"}))
    cluster.gone(lambda: cluster.exists("slt", "short-lived"), "test", WITHIN_S)
    cluster.tells("short-lived", "NoThresholds", *GENERATOR_LAGGED)
    cluster.gone(lambda: cluster.labelled("configmaps", "sshload.dev/test=short-lived"), "results")


def test_deleting_a_running_test_ends_its_load(cluster: LiveCluster) -> None:
    cluster.apply(lone_worker_test("deleted", load=LONG_LOAD))
    cluster.running("deleted")
    cluster.kubectl("delete", "slt", "deleted", "--timeout=60s")
    cluster.gone(lambda: cluster.children("deleted"), "children")


def test_ten_tests_at_once_each_get_their_own_counts(cluster: LiveCluster) -> None:
    names = [f"one-of-ten-{number}" for number in range(10)]
    load = {"arrivals": {"stages": [{"rate": 1, "duration": "5s"}]}}
    cluster.apply(*(load_test(name, load=load, workers={"replicas": 1}, startTimeout="8m") for name in names))
    for name in names:
        status = cluster.finished(name, within_s=600)
        assert status["results"]["iterations"] == 5
        assert "loginDifference" not in status["results"]["target"]
