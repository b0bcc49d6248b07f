"""Schedules with a real operator and a real API server. That starts were missed is written into their statuses."""

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from api_proxy import ApiProxy, Write
from live_cluster import LiveCluster, condition, load_test
from operator_process import OperatorProcess
from sshload_operator.api.load_test import parse
from sshload_operator.api.names import label_value
from sshload_operator.planning.plan import spec_hash

LABEL = "sshload.dev/schedule"
NEVER_AGAIN = "0 0 1 1 *"
BERLIN = ZoneInfo("Europe/Berlin")


def schedule(name: str, **spec: Any) -> dict[str, Any]:
    """Return a schedule whose next time is far away, so that a test starts what it means to start and no more."""
    template = {"metadata": {"labels": {"team": "ssh"}}, "spec": load_test("any")["spec"]}
    return {
        "apiVersion": "sshload.dev/v1alpha1",
        "kind": "SSHLoadTestSchedule",
        "metadata": {"name": name},
        "spec": {"schedule": NEVER_AGAIN, "testTemplate": template, **spec},
    }


def ago(**time: float) -> str:
    return f"{datetime.now(UTC) - timedelta(**time):%Y-%m-%dT%H:%M:%SZ}"


def apply_missed(cluster: LiveCluster, name: str, **spec: Any) -> dict[str, Any]:
    """Apply a schedule whose last start is two years ago, so that New Year's was missed; return the object."""
    cluster.apply(schedule(name, **spec))
    write_status(cluster, "slts", name, lastScheduleTime=ago(days=730))
    return cluster.get("slts", name)


def write_status(cluster: LiveCluster, kind: str, name: str, **status: Any) -> None:
    cluster.change(kind, name, {"status": status}, "status")


def wait(cluster: LiveCluster, name: str, what: str) -> dict[str, Any]:
    """Return the status of a schedule once it has this field."""
    status: dict[str, Any] = {}

    def lacks() -> bool:
        status.clear()
        status.update(cluster.get("slts", name).get("status", {}))
        return what not in status or status.get("observedGeneration", -1) < 0

    cluster.gone(lacks, f"lack of {what}")
    return status


def made_by(cluster: LiveCluster, name: str) -> list[dict[str, Any]]:
    return cluster.labelled("sshloadtests", f"{LABEL}={label_value(name)}")


def earlier_test(cluster: LiveCluster, owner: dict[str, Any], minutes: int, **status: Any) -> str:
    """Create a test as the schedule would have made it some minutes ago; return its name."""
    time = datetime.now(UTC) - timedelta(minutes=minutes)
    name = f"{owner['metadata']['name']}-{int(time.timestamp()) // 60}"
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "controller": True}
    reference |= {key: owner["metadata"][key] for key in ("name", "uid")}
    metadata = {
        "name": name,
        "labels": {LABEL: owner["metadata"]["name"]},
        "annotations": {"sshload.dev/scheduled-timestamp": time.isoformat()},
        "ownerReferences": [reference],
    }
    cluster.apply({**load_test(name), "metadata": metadata})
    if status:
        write_status(cluster, "slt", name, **status)
    return name


def finished(verdict: str) -> dict[str, Any]:
    """Return the status of a test that was run to its end; without the hash of what it measured it would run again."""
    measured = spec_hash(parse(load_test("any")["spec"]))
    return {"phase": "Finished", "verdict": verdict, "completionTime": ago(minutes=1), "observedGeneration": 1} | {
        "run": 1,
        "specHash": measured,
    }


def creations(proxy: ApiProxy) -> list[Write]:
    return [write for write in proxy.writes if write.method == "POST" and write.path.endswith("/sshloadtests")]


