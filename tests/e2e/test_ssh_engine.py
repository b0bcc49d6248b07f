"""The SSH engine against sshd of the target image (OpenSSH 10): what 10 refuses, held sessions, processes of a pod."""

from typing import Any

import pytest
from live_cluster import LiveCluster, load_test, lone_worker_test


def outcomes(status: dict[str, Any]) -> dict[str, int]:
    """Return how many iterations ended in each outcome but ok."""
    counts: dict[str, int] = {}
    for error in status["results"].get("errors", []):
        counts[error["outcome"]] = counts.get(error["outcome"], 0) + error["count"]
    return counts


def managed(**sshd: Any) -> dict[str, Any]:
    return {"managed": {"sshd": sshd}}


@pytest.mark.full  # test_comparison.py has the same of one of its variants
def test_what_max_startups_dropped_is_told_as_throttled(cluster: LiveCluster) -> None:
    status = cluster.run(
        load_test(
            "throttled",
            target=managed(maxStartups="2:100:3"),
            load={"burst": {"connections": 40, "repeat": 1, "interval": "10s"}},
        )
    )
    found = outcomes(status)
    assert set(found) == {"throttled"}, found
    assert found["throttled"] == status["results"]["failures"]
    assert status["results"]["iterations"] == 40
    assert status["results"]["target"]["dropped"]["maxStartups"] > 0


def test_what_a_penalty_dropped_is_told_as_penalised(cluster: LiveCluster) -> None:
    status = cluster.run(
        lone_worker_test(
            "penalised",
            # The client gives up each key exchange at once, and sshd penalises who goes without having tried to log in.
            target=managed(perSourcePenalties="noauth:30s min:1s"),
            client={"timeouts": {"kex": "1ms"}},
            load={"arrivals": {"stages": [{"rate": 4, "duration": "7s"}]}},  # a busy sshd is late to see who went
            loginBeforeLoad=False,
        )
    )
    found = outcomes(status)
    assert set(found) == {"kexTimeout", "penalised"}, found
    assert status["results"]["target"]["dropped"]["penalty"] > 0


def test_each_process_of_a_pod_is_a_worker_with_its_own_share_and_the_runs_certificate(cluster: LiveCluster) -> None:
    workers = {"replicas": 2, "processesPerPod": 2}
    status = cluster.run(load_test("processes", workers=workers, client={"auth": "certificate"}))
    assert (status["verdict"], status["reason"]) == ("Passed", "NoThresholds"), status["message"]
    assert status["results"]["generator"]["workersExpected"] == 4
    assert status["results"]["generator"]["workersConnected"] == 4
    assert status["results"]["iterations"] == 30
    assert "loginDifference" not in status["results"]["target"]


@pytest.mark.full  # tests/integration/worker/test_library_logins.py has an agent of this machine
def test_the_agent_in_a_workers_pod_logs_in_at_a_managed_target(cluster: LiveCluster) -> None:
    status = cluster.run(lone_worker_test("agent", client={"auth": "agent"}))
    assert (status["verdict"], status["reason"]) == ("Passed", "NoThresholds"), status["message"]
    assert "loginDifference" not in status["results"]["target"]


@pytest.mark.full  # tests/integration/worker/test_key_exchanges.py has it of this machine's programs
def test_a_managed_target_and_the_default_library_agree_on_the_key_exchange_of_todays_clients(
    cluster: LiveCluster,
) -> None:
    kex = "mlkem768x25519-sha256"
    status = cluster.run(lone_worker_test("post-quantum"))
    assert (status["verdict"], status["reason"]) == ("Passed", "NoThresholds"), status["message"]
    (negotiated,) = status["results"]["negotiated"]
    assert negotiated["kex"] == kex
