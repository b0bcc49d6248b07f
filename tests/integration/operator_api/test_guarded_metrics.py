"""Metrics that only those read whom RBAC lets get them: real service accounts, and a real API server that decides."""

import ssl
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPSConnection
from pathlib import Path

import pytest
from api_proxy import Answer, ApiProxy
from live_cluster import LiveCluster
from metrics_readers import certificate_folder, token_of, token_of_reader
from operator_process import OperatorProcess
from running_target import wait_until


@pytest.fixture
def guarded(operator: OperatorProcess) -> OperatorProcess:
    """Return an operator, not yet started, whose metrics are guarded, with a certificate of its own."""
    operator.more_arguments = ("--metrics-secure",)
    return operator


@pytest.fixture
def reader(cluster: LiveCluster) -> Iterator[str]:
    """Return the token of a service account that RBAC lets get /metrics."""
    with token_of_reader(cluster, "prometheus") as token:
        yield token


def read(operator: OperatorProcess, token: str = "", path: str = "/metrics") -> tuple[int, str]:
    """Read a page of the operator; return the status and the page."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    connection = HTTPSConnection("127.0.0.1", operator.metrics_port, timeout=60, context=context)
    with closing(connection):
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def read_until(operator: OperatorProcess, token: str, status: int) -> str:
    """Return the page once it is answered so: the API server's authorizer hears of rules a moment later."""
    answers: list[tuple[int, str]] = []

    def is_so() -> bool:
        answers[:] = [read(operator, token)]
        return answers[0][0] == status

    wait_until(is_so, f"an answer of {status}")
    return answers[0][1]


def test_only_who_may_get_the_path_reads_the_metrics(
    guarded: OperatorProcess, cluster: LiveCluster, reader: str
) -> None:
    guarded.start()
    stranger = token_of(cluster, "stranger")
    assert "sshload_operator_api_requests_total" in read_until(guarded, reader, 200)
    assert [read(guarded)[0], read(guarded, "no-token")[0], read(guarded, stranger)[0]] == [401, 401, 403]
    assert read(guarded, reader, path="/other")[0] == 403
    with pytest.raises(ConnectionResetError):  # nothing is served without TLS
        guarded.metrics()
    assert all(token not in guarded.logs() for token in (reader, stranger))


def test_nobody_reads_the_metrics_where_the_api_server_does_not_say_who_may(
    guarded: OperatorProcess, proxy: ApiProxy, reader: str
) -> None:
    guarded.start()
    proxy.meddle = lambda asked: Answer(500) if asked.resource == "tokenreviews" else None
    assert read(guarded, reader)[0] == 503
    proxy.meddle = lambda _: None
    assert "cannot ask who may read the metrics" in guarded.logs()
    assert reader not in guarded.logs()
    read_until(guarded, reader, 200)


def test_the_metrics_are_served_with_the_certificate_of_the_secret(guarded: OperatorProcess, tmp_path: Path) -> None:
    folder = certificate_folder(tmp_path / "certificate")
    guarded.more_arguments = ("--metrics-secure", f"--metrics-certificate={folder}")
    guarded.start()
    certificate = (folder / "tls.crt").read_text(encoding="ascii")
    assert ssl.get_server_certificate(("127.0.0.1", guarded.metrics_port)).strip() == certificate.strip()


def test_an_operator_without_the_certificate_that_it_was_given_says_so_and_ends(
    guarded: OperatorProcess, tmp_path: Path
) -> None:
    guarded.more_arguments = ("--metrics-secure", f"--metrics-certificate={tmp_path / 'none'}")
    guarded.begin()
    assert guarded.wait() != 0
    assert "has no certificate and key that belong together" in guarded.log()