@pytest.mark.parametrize(
    "name",
    [pytest.param("missed", marks=pytest.mark.full, id="short"), pytest.param(f"{'missed.' * 36}1", id="longest")],
)
def test_a_missed_start_is_made_up_for_by_a_test_that_runs(
    cluster: LiveCluster, operator: OperatorProcess, name: str
) -> None:
    owner = apply_missed(cluster, name, timeZone=str(BERLIN))
    operator.start()
    status = wait(cluster, name, "active")
    (test,) = made_by(cluster, name)
    metadata = test["metadata"]
    year = datetime.now(BERLIN).year  # which begins there before it does in UTC
    assert status["lastScheduleTime"] == f"{year - 1}-12-31T23:00:00Z"
    assert status["nextScheduleTime"] == f"{year}-12-31T23:00:00Z"
    assert status["active"] == [{"name": metadata["name"], "uid": metadata["uid"]}]
    assert metadata["annotations"]["sshload.dev/scheduled-timestamp"] == f"{year}-01-01T00:00:00+01:00"
    assert metadata["labels"] == {"team": "ssh", LABEL: label_value(name)}
    assert metadata["ownerReferences"][0]["uid"] == owner["metadata"]["uid"]
    cluster.wait(metadata["name"], lambda found: found.get("phase") == "PreparingTarget", "start")
    cluster.tells(name, "SuccessfulCreate")
    one = f'sshload_schedule_active_tests{{namespace="{cluster.namespace}",schedule="{name}"}} 1.0'
    cluster.gone(lambda: one not in operator.metrics(), "lack of the active test's metric")


def test_a_schedule_that_is_not_due_makes_nothing_and_says_when_it_will(
    cluster: LiveCluster, operator: OperatorProcess, proxy: ApiProxy
) -> None:
    operator.start()
    cluster.apply(schedule("later"))
    status = wait(cluster, "later", "nextScheduleTime")
    assert status["nextScheduleTime"] == f"{datetime.now(UTC).year + 1}-01-01T00:00:00Z"
    assert condition(status, "Ready")["reason"] == "Scheduled"
    assert creations(proxy) == []


@pytest.mark.parametrize("moment", [pytest.param("before", marks=pytest.mark.full), "after"])
def test_an_operator_killed_at_the_creation_makes_the_test_once(
    cluster: LiveCluster, operator: OperatorProcess, proxy: ApiProxy, moment: str
) -> None:
    def kill(write: Write) -> bool:
        if write.method == "POST" and write.path.endswith("/sshloadtests"):
            operator.kill()
            return True
        return False

    apply_missed(cluster, "killed")
    setattr(proxy, moment, kill)
    operator.begin()
    operator.wait()
    setattr(proxy, moment, lambda _: False)
    made = [test["metadata"]["uid"] for test in made_by(cluster, "killed")]
    assert len(made) == (1 if moment == "after" else 0)
    operator.start()
    status = wait(cluster, "killed", "active")
    (test,) = made_by(cluster, "killed")
    assert made in ([], [test["metadata"]["uid"]])
    assert status["active"] == [{"name": test["metadata"]["name"], "uid": test["metadata"]["uid"]}]
    assert len(creations(proxy)) == 1


def test_an_operator_killed_at_the_status_makes_no_second_test(
    cluster: LiveCluster, operator: OperatorProcess, proxy: ApiProxy
) -> None:
    def kill(write: Write) -> bool:
        if "/sshloadtestschedules/" in write.path:
            operator.kill()
            return True
        return False

    apply_missed(cluster, "killed")
    proxy.before = kill
    operator.begin()
    operator.wait()
    proxy.before = lambda _: False
    operator.start()
    wait(cluster, "killed", "active")
    assert len(made_by(cluster, "killed")) == len(creations(proxy)) == 1


def test_forbid_waits_for_the_test_under_way(cluster: LiveCluster, operator: OperatorProcess) -> None:
    owner = apply_missed(cluster, "forbid")
    earlier = earlier_test(cluster, owner, minutes=5)
    operator.start()
    assert [active["name"] for active in wait(cluster, "forbid", "active")["active"]] == [earlier]
    assert [test["metadata"]["name"] for test in made_by(cluster, "forbid")] == [earlier]
    cluster.change("slt", earlier, {"spec": {"abort": True}})
    cluster.gone(lambda: len(made_by(cluster, "forbid")) < 2, "lack of a second test")
    assert wait(cluster, "forbid", "lastVerdict")["lastVerdict"] == "Aborted"


