"""The pages of an operator in its pod: enabled by a value of the chart, read as docs/how-to/pages.md says."""

import json
import re
import ssl
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPSConnection

import pytest
from chart_release import Release
from helm import RELEASE
from live_cluster import lone_worker_test
from local_cli import wait_until
from metrics_readers import token_of
from port_forward import forwarded_port

pytestmark = pytest.mark.xdist_group("an operator with pages")

TEST = "shown"
SELF_SIGNED = ssl.create_default_context()
SELF_SIGNED.check_hostname, SELF_SIGNED.verify_mode = False, ssl.CERT_NONE


def ask(port: int, path: str, token: str) -> tuple[int, str]:
    """Ask for a page with a token, and return the status and the text of the answer."""
    with closing(HTTPSConnection("127.0.0.1", port, timeout=60, context=SELF_SIGNED)) as connection:
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


@pytest.fixture(scope="module")
def release(own_release: Release) -> Release:
    """The release with its pages enabled, and a finished test in its namespace, about which the operator has told."""
    namespace = own_release.cluster.namespace
    own_release.install_for(namespace, values=("ui.enabled=true",))
    status = own_release.cluster.run(lone_worker_test(TEST))
    assert status["verdict"] == "Passed", status["message"]
    own_release.cluster.tells(TEST, status["reason"])  # the last request about it, for which there are rights still
    return own_release


@pytest.fixture(scope="module")
def reader(release: Release) -> Iterator[str]:
    """The token of a service account that is bound to the chart's role for readers."""
    cluster, name = release.cluster, f"{release.cluster.namespace}-reader"
    token = token_of(cluster, "reader")
    role = f"--clusterrole={cluster.namespace}-{RELEASE}-ui-reader"
    cluster.kubectl("create", "clusterrolebinding", name, role, f"--serviceaccount={cluster.namespace}:reader")
    yield token
    cluster.kubectl("delete", "clusterrolebinding", name)


def lists_the_test(status: int, page: str) -> bool:
    """Tell whether an answer is the list with the test. The API server and the operator hear late of new objects."""
    return (status, TEST in page, "Passed" in page) == (200, True, True)


def test_a_reader_sees_the_verdict_and_the_report_of_a_run(release: Release, reader: str) -> None:
    cluster = release.cluster
    results = cluster.status(TEST)["results"]
    with forwarded_port(cluster, f"{RELEASE}-ui", 8443) as port:
        wait_until(lambda: lists_the_test(*ask(port, f"/ui/{cluster.namespace}", reader)), "the test in the list")
        status, report = ask(port, f"/ui/{cluster.namespace}/tests/{TEST}", reader)
    assert status == 200, report
    (embedded,) = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', report, re.DOTALL)
    document = json.loads(embedded)
    assert document["results"]["iterations"] == results["iterations"] == 30
    assert document["results"]["completedRate"] == results["completedRate"]
    assert document["overTime"], "the report has no course over time: the operator may not read the results"


def test_a_service_account_without_the_role_reads_nothing(release: Release) -> None:
    token = token_of(release.cluster, "stranger")
    with forwarded_port(release.cluster, f"{RELEASE}-ui", 8443) as port:
        assert ask(port, "/ui", token)[0] == 403
        assert ask(port, f"/ui/{release.cluster.namespace}/tests/{TEST}", token)[0] == 403
