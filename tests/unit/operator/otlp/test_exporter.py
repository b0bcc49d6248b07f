"""A real collector on loopback takes pushes, refuses them, hangs or is away; the operator goes on whatever it does."""

import asyncio
import logging
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsPartialSuccess,
    ExportMetricsServiceResponse,
)
from otlp_points import request_of, samples_of
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from running_target import wait_until
from sshload_operator.control.metrics.server import OperatorMetrics
from sshload_operator.control.otlp.exporter import Exporter
from sshload_operator.control.otlp.messages import MOST_POINTS
from sshload_operator.control.otlp.options import OtlpOptions
from sshload_operator.control.posting import Attempt, Posted
from webhook_receiver import PATH, Receiver, own_certificate, webhook_receiver

HUSH = "Bearer s3cret-of-the-collector"
REJECTED = ExportMetricsServiceResponse(
    partial_success=ExportMetricsPartialSuccess(rejected_data_points=7, error_message="\x1b[31mhostile")
).SerializeToString()


@pytest.fixture(name="collector")
def _collector() -> Iterator[Receiver]:
    with webhook_receiver() as receiver:
        receiver.answer = 200
        yield receiver


def exporter(
    options: OtlpOptions,
    counts: Counter[str] | None = None,
    collect: Callable[[], Iterator[Metric]] | None = None,
    answer_limit_s: float = 30,
) -> Exporter:
    """Return an exporter of an operator's own metrics, which counts its pushes here."""
    counts = Counter() if counts is None else counts
    return Exporter(
        options,
        collect or OperatorMetrics().collect,
        {"service.name": "sshload-operator"},
        lambda outcome, times: counts.update({outcome: times}),
        answer_limit_s,
    )


def to(collector: Receiver, secret: Path | None = None, interval_s: int = 3_600) -> OtlpOptions:
    """Return how to push there."""
    return OtlpOptions(collector.url, interval_s, secret)


def pushed(found: Exporter) -> Attempt:
    return asyncio.run(found.push())


def test_a_collector_reads_what_is_pushed(collector: Receiver) -> None:
    assert pushed(exporter(to(collector))) == Attempt(Posted.DELIVERED)
    (received,) = collector.received
    names = {name for name, _, _ in samples_of([request_of(received)])}
    assert {"process_cpu_seconds_total", "sshload_operator_failed_passes_total"} <= names


def test_what_a_collector_rejects_is_said_without_its_own_words(collector: Receiver) -> None:
    collector.content, collector.content_type = REJECTED, "application/x-protobuf"
    assert pushed(exporter(to(collector))) == Attempt(Posted.PARTIAL, "it rejected 7 points; its own log says why")


def test_what_a_collector_rejects_of_each_request_of_a_push_is_added_up(collector: Receiver) -> None:
    collector.content, collector.content_type = REJECTED, "application/x-protobuf"
    family = GaugeMetricFamily("figures", "Of two requests.", labels=("number",))
    for number in range(MOST_POINTS + 1):
        family.add_metric((str(number),), number)
    push = pushed(exporter(to(collector), collect=lambda: iter((family,))))
    assert len(collector.received) == 2
    assert push == Attempt(Posted.PARTIAL, "it rejected 14 points; its own log says why")


@pytest.mark.parametrize("content", [b"\xff" * 100, bytes(1_000_000), b"{}"], ids=["no message", "long", "JSON"])
def test_an_answer_that_is_no_message_is_as_if_empty(collector: Receiver, content: bytes) -> None:
    collector.content, collector.content_type = content, "application/x-protobuf"
    assert pushed(exporter(to(collector))) == Attempt(Posted.DELIVERED)


@pytest.mark.parametrize("status", [301, 400, 401, 429, 503])
def test_a_collector_that_refuses_is_asked_again_at_the_next_push_only(collector: Receiver, status: int) -> None:
    collector.answers, collector.location = [status], collector.url
    assert pushed(exporter(to(collector))) == Attempt(Posted.REFUSED, f"it answered {status}")
    assert len(collector.received) == 1


def test_a_collector_that_is_away_is_said_to_be(collector: Receiver) -> None:
    collector.shut()
    assert pushed(exporter(to(collector))).end is Posted.UNREACHABLE
    collector.open()
    assert pushed(exporter(to(collector))).end is Posted.DELIVERED