def test_replace_deletes_the_test_under_way(cluster: LiveCluster, operator: OperatorProcess) -> None:
    owner = apply_missed(cluster, "replace", concurrencyPolicy="Replace")
    earlier = earlier_test(cluster, owner, minutes=5)
    operator.start()
    cluster.gone(lambda: cluster.exists("slt", earlier), "the earlier test")
    cluster.gone(lambda: not made_by(cluster, "replace"), "lack of a test")
    assert len(made_by(cluster, "replace")) == 1


def test_tests_beyond_the_limits_are_deleted_and_the_rest_is_the_trend(
    cluster: LiveCluster, operator: OperatorProcess
) -> None:
    cluster.apply(schedule("history", successfulTestsHistoryLimit=2, failedTestsHistoryLimit=1))
    owner = cluster.get("slts", "history")
    verdicts = ("Passed", "Failed", "Passed", "Invalid", "Passed")
    names = [
        earlier_test(cluster, owner, minutes=10 - index, **finished(verdict)) for index, verdict in enumerate(verdicts)
    ]
    operator.start()
    status = wait(cluster, "history", "trend")
    kept = [names[2], names[3], names[4]]
    cluster.gone(lambda: len(made_by(cluster, "history")) > 3, "surplus")
    assert sorted(test["metadata"]["name"] for test in made_by(cluster, "history")) == sorted(kept)
    assert [point["test"] for point in status["trend"]] == kept


def test_tests_of_another_schedule_of_the_same_name_are_left_alone(
    cluster: LiveCluster, operator: OperatorProcess
) -> None:
    cluster.apply(schedule("again", successfulTestsHistoryLimit=0))
    old = earlier_test(cluster, cluster.get("slts", "again"), minutes=5, **finished("Passed"))
    cluster.delete("slts", "again")
    cluster.apply(schedule("again", successfulTestsHistoryLimit=0))
    operator.start()
    assert "trend" not in wait(cluster, "again", "nextScheduleTime")
    assert cluster.exists("slt", old)


def test_what_cannot_be_carried_out_is_a_clear_condition(cluster: LiveCluster, operator: OperatorProcess) -> None:
    operator.start()
    cluster.apply(schedule("mars", timeZone="Mars/Olympus"))
    status = wait(cluster, "mars", "conditions")
    valid = condition(status, "Valid")
    assert (valid["status"], valid["reason"]) == ("False", "InvalidSpec")
    assert "spec.timeZone" in valid["message"]
    assert condition(status, "Stalled")["status"] == "True"
    cluster.tells("mars", "Mars/Olympus")


def test_a_refused_test_is_a_clear_condition_until_it_is_not(cluster: LiveCluster, operator: OperatorProcess) -> None:
    none = {"count/sshloadtests.sshload.dev": "0"}
    cluster.create(
        {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "no-tests"}, "spec": {"hard": none}}
    )
    write_status(cluster, "quota", "no-tests", hard=none, used=none)  # as the quota controller would
    cluster.gone(lambda: cluster.takes(load_test("any")), "room for tests")
    apply_missed(cluster, "refused")
    operator.start()
    ready = condition(wait(cluster, "refused", "conditions"), "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "CreateRefused")
    assert "exceeded quota: no-tests" in ready["message"]
    cluster.delete("quota", "no-tests")
    cluster.change("slts", "refused", {"spec": {"failedTestsHistoryLimit": 2}})
    cluster.gone(lambda: not made_by(cluster, "refused"), "lack of a test")


def test_a_deleted_schedule_leaves_nothing_behind(
    cluster: LiveCluster, operator: OperatorProcess, proxy: ApiProxy
) -> None:
    operator.start()
    cluster.apply(schedule("deleted"))
    wait(cluster, "deleted", "nextScheduleTime")
    assert "finalizers" not in cluster.get("slts", "deleted")["metadata"]
    cluster.delete("slts", "deleted")
    cluster.apply(schedule("next"))
    wait(cluster, "next", "nextScheduleTime")
    cluster.gone(lambda: 'schedule="deleted"' in operator.metrics(), "metric of a deleted schedule")
    assert len([write for write in proxy.writes if "/sshloadtestschedules/deleted/" in write.path]) == 1
