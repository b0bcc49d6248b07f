"""Baselines with a real operator and a real API server: what it looks up there, and what comes of it."""

from dataclasses import dataclass
from typing import Any

import pytest
from api_proxy import ApiProxy, Write
from baselines import LAST_PASSED, NAMED, WITHIN, slower
from live_cluster import LiveCluster, load_test
from operator_process import OperatorProcess
from played_pods import READY, PlayedPods, ended
from runs import says_summary
from sshload_contract.wire.run_summary import RunSummary

LABEL = "sshload.dev/schedule"


@dataclass(frozen=True, slots=True)
class Stage:
    """Plays the pods and the masters of tests."""

    cluster: LiveCluster
    proxy: ApiProxy

    def play(self, test: str, found: RunSummary, metadata: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
        """Run a test whose master finds this, and return its status at the end."""
        self.begin(test, metadata, **spec)
        self.end(test, found)
        return self.cluster.finished(test)

    def begin(self, test: str, metadata: dict[str, Any] | None = None, **spec: Any) -> None:
        """Apply a test and let its pods run."""
        manifest = dict(load_test(test, **spec))
        self.cluster.apply({**manifest, "metadata": {**manifest["metadata"], **(metadata or {})}})
        self.cluster.wait(test, lambda status: status.get("phase") == "PreparingTarget", "start")
        played = PlayedPods(self.cluster, test)
        played.create()
        played.all_fare(READY)

    def end(self, test: str, found: RunSummary) -> None:
        """Let the master say what it has found."""
        played = PlayedPods(self.cluster, test)
        says_summary(self.proxy, played, found)
        played.fare("master", ended(0))


@pytest.fixture
def stage(cluster: LiveCluster, proxy: ApiProxy, operator: OperatorProcess) -> Stage:
    """Return what plays tests, the operator started."""
    operator.start()
    return Stage(cluster, proxy)


def suspended_schedule(cluster: LiveCluster) -> dict[str, Any]:
    """Apply a schedule that makes no tests by itself, and return it."""
    template = {"spec": load_test("any")["spec"]}
    spec = {"schedule": "0 0 1 1 *", "suspend": True, "testTemplate": template}
    kind = {"apiVersion": "sshload.dev/v1alpha1", "kind": "SSHLoadTestSchedule"}
    cluster.apply({**kind, "metadata": {"name": "nightly"}, "spec": spec})
    return cluster.get("slts", "nightly")


def owned(schedule: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata of a test that the schedule has made."""
    reference = {"apiVersion": schedule["apiVersion"], "kind": schedule["kind"], "controller": True}
    reference |= {key: schedule["metadata"][key] for key in ("name", "uid")}
    return {"labels": {LABEL: schedule["metadata"]["name"]}, "ownerReferences": [reference]}


def test_a_test_is_held_against_the_one_that_it_names(cluster: LiveCluster, stage: Stage) -> None:
    none = stage.play("lonely", slower(1.0), thresholds=WITHIN, baseline=NAMED)
    assert (none["verdict"], none["reason"]) == ("Inconclusive", "NoBaseline")
    assert "there is no SSHLoadTest before" in none["message"]
    before = stage.play("before", slower(1.0))
    same = stage.play("same", slower(1.02), thresholds=WITHIN, baseline=NAMED)
    worse = stage.play("worse", slower(1.3), thresholds=WITHIN, baseline=NAMED)
    assert (same["verdict"], same["reason"]) == ("Passed", "ThresholdsMet")
    assert (worse["verdict"], worse["reason"]) == ("Failed", "ThresholdBroken")
    assert "1.3 (1.28 to 1.32) times the baseline's 60 ms" in worse["thresholds"][0]["message"]
    assert (
        same["baseline"]
        == worse["baseline"]
        == {
            "test": "before",
            "uid": cluster.get("slt", "before")["metadata"]["uid"],
            "verdict": "Passed",
            "completionTime": before["completionTime"],
        }
    )


def test_a_test_of_a_schedule_is_held_against_the_last_one_of_it_that_passed(
    cluster: LiveCluster, stage: Stage
) -> None:
    held = {"thresholds": WITHIN, "baseline": LAST_PASSED}
    mine = owned(suspended_schedule(cluster))
    foreign = stage.play("foreign", slower(1.0), {"labels": mine["labels"]}, **held)
    assert (foreign["reason"], "belongs to no SSHLoadTestSchedule" in foreign["message"]) == ("NoBaseline", True)
    assert stage.play("first", slower(1.0), mine, **held)["reason"] == "NoBaseline"
    second = stage.play("second", slower(1.0), mine, **held)
    assert (second["verdict"], second["baseline"]["test"]) == ("Passed", "first")
    third = stage.play("third", slower(1.3), mine, **held)
    assert (third["verdict"], third["baseline"]["test"]) == ("Failed", "second")
    fourth = stage.play("fourth", slower(1.0), mine, **held)
    assert (fourth["verdict"], fourth["baseline"]["test"]) == ("Passed", "second")


@pytest.mark.parametrize("moment", [pytest.param("before", marks=pytest.mark.full), "after"])
def test_an_operator_killed_at_the_verdict_comes_to_the_same(
    cluster: LiveCluster, operator: OperatorProcess, stage: Stage, moment: str
) -> None:
    def kill(write: Write) -> bool:
        if write.path.endswith("/worse/status") and write.body["status"]["phase"] == "Finished":
            operator.kill()
            return True
        return False

    stage.play("before", slower(1.0))
    stage.begin("worse", thresholds=WITHIN, baseline=NAMED)
    setattr(stage.proxy, moment, kill)
    stage.end("worse", slower(1.3))
    operator.wait()
    setattr(stage.proxy, moment, lambda _: False)
    if moment == "after":
        cluster.delete("slt", "before")
    operator.start()
    status = cluster.finished("worse")
    assert (status["verdict"], status["baseline"]["test"]) == ("Failed", "before")
    cluster.gone(lambda: cluster.children("worse", "deployments,jobs,services"), "children")
