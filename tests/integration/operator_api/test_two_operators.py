"""Two operators for the same objects: one works, the other is alive and waits until the first is gone."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from api_proxy import ApiProxy
from api_server import ApiServer
from live_cluster import LiveCluster, load_test
from operator_process import OperatorProcess

LEASE = "sshload-operator"
SHORT_S = 18


@pytest.fixture
def second(api_server: ApiServer, cluster: LiveCluster, tmp_path: Path) -> Iterator[OperatorProcess]:
    """Return another operator, which watches the test's namespace and one more, and asks the API server directly."""
    folder = tmp_path / "second"
    folder.mkdir()
    second = OperatorProcess(api_server.kubeconfig, folder, (cluster.namespace, api_server.namespace().namespace))
    yield second
    second.kill()
    assert "Traceback" not in second.logs(), second.logs()[-5000:]


def holder(cluster: LiveCluster) -> str:
    """Return who holds the Lease of the test's namespace."""
    return str(cluster.get("lease", LEASE)["spec"]["holderIdentity"])


def waits(cluster: LiveCluster, first: OperatorProcess, second: OperatorProcess) -> None:
    """Have the first operator at work, and the second one wait for it."""
    first.start()
    assert holder(cluster) == first.identity
    second.begin()
    said = f"waits, and does nothing: {first.identity} holds the Lease {cluster.namespace}/{LEASE}"
    cluster.gone(lambda: said not in second.log(), "lack of a word of who holds the Lease")
    assert (second.probe("/healthz"), second.probe("/readyz")) == (200, 503)


def expires_soon(cluster: LiveCluster) -> None:
    """Let the Lease of an operator that has ended last a second from now on, in place of its whole duration."""
    cluster.change("lease", LEASE, {"spec": {"leaseDurationSeconds": 1}})


def works(cluster: LiveCluster, second: OperatorProcess, test: str) -> None:
    """Wait until the second operator holds the Lease and works."""
    cluster.gone(lambda: second.probe("/readyz") != 200, "lack of an operator")
    assert holder(cluster) == second.identity
    cluster.apply(load_test(test))
    cluster.wait(test, lambda status: status.get("phase") == "PreparingTarget", "start")


def test_a_second_operator_waits_and_takes_over_when_the_first_is_stopped(
    cluster: LiveCluster, operator: OperatorProcess, second: OperatorProcess
) -> None:
    waits(cluster, operator, second)
    cluster.apply(load_test("before"))
    cluster.wait("before", lambda status: status.get("phase") == "PreparingTarget", "start")
    assert operator.stop() == 0
    works(cluster, second, "after")
    assert "cannot" not in second.log()


def test_a_stopped_operator_leaves_no_lease_and_one_that_waits_can_be_stopped_too(
    cluster: LiveCluster, operator: OperatorProcess, second: OperatorProcess
) -> None:
    waits(cluster, operator, second)
    assert second.stop() == 0
    assert holder(cluster) == operator.identity
    assert operator.stop() == 0
    assert not cluster.exists("lease", LEASE)


def test_a_second_operator_takes_over_from_one_that_was_killed(
    cluster: LiveCluster, operator: OperatorProcess, second: OperatorProcess
) -> None:
    waits(cluster, operator, second)
    operator.kill()
    expires_soon(cluster)
    works(cluster, second, "after")


def test_an_operator_that_starts_again_as_the_same_pod_has_its_lease_at_once(
    cluster: LiveCluster, operator: OperatorProcess, second: OperatorProcess
) -> None:
    waits(cluster, operator, second)
    operator.kill()
    operator.start()
    assert "waits" not in operator.log()
    assert holder(cluster) == operator.identity
    assert second.probe("/readyz") == 503


def test_an_operator_that_stood_still_writes_nothing_more_and_ends(
    cluster: LiveCluster, operator: OperatorProcess, second: OperatorProcess, proxy: ApiProxy
) -> None:
    operator.lease_duration_s = SHORT_S  # it is over for the operator that stood still as well, by its own clock
    waits(cluster, operator, second)
    cluster.apply(load_test("before"))
    cluster.wait("before", lambda status: status.get("phase") == "PreparingTarget", "start")
    cluster.gone(lambda: not any(write.path.endswith("/events") for write in proxy.writes), "lack of its last write")
    cluster.assertions.clear()  # they hold for an operator that goes on
    os.kill(operator.pid, signal.SIGSTOP)
    works(cluster, second, "after")
    written = list(proxy.writes)
    os.kill(operator.pid, signal.SIGCONT)
    assert operator.wait() == 1
    assert f"has lost the Lease {cluster.namespace}/{LEASE}" in operator.log()
    assert proxy.writes == written
    assert holder(cluster) == second.identity


def test_an_operator_that_cannot_renew_its_lease_ends(
    cluster: LiveCluster, operator: OperatorProcess, second: OperatorProcess, proxy: ApiProxy
) -> None:
    operator.lease_duration_s = SHORT_S
    waits(cluster, operator, second)
    cluster.assertions.clear()
    proxy.go_away()
    assert operator.wait() == 1
    assert "cannot write the Lease" in operator.log()
    expires_soon(cluster)
    works(cluster, second, "after")


def test_a_watched_namespace_that_is_not_there_keeps_no_operator_from_its_work(
    cluster: LiveCluster, operator: OperatorProcess
) -> None:
    operator.namespaces = (cluster.namespace, "no-such-namespace")
    operator.start()
    assert "cannot write the Lease no-such-namespace/sshload-operator: 404" in operator.log()
    works(cluster, operator, "here")


def test_a_lease_that_somebody_deletes_is_made_anew(cluster: LiveCluster, operator: OperatorProcess) -> None:
    operator.lease_duration_s = SHORT_S
    operator.start()
    cluster.kubectl("delete", "lease", LEASE)
    cluster.gone(lambda: not cluster.exists("lease", LEASE), "lack of a Lease")
    works(cluster, operator, "after")


def test_an_operator_whose_lease_somebody_labels_keeps_it_and_one_whose_lease_is_taken_ends(
    cluster: LiveCluster, operator: OperatorProcess
) -> None:
    operator.lease_duration_s = SHORT_S
    operator.start()
    cluster.kubectl("label", "lease", LEASE, "a=b")
    renewed = cluster.get("lease", LEASE)["spec"]["renewTime"]
    cluster.gone(lambda: cluster.get("lease", LEASE)["spec"]["renewTime"] == renewed, "renewal of before")
    cluster.kubectl("patch", "lease", LEASE, "--type=merge", "-p", '{"spec":{"holderIdentity":"another"}}')
    assert operator.wait() == 1
    assert f"the Lease {cluster.namespace}/{LEASE} is now held by another" in operator.log()
    assert holder(cluster) == "another"
