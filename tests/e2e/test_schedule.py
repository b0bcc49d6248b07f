"""The example of a schedule on the real cluster: tests come and go by themselves, and the status tells of them."""

import itertools
import json
from typing import Any

import pytest
from generator_reruns import rerun_while_lagging
from live_cluster import LiveCluster, condition
from short_examples import short_example

pytestmark = pytest.mark.xdist_group("a schedule")

WITHIN_S = 400


def example() -> dict[str, Any]:
    """Return the example with commands on kept sessions: a slow server, too, runs as many as a p99 needs."""
    (made,) = short_example("14-schedule")
    spec = made["spec"]["testTemplate"]["spec"]
    spec["scenario"] |= {"sessionReuse": "pool", "poolSize": 4}
    spec["load"] = {"arrivals": {"stages": [{"rate": 60, "duration": "6s"}]}}
    return made


@pytest.fixture(scope="module")
def schedule(module_cluster: LiveCluster) -> dict[str, Any]:
    """The status of the example once a run of its has ended that the machine let run; it is suspended then."""
    module_cluster.apply(example())
    numbers = itertools.count(1)

    def next_run() -> dict[str, Any]:
        number = next(numbers)
        what = f"run {number} that ended"
        return module_cluster.wait_for("slts", "schedule", lambda found: has_ended(found, number), what, WITHIN_S)

    status = rerun_while_lagging(next_run, lambda found: module_cluster.status(found["trend"][-1]["test"]))
    module_cluster.kubectl("patch", "slts", "schedule", "--type=merge", "-p", json.dumps({"spec": {"suspend": True}}))
    return status


def has_ended(status: dict[str, Any], number: int) -> bool:
    """Tell whether so many runs have ended."""
    return len(status.get("trend", ())) >= number


def test_a_run_was_made_and_passed(schedule: dict[str, Any]) -> None:
    assert schedule["lastVerdict"] == "Passed", schedule
    assert condition(schedule, "Passed")["status"] == "True"
    assert condition(schedule, "Ready")["status"] == "True"


def test_the_trend_has_the_figures_of_the_test(schedule: dict[str, Any], module_cluster: LiveCluster) -> None:
    point = schedule["trend"][-1]
    results = module_cluster.status(point["test"])["results"]
    assert (point["p99Ms"], point["completedRate"]) == (results["p99Ms"], results["completedRate"])


def test_the_test_is_the_schedules_own(schedule: dict[str, Any], module_cluster: LiveCluster) -> None:
    metadata = module_cluster.get("sshloadtest", schedule["trend"][-1]["test"])["metadata"]
    (owner,) = metadata["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("SSHLoadTestSchedule", "schedule", True)
    assert metadata["labels"] == {"team": "ssh", "sshload.dev/schedule": "schedule"}


def test_kubectl_get_shows_the_schedule(schedule: dict[str, Any], module_cluster: LiveCluster) -> None:
    header, row = module_cluster.kubectl("get", "slts", "schedule").splitlines()
    assert header.split()[:4] == ["NAME", "SCHEDULE", "SUSPEND", "ACTIVE"]
    assert "* * * * *" in row
    assert schedule["lastVerdict"] in row


def test_a_deleted_schedule_takes_its_tests_with_it(schedule: dict[str, Any], module_cluster: LiveCluster) -> None:
    assert schedule["trend"]
    module_cluster.kubectl("delete", "slts", "schedule")
    left = "sshload.dev/schedule=schedule"
    module_cluster.gone(lambda: module_cluster.labelled("sshloadtests", left), "tests")
