"""The operator's /metrics for Prometheus: its own work, and the results of its objects."""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Final

from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, Gauge, Metric, ProcessCollector, generate_latest
from sshload_contract.front.admission import Limits
from sshload_contract.front.cpu_share import CpuShare

from sshload_operator.control.front import Front
from sshload_operator.control.metrics.bearer_check import BearerCheck
from sshload_operator.control.metrics.schedules import SchedulesCollector
from sshload_operator.control.metrics.serving_certificate import ServingCertificate
from sshload_operator.control.metrics.tests import TestsCollector

_TEXT_FORMAT: Final = "text/plain; version=0.0.4; charset=utf-8"
LIMITS: Final = Limits(connections=64, per_address=32)


class OperatorMetrics:
    """All that the operator publishes."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.tests = TestsCollector()
        self.schedules = SchedulesCollector()
        self._api_requests = Counter(
            "sshload_operator_api_requests",
            "Requests to the API server, watches excepted.",
            ("verb", "resource"),
            registry=self._registry,
        )
        self._failed_passes = Counter(
            "sshload_operator_failed_passes",
            "Passes over an object that failed and were repeated.",
            registry=self._registry,
        )
        self._started_runs = Counter(
            "sshload_operator_started_runs",
            "Runs of tests that this operator process started.",
            registry=self._registry,
        )
        self._notifications = Counter(
            "sshload_operator_notifications",
            "Attempts to deliver the end of a run on a channel, by outcome.",
            ("channel", "outcome"),
            registry=self._registry,
        )
        self._pending_notifications = Gauge(
            "sshload_operator_notifications_pending",
            "Ends of runs that wait for their delivery on a channel.",
            ("channel",),
            registry=self._registry,
        )
        self._pushes = Counter(
            "sshload_operator_otlp_pushes",
            "Pushes of the metrics to the collector of OTLP, by outcome.",
            ("outcome",),
            registry=self._registry,
        )
        self._certificate_ends = Gauge(
            "sshload_operator_certificate_expiry_timestamp_seconds",
            "When the certificate of a Secret that the operator serves with ends, by what is served.",
            ("served",),
            registry=self._registry,
        )
        ProcessCollector(registry=self._registry)

    def count_api_request(self, verb: str, resource: str) -> None:
        """Count one request."""
        self._api_requests.labels(verb, resource).inc()

    def count_failed_pass(self) -> None:
        """Count one pass that failed."""
        self._failed_passes.inc()

    def count_started_run(self) -> None:
        """Count one run that was started."""
        self._started_runs.inc()

    def count_notification(self, channel: str, outcome: str, times: int = 1) -> None:
        """Count attempts to deliver an event; 0 of them make the outcome known."""
        self._notifications.labels(channel, outcome).inc(times)

    def set_pending_notifications(self, channel: str, count: int) -> None:
        """Take in how many events wait for their delivery."""
        self._pending_notifications.labels(channel).set(count)

    def count_push(self, outcome: str, times: int) -> None:
        """Count pushes to the collector; 0 of them make the outcome known."""
        self._pushes.labels(outcome).inc(times)

    def set_certificate_end(self, served: str, end_s: float) -> None:
        """Take in when the certificate of the metrics, or of the pages, ends."""
        self._certificate_ends.labels(served).set(end_s)

    def collect(self) -> Iterator[Metric]:
        """Yield all families. Objects may change between two families, but not while one is made."""
        return chain(self._registry.collect(), self.tests.collect(), self.schedules.collect())

    def render(self) -> Iterator[bytes]:
        """Return the whole page for Prometheus in its text format 0.0.4, in pieces."""
        return chain([generate_latest(self._registry)], self.tests.render(), self.schedules.render())


@dataclass(frozen=True, slots=True)
class Guard:
    """What protects the metrics: a check of each request, and TLS."""

    check: BearerCheck
    certificate: ServingCertificate


class MetricsServer:
    """Serves on all addresses from `start` to `stop`."""

    def __init__(self, port: int, render: Callable[[], Iterator[bytes]], limits: Limits = LIMITS) -> None:
        self._front = Front(port, limits)
        self._page = _Page(render)

    async def start(self, guard: Guard | None) -> None:
        """Listen. Without a guard, serve everybody over plain HTTP.

        Raises OSError where the port is taken, and CertificateError.
        """
        app = web.Application(middlewares=() if guard is None else (guard.check.admit,))
        app.add_routes([web.get("/metrics", self._metrics)])
        await self._front.start(app, None if guard is None else guard.certificate)

    async def stop(self) -> None:
        """Stop listening and close all connections."""
        await self._front.stop()

    async def _metrics(self, request: web.Request) -> web.StreamResponse:
        """Answer piece by piece: the page of 1,000 tests has 1 MB, and several copies of it would be in memory."""
        pieces = await self._page.pieces()
        answer = web.StreamResponse(headers={"Content-Type": _TEXT_FORMAT})
        with suppress(ConnectionError):  # a client that is gone is no news
            await answer.prepare(request)
            for piece in pieces:
                await answer.write(piece)
            await answer.write_eof()
        return answer


class _Page:
    """Is made with its share of a CPU, each time for all who asked before: no answer is older than its request."""

    def __init__(self, render: Callable[[], Iterator[bytes]]) -> None:
        self._render = render
        self._turn = asyncio.Lock()
        self._share = CpuShare()
        self._next: asyncio.Task[Sequence[bytes]] | None = None

    async def pieces(self) -> Sequence[bytes]:
        if self._next is None:
            self._next = asyncio.create_task(self._make())
        return await asyncio.shield(self._next)  # the others get the page though this one is gone

    async def _make(self) -> Sequence[bytes]:
        async with self._turn:
            await asyncio.sleep(self._share.free_at_s - time.monotonic())
            self._next = None
            pieces: list[bytes] = []
            rendered = self._render()
            while True:
                with self._share.used():
                    piece = next(rendered, None)
                if piece is None:
                    return pieces
                pieces.append(piece)
                await asyncio.sleep(0)  # all else goes on between two pieces
