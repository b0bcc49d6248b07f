"""CRDs that are older, broken, or not there yet. The tests change the CRD, so the API server is a lane's own."""

import contextlib
import json
import re
from collections.abc import Iterator

import pytest
from api_proxy import ApiProxy
from api_server import CRDS, ApiServer
from live_cluster import LiveCluster, load_test
from operator_process import OperatorProcess

pytestmark = pytest.mark.xdist_group("own_api_server")

UNREADABLE = load_test("unreadable", warmUp="soon")


@pytest.fixture
def api_server(own_api_server: ApiServer) -> ApiServer:
    """Return an API server whose CRDs may be changed."""
    return own_api_server


def test_a_spec_that_an_older_crd_let_pass_ends_in_a_clear_condition(
    cluster: LiveCluster, operator: OperatorProcess, proxy: ApiProxy
) -> None:
    with any_spec_allowed(cluster):
        operator.start()
        cluster.apply(UNREADABLE)
        status = cluster.finished("unreadable")
    assert (status["verdict"], status["reason"]) == ("Error", "InvalidSpec")
    assert "spec.warmUp" in status["message"]
    assert not cluster.children("unreadable")
    assert [
        write.path for write in proxy.writes if write.method == "PATCH" and "/sshloadtests/" not in write.path
    ] == []


@pytest.mark.parametrize("levels", [pytest.param(900, marks=pytest.mark.full), 9000])
def test_a_spec_nested_without_end_that_an_older_crd_let_pass_ends_in_a_clear_condition(
    cluster: LiveCluster, operator: OperatorProcess, levels: int
) -> None:
    nested = '{"deeper":' * levels + "{}" + "}" * levels
    test = json.dumps(load_test("deep", workers={"affinity": "NESTED"})).replace('"NESTED"', nested)
    with any_spec_allowed(cluster):
        operator.start()
        cluster.kubectl("create", "--validate=ignore", "-f", "-", stdin=test)
        cluster.gone(lambda: reason(cluster, "deep") != "InvalidSpec", "lack of an end")
        operator.stop()
        operator.start()
        cluster.apply(load_test("readable"))
        cluster.wait("readable", lambda status: status.get("phase") == "PreparingTarget", "start")


def reason(cluster: LiveCluster, test: str) -> str:
    """Return the reason in a test's status; kubectl picks it, for this process cannot parse the test either."""
    return cluster.kubectl("get", "slt", test, "-o", "jsonpath={.status.reason}")


def test_an_object_whose_status_cannot_be_written_gets_an_event_and_holds_up_nobody(
    cluster: LiveCluster, operator: OperatorProcess
) -> None:
    with any_spec_allowed(cluster):
        cluster.apply(UNREADABLE)
    operator.start()
    cluster.apply(load_test("readable"))
    cluster.wait("readable", lambda status: status.get("phase") == "PreparingTarget", "start")
    cluster.tells("unreadable", "spec.warmUp")
    cluster.gone(lambda: failed_passes(operator) < 2, "lack of a second try")
    assert operator.log().count("unreadable: a pass failed") == 1


@contextlib.contextmanager
def any_spec_allowed(cluster: LiveCluster) -> Iterator[None]:
    """Serve the CRD without a schema of the spec, as an older or a broken one may have been."""
    schema = "/spec/versions/0/schema/openAPIV3Schema"
    any_object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    lax = [
        {"op": "replace", "path": f"{schema}/properties/spec", "value": any_object},
        {"op": "remove", "path": f"{schema}/x-kubernetes-validations"},
    ]
    cluster.kubectl("patch", "crd", "sshloadtests.sshload.dev", "--type=json", "-p", json.dumps(lax))
    try:
        cluster.gone(lambda: not cluster.takes(UNREADABLE), "the schema")
        yield
    finally:
        cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(CRDS))
        cluster.gone(lambda: cluster.takes({**UNREADABLE, "metadata": {"name": "other"}}), "lack of the schema")


def failed_passes(operator: OperatorProcess) -> float:
    """Return how many passes have failed, by the operator's metrics."""
    found = re.search(r"^sshload_operator_failed_passes_total (\S+)", operator.metrics(), re.MULTILINE)
    assert found is not None
    return float(found[1])


def test_an_operator_that_is_there_before_its_crds_says_which_are_missing_and_is_not_ready_until_they_come(
    cluster: LiveCluster, operator: OperatorProcess
) -> None:
    cluster.kubectl("delete", "-f", str(CRDS))
    operator.begin()
    cluster.gone(lambda: "sshloadtests.sshload.dev" not in operator.log(), "lack of a word of what is missing")
    assert (operator.probe("/healthz"), operator.probe("/readyz")) == (200, 503)
    cluster.kubectl("apply", "--server-side", "-f", str(CRDS))
    cluster.gone(lambda: operator.probe("/readyz") != 200, "lack of readiness")
    cluster.apply(load_test("late"))
    cluster.wait("late", lambda status: status.get("phase") == "PreparingTarget", "start")
