"""A comparison on a real API server: the operator's own process, played pods, and kills at the requests that matter."""

from collections.abc import Callable
from typing import Any

import pytest
from api_proxy import ApiProxy, Write
from live_cluster import LiveCluster, Manifest, condition, load_test
from operator_process import OperatorProcess
from played_pods import READY, PlayedPods, ended
from runs import says_running, says_summary

Pods = Callable[[str], PlayedPods]
Status = dict[str, Any]


def comparison(name: str, **spec: Any) -> Manifest:
    """Return a comparison of two settings of MaxStartups, of one round; `spec` replaces parts."""
    patch = {"target": {"managed": {"sshd": {"maxStartups": "10:30:100"}}}}
    return {
        "apiVersion": "sshload.dev/v1alpha1",
        "kind": "SSHLoadTestComparison",
        "metadata": {"name": name},
        "spec": {
            "base": load_test("base")["spec"],
            "variants": [{"name": "tuned"}, {"name": "default", "patch": patch}],
            "repeats": 1,
            **spec,
        },
    }


def wait(cluster: LiveCluster, name: str, holds: Callable[[Status], object], what: str) -> Status:
    """Return the comparison's status once `holds` says so."""
    found: Status = {}

    def waits() -> bool:
        found.clear()
        found.update(cluster.get("sltc", name).get("status", {}))
        return not holds(found)

    cluster.gone(waits, f"{name}: the wait for {what}")
    return found


def finished(cluster: LiveCluster, name: str) -> Status:
    return wait(cluster, name, lambda status: status.get("phase") == "Finished", "the end")


def play(cluster: LiveCluster, proxy: ApiProxy, pods: PlayedPods) -> None:
    """Let one test go from its start to its end; its pods stay until the garbage collector comes."""
    cluster.wait(pods.test, lambda status: status.get("phase") == "PreparingTarget", "start")
    pods.create()
    pods.all_fare(READY)
    says_running(proxy, pods)
    cluster.wait(pods.test, lambda status: status["phase"] == "Running", "load")
    says_summary(proxy, pods)
    pods.fare("master", ended(0))
    cluster.finished(pods.test)


def exists_soon(cluster: LiveCluster, name: str, before: PlayedPods | None = None) -> None:
    """Wait until a test is made; the pods of the one before go as soon as the operator has deleted their owners."""

    def is_missing() -> bool:
        if before is not None:
            before.collect_garbage()
        return not cluster.exists("sshloadtest", name)

    cluster.gone(is_missing, f"lack of {name}")


def made_tests(cluster: LiveCluster) -> list[str]:
    return sorted(item["metadata"]["name"] for item in cluster.labelled("slt", "sshload.dev/comparison"))


def test_a_comparison_goes_through_its_tests_one_after_the_other(
    cluster: LiveCluster, operator: OperatorProcess, proxy: ApiProxy, pods: Pods
) -> None:
    operator.start()
    cluster.apply(comparison("both"))
    exists_soon(cluster, "both-1-tuned")
    play(cluster, proxy, pods("both-1-tuned"))
    going = wait(cluster, "both", lambda status: status.get("reason") == "PodsGoing", "pods that go")
    assert "both-1-tuned" in going["message"]
    assert made_tests(cluster) == ["both-1-tuned"]
    exists_soon(cluster, "both-1-default", pods("both-1-tuned"))
    play(cluster, proxy, pods("both-1-default"))
    status = finished(cluster, "both")
    assert (status["verdict"], status["reason"]) == ("Inconclusive", "TooFewRounds")
    assert [(test["test"], test["verdict"]) for test in status["tests"]] == [
        ("both-1-tuned", "Passed"),
        ("both-1-default", "Passed"),
    ]
    figures = status["results"]["variants"][1]["figures"]
    assert {one["difference"] for one in figures} == {"unknown"}
    assert {one["ratio"] for one in figures if "ratio" in one} == {1.0}
    assert condition(status, "Complete")["status"] == "True"
    row = cluster.kubectl("get", "sltc", "both").splitlines()[1].split()
    assert row[:4] == ["both", "Finished", "Inconclusive", "2/2"]
    cluster.tells("both", "TooFewRounds")
    (owner,) = cluster.get("slt", "both-1-tuned")["metadata"]["ownerReferences"]
    assert owner["kind"] == "SSHLoadTestComparison"
    assert set(cluster.get("sltc", "both")["metadata"]) & {"finalizers"} == set()


