"""The operator's metrics reach a real collector by OTLP; whatever befalls the collector, runs of tests go on."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from canary import Canary
from live_cluster import LiveCluster, load_test
from operator_process import OperatorProcess
from otlp_points import attributes_of, request_of, samples_of
from prometheus_client.parser import text_string_to_metric_families
from running_target import wait_until
from webhook_receiver import PATH, Receiver, own_certificate, webhook_receiver

TOKEN = b"Bearer 7f1c-token-of-the-collector-2b9d"


@pytest.fixture(name="collector")
def _collector() -> Iterator[Receiver]:
    with webhook_receiver() as receiver:
        receiver.answer = 200
        yield receiver


def pushes_to(operator: OperatorProcess, collector: Receiver, *arguments: str) -> OperatorProcess:
    """Let an operator, not yet started, push there as often as it can."""
    operator.more_arguments = [f"--otlp-endpoint={collector.url}", "--otlp-interval=5", *arguments]
    return operator


def end_a_run(cluster: LiveCluster, name: str) -> None:
    """Let a test come to its end at once, without pods."""
    cluster.apply(load_test(name, abort=True))
    cluster.finished(name)


def verdicts(collector: Receiver) -> set[str]:
    """Return the tests whose verdicts were pushed."""
    samples = samples_of(request_of(one) for one in list(collector.received))
    return {dict(labels)["test"] for name, labels, _ in samples if name == "sshload_test_verdict"}


def pushes(operator: OperatorProcess, outcome: str) -> float:
    """Return how many pushes ended so."""
    name = f'sshload_operator_otlp_pushes_total{{outcome="{outcome}"}}'
    found = re.search(rf"^{re.escape(name)} (\S+)$", operator.metrics(), re.MULTILINE)
    assert found is not None
    return float(found[1])


def test_what_a_run_ended_with_is_pushed_under_the_names_of_the_page(
    cluster: LiveCluster, operator: OperatorProcess, collector: Receiver
) -> None:
    pushes_to(operator, collector).start()
    end_a_run(cluster, "ended")
    wait_until(lambda: "ended" in verdicts(collector), "a push with the verdict")
    newest = collector.received[-1]
    request = request_of(newest)
    families = text_string_to_metric_families(operator.metrics())
    page = {sample.name for family in families for sample in family.samples}
    assert newest.path == f"{PATH}/v1/metrics"
    assert {name for name, _, _ in samples_of([request])} == page
    assert attributes_of(request.resource_metrics[0].resource) == {
        "service.name": "sshload-operator",
        "service.instance.id": operator.identity,
    }
    wait_until(lambda: pushes(operator, "delivered") >= 1, "the count of the push, which follows the answer")


def test_a_collector_that_hangs_and_one_that_is_away_hold_up_no_run_and_no_stop(
    cluster: LiveCluster, operator: OperatorProcess, collector: Receiver
) -> None:
    collector.answer = 0
    pushes_to(operator, collector).start()
    wait_until(lambda: bool(collector.received), "a request that hangs")
    end_a_run(cluster, "while-it-hangs")
    collector.shut()
    wait_until(lambda: pushes(operator, "unreachable") >= 1, "a push that was given up")
    end_a_run(cluster, "while-it-is-away")
    collector.answer = 200
    collector.open()
    wait_until(lambda: pushes(operator, "delivered") >= 1, "a push that is taken")
    missed = {"while-it-hangs", "while-it-is-away"}
    wait_until(lambda: missed <= verdicts_taken(collector), "a push of what the collector missed")
    collector.answer, hung = 0, len(collector.received)
    wait_until(lambda: len(collector.received) > hung, "another request that hangs")
    assert operator.stop() == 0


def verdicts_taken(collector: Receiver) -> set[str]:
    """Return the tests whose verdicts are in requests that the collector answered."""
    samples = samples_of(request_of(one) for one in list(collector.received) if one.answered == 200)
    return {dict(labels)["test"] for name, labels, _ in samples if name == "sshload_test_verdict"}


def test_the_headers_of_the_secret_reach_the_collector_and_nobody_else(
    operator: OperatorProcess, tmp_path: Path
) -> None:
    context, certificate = own_certificate(tmp_path)
    secret = tmp_path / "otlp"
    secret.mkdir()
    (secret / "headers").write_bytes(b"Authorization: " + TOKEN + b"\n")
    with webhook_receiver(context) as collector:
        collector.answer = 200
        pushes_to(operator, collector, f"--otlp-secret={secret}").start()
        wait_until(lambda: pushes(operator, "unreachable") >= 1, "a push that does not trust the collector")
        (secret / "ca.crt").write_bytes(certificate)
        wait_until(lambda: pushes(operator, "delivered") >= 1, "a push that is taken")
    assert {one.headers["authorization"] for one in collector.received} == {TOKEN.decode()}
    canary = Canary({"the collector's token": TOKEN})
    assert canary.found_in("the log", operator.logs()) == []
    assert canary.found_in("the metrics", operator.metrics()) == []
