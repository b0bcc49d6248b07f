"""The pages of the shared operator: enabled by a value of the chart, read as docs/how-to/pages.md says."""

import json
import re
import ssl
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPSConnection
from typing import Any

import pytest
from chart_release import cluster_in
from cluster_server import forwarded_port
from helm import NAMESPACE, RELEASE
from live_cluster import LiveCluster
from local_cli import wait_until
from metrics_readers import token_of
from quickstart_run import NAME

pytestmark = pytest.mark.xdist_group("the quickstart")

SELF_SIGNED = ssl.create_default_context()
SELF_SIGNED.check_hostname, SELF_SIGNED.verify_mode = False, ssl.CERT_NONE


def ask(port: int, path: str, token: str) -> tuple[int, str]:
    """Ask for a page with a token, and return the status and the text of the answer."""
    with closing(HTTPSConnection("127.0.0.1", port, timeout=60, context=SELF_SIGNED)) as connection:
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


@pytest.fixture(scope="module")
def reader(quickstarts_cluster: LiveCluster) -> Iterator[str]:
    """The token of a service account that is bound to the chart's role for readers."""
    cluster, name = quickstarts_cluster, f"{quickstarts_cluster.namespace}-reader"
    token = token_of(cluster, "reader")
    role = f"--clusterrole={NAMESPACE}-{RELEASE}-ui-reader"
    cluster.kubectl("create", "clusterrolebinding", name, role, f"--serviceaccount={cluster.namespace}:reader")
    yield token
    cluster.kubectl("delete", "clusterrolebinding", name)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """A port of this machine that leads to the pages."""
    with forwarded_port(cluster_in(NAMESPACE), f"{RELEASE}-ui", 8443) as port:
        yield port


def lists_the_test(status: int, page: str) -> bool:
    """Tell whether an answer is the list with the test. The API server and the operator hear late of new objects."""
    return (status, NAME in page, "Passed" in page) == (200, True, True)


def test_a_reader_sees_the_verdict_and_the_report_of_a_run(
    quickstart: dict[str, Any], quickstarts_cluster: LiveCluster, reader: str, port: int
) -> None:
    pages = f"/ui/{quickstarts_cluster.namespace}"
    wait_until(lambda: lists_the_test(*ask(port, pages, reader)), "the test in the list")
    status, report = ask(port, f"{pages}/tests/{NAME}", reader)
    assert status == 200, report
    (embedded,) = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', report, re.DOTALL)
    document = json.loads(embedded)
    assert document["results"]["iterations"] == quickstart["results"]["iterations"] > 0
    assert document["results"]["completedRate"] == quickstart["results"]["completedRate"]
    assert document["overTime"], "the report has no course over time: the operator may not read the results"


@pytest.mark.usefixtures("quickstart")
def test_a_service_account_without_the_role_reads_nothing(quickstarts_cluster: LiveCluster, port: int) -> None:
    token = token_of(quickstarts_cluster, "stranger")
    assert ask(port, "/ui", token)[0] == 403
    assert ask(port, f"/ui/{quickstarts_cluster.namespace}/tests/{NAME}", token)[0] == 403