def test_a_collector_that_closes_the_connection_in_place_of_an_answer_is_away() -> None:
    async def close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Close once all is read: what is unread would make it a reset, of which another error tells."""
        head = await reader.readuntil(b"\r\n\r\n")
        (length,) = re.findall(rb"(?i)content-length: (\d+)", head)
        await reader.readexactly(int(length))
        writer.close()

    async def play() -> Attempt:
        server = await asyncio.start_server(close, "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            return await exporter(OtlpOptions(f"http://127.0.0.1:{port}/v1/metrics", 3_600, None)).push()

    push = asyncio.run(play())
    assert (push.end, push.message) == (Posted.UNREACHABLE, "no answer: ServerDisconnectedError")


def test_an_answer_of_another_kind_rejects_nothing_whatever_its_bytes_are(collector: Receiver) -> None:
    collector.content, collector.content_type = REJECTED, "application/json"
    assert pushed(exporter(to(collector))) == Attempt(Posted.DELIVERED)


def test_a_collector_that_hangs_is_given_up(collector: Receiver) -> None:
    collector.answer = 0
    push = pushed(exporter(to(collector), answer_limit_s=0.5))
    assert push.end is Posted.UNREACHABLE
    assert push.message.startswith("no answer: ")


def test_while_a_collector_hangs_the_event_loop_turns_and_no_second_request_is_made_and_a_stop_does_not_wait(
    collector: Receiver,
) -> None:
    """Turns of the event loop are what a pass needs."""
    collector.answer = 0
    counts: Counter[str] = Counter()

    async def until_it_hangs() -> None:
        found = exporter(to(collector, interval_s=0), counts, answer_limit_s=3_600)
        found.start()
        await asyncio.to_thread(wait_until, lambda: bool(collector.received), "a request")
        for _ in range(1_000):
            await asyncio.sleep(0)
        await found.stop()

    asyncio.run(until_it_hangs())
    assert len(collector.received) == 1
    assert counts == dict.fromkeys(set(Posted) - {Posted.GIVEN_UP}, 0)


def test_pushes_are_counted_by_how_they_ended_and_a_problem_is_logged_once(
    collector: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    collector.answers = [503, 503]
    counts: Counter[str] = Counter()

    async def until_one_is_taken() -> None:
        found = exporter(to(collector, interval_s=0), counts)
        found.start()
        await asyncio.to_thread(wait_until, lambda: counts["delivered"] > 0, "a push that is taken")
        await found.stop()

    with caplog.at_level(logging.INFO):
        asyncio.run(until_one_is_taken())
    assert (counts["refused"], counts["unreachable"]) == (2, 0)
    origin = collector.url.removesuffix(PATH)
    assert [record.getMessage() for record in caplog.records if record.name.endswith("otlp.exporter")] == [
        f"{origin} did not accept the metrics, and they are sent again: it answered 503",
        f"{origin} accepts the metrics again",
    ]


def test_a_collector_of_ones_own_authority_gets_the_headers_and_a_stranger_gets_nothing(tmp_path: Path) -> None:
    context, certificate = own_certificate(tmp_path)
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "headers").write_text(f"Authorization: {HUSH}\n")
    with webhook_receiver(context) as collector:
        collector.answer = 200
        found = exporter(to(collector, secret))
        stranger = pushed(found)
        (secret / "ca.crt").write_bytes(certificate)
        assert pushed(found).end is Posted.DELIVERED
    (received,) = collector.received
    assert received.headers["authorization"] == HUSH
    assert stranger.end is Posted.UNREACHABLE
    assert HUSH not in stranger.message


def test_a_secret_that_cannot_be_used_sends_nothing_and_says_why_without_it(tmp_path: Path) -> None:
    context, _ = own_certificate(tmp_path)
    (tmp_path / "headers").write_text(HUSH)
    with webhook_receiver(context) as collector:
        push = pushed(exporter(to(collector, tmp_path)))
    assert (push.end, collector.received) == (Posted.UNREADABLE, [])
    assert HUSH not in push.message


def test_a_defect_that_ends_the_pushes_is_logged(collector: Receiver, caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> Iterator[Metric]:
        raise KeyError("a defect")
        yield

    async def until_it_ends() -> None:
        found = exporter(to(collector), collect=broken)
        found.start()
        await asyncio.to_thread(wait_until, lambda: "are not pushed any more" in caplog.text, "a word about the end")
        await found.stop()

    asyncio.run(until_it_ends())
    assert collector.received == []


def test_a_defect_of_a_metric_is_not_taken_for_a_collector_that_is_away(collector: Receiver) -> None:
    def defective() -> Iterator[Metric]:
        raise ValueError("a defect of the operator's own")
        yield GaugeMetricFamily("never", "Said.")

    with pytest.raises(ValueError, match="own"):
        pushed(exporter(to(collector), collect=defective))