@pytest.mark.parametrize("moment", [pytest.param("before", marks=pytest.mark.full), "after"])
def test_an_operator_killed_at_any_request_of_its_own_makes_no_test_twice_and_loses_none(
    cluster: LiveCluster, operator: OperatorProcess, proxy: ApiProxy, pods: Pods, moment: str
) -> None:
    points = [("POST", "/sshloadtests"), ("PATCH", "/sshloadtestcomparisons/killed/status")]
    killed: list[str] = []

    def kill(write: Write) -> bool:
        """Kill at the first write that fits the first point, in the next life at the second."""
        if points and len(killed) < lives[0] and write.method == points[0][0] and write.path.endswith(points[0][1]):
            killed.append(points.pop(0)[1])
            operator.kill()
        return len(killed) == lives[0]

    lives = [0]
    setattr(proxy, moment, kill)
    cluster.apply(comparison("killed"))
    while points:
        lives[0] += 1
        operator.begin()
        operator.wait()
    lives[0] += 1
    operator.start()
    exists_soon(cluster, "killed-1-tuned")
    made = cluster.get("slt", "killed-1-tuned")["metadata"]["uid"]
    play(cluster, proxy, pods("killed-1-tuned"))
    points.append(("POST", "/sshloadtests"))
    cluster.gone(lambda: pods("killed-1-tuned").collect_garbage() or operator.is_running(), "the operator")
    operator.wait()
    lives[0] += 1
    operator.start()
    exists_soon(cluster, "killed-1-default", pods("killed-1-tuned"))
    play(cluster, proxy, pods("killed-1-default"))
    status = finished(cluster, "killed")
    assert [test["test"] for test in status["tests"]] == ["killed-1-tuned", "killed-1-default"]
    assert cluster.get("slt", "killed-1-tuned")["metadata"]["uid"] == made
    assert made_tests(cluster) == ["killed-1-default", "killed-1-tuned"]


def test_a_patch_that_makes_an_invalid_test_is_an_error_that_names_variant_and_field(
    cluster: LiveCluster, operator: OperatorProcess
) -> None:
    operator.start()
    variants = [{"name": "a"}, {"name": "b", "patch": {"load": {"burst": {"connections": 5}}}}]
    cluster.apply(comparison("two-loads", variants=variants))
    status = finished(cluster, "two-loads")
    assert (status["verdict"], status["reason"]) == ("Error", "InvalidSpec")
    assert "variant b: spec.load: exactly one of" in condition(status, "Stalled")["message"]
    assert made_tests(cluster) == []


def test_a_name_that_another_test_has_is_said_and_that_test_is_left_alone(
    cluster: LiveCluster, operator: OperatorProcess
) -> None:
    cluster.apply(load_test("taken-1-tuned"))
    uid = cluster.get("slt", "taken-1-tuned")["metadata"]["uid"]
    operator.start()
    cluster.apply(comparison("taken"))
    status = finished(cluster, "taken")
    assert (status["verdict"], status["reason"]) == ("Error", "NameTaken")
    assert "taken-1-tuned" in status["message"]
    assert cluster.get("slt", "taken-1-tuned")["metadata"]["uid"] == uid


def test_abort_ends_the_test_that_is_under_way(cluster: LiveCluster, operator: OperatorProcess, pods: Pods) -> None:
    operator.start()
    cluster.apply(comparison("aborted"))
    cluster.gone(lambda: not cluster.exists("slt", "aborted-1-tuned"), "lack of a test")
    cluster.change("sltc", "aborted", {"spec": {"abort": True}})
    assert finished(cluster, "aborted")["verdict"] == "Aborted"
    assert cluster.finished("aborted-1-tuned")["verdict"] == "Aborted"
    pods("aborted-1-tuned").collect_all()
    assert made_tests(cluster) == ["aborted-1-tuned"]


def uids(cluster: LiveCluster) -> set[str]:
    tests = cluster.labelled("sshloadtests")
    return {test["metadata"]["uid"] for test in tests}


def test_a_changed_spec_starts_anew_with_made_tests_the_same_names(
    cluster: LiveCluster, operator: OperatorProcess
) -> None:
    operator.start()
    cluster.apply(comparison("edited"))
    exists_soon(cluster, "edited-1-tuned")
    before = uids(cluster)
    cluster.apply(comparison("edited", repeats=2))
    cluster.gone(lambda: uids(cluster) & before, "the old test")
    status = wait(cluster, "edited", lambda status: status.get("run") == 2, "the new run")
    status = wait(cluster, "edited", lambda status: status["reason"] == "TestRunning", "the new test")
    assert (status["run"], status["progress"]) == (2, "0/4")
