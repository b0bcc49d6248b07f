"""kopf: watches, start and stop. The only module that imports it.

Handlers only hand watch events on. There are no timers, daemons or delete handlers, because those put finalizers on
objects, which block every deletion while the operator is gone.
"""

import asyncio
import logging
import os
import signal
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import kopf
from aiohttp import web
from sshload_contract.front.admission import Limits

from sshload_operator.api.kinds import COMPARISON, GROUP, KINDS, SCHEDULE, TEST, VERSION
from sshload_operator.control.api_server.client import api_client
from sshload_operator.control.api_server.cluster import ANSWER_LIMIT_S, LIST_PAGE, Cluster
from sshload_operator.control.api_server.errors import ApiError
from sshload_operator.control.api_server.lease import Leases, Terms
from sshload_operator.control.api_server.watch_session import BACK_OFFS_S, Listed, watch_session
from sshload_operator.control.channels.channel import Channel, Sender
from sshload_operator.control.channels.deliveries import Counts, Deliveries
from sshload_operator.control.front import Front
from sshload_operator.control.live.kinds import LiveKinds
from sshload_operator.control.metrics.bearer_check import BearerCheck
from sshload_operator.control.metrics.server import Guard, MetricsServer, OperatorMetrics
from sshload_operator.control.metrics.serving_certificate import ServingCertificate
from sshload_operator.control.otlp.options import OtlpOptions
from sshload_operator.manifests.labels import TEST_LABEL
from sshload_operator.planning.installation import Installation

if TYPE_CHECKING:
    from sshload_operator.control.otlp.exporter import Exporter
    from sshload_operator.control.pages.index import Index
    from sshload_operator.control.pages.server import PagesServer

_LOG = logging.getLogger(__name__)
_LEASE_LOST: Final = 1
PROBE_LIMITS: Final = Limits(connections=64, per_address=32)
_SERVED_EVERY_S: Final = 1.0
_OWNERS: Final = (SCHEDULE, COMPARISON)
_NOISY_LOGGERS: Final = ("kopf.objects", "kopf.activities", "aiohttp.access")


@dataclass(frozen=True, slots=True)
class Options:
    """How the operator runs. Without `namespaces` it watches all of them, and its Lease is in `lease_namespace`.

    With `secure_metrics` the metrics are served over TLS, only to users whom RBAC lets read them, with the certificate
    in the folder `metrics_certificate` (None: a self-signed one). `channel_secrets` has a folder with the
    Secret of each channel. `pages` is None if no pages are served, `otlp` is None if no metrics are pushed.
    """

    namespaces: tuple[str, ...]
    installation: Installation
    metrics_port: int
    secure_metrics: bool
    metrics_certificate: Path | None
    channels: Mapping[str, Channel]
    channel_secrets: Path
    pages: "PagesOptions | None"
    otlp: OtlpOptions | None
    health_port: int
    lease_namespace: str
    lease: Terms


@dataclass(frozen=True, slots=True)
class PagesOptions:
    """Where the pages are served, and the folder with their certificate (None: a self-signed one)."""

    port: int
    certificate: Path | None


class Operator:
    """The operator's process: what kopf calls, and what that leads to."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._metrics = OperatorMetrics()
        self._cluster: Cluster | None = None
        self._live: LiveKinds | None = None
        self._leases: Leases | None = None
        self._server = MetricsServer(options.metrics_port, self._metrics.render)
        self._certificate = self._serving("metrics", options.metrics_certificate) if options.secure_metrics else None
        self._index: Index | None = None
        self._pages: PagesServer | None = None
        self._pages_certificate = None if options.pages is None else self._serving("ui", options.pages.certificate)
        self._exporter: Exporter | None = None
        self._probes = ProbeServer(options.health_port, lambda: self._live is not None)

    def _serving(self, served: str, folder: Path | None) -> ServingCertificate:
        return ServingCertificate(folder, tell_end=partial(self._metrics.set_certificate_end, served))

    async def run(self) -> None:
        """Wait for the Lease and for the CRDs, and run until the process is told to stop.

        Raises CertificateError before that if the metrics or the pages have no certificate that can be used.
        """
        asyncio.get_running_loop().set_exception_handler(ignore_unclosed_watches)
        for certificate in (self._certificate, self._pages_certificate):
            if certificate is not None:
                await certificate.context()
        await self._probes.start()
        cluster = Cluster(await api_client(), self._metrics.count_api_request)
        options = self._options
        self._leases = Leases(cluster, options.namespaces, options.lease_namespace, options.lease)
        try:
            await _unless_told_to_stop(self._leases.take())
            losing = asyncio.create_task(self._end_when_lost(self._leases))
            await _unless_told_to_stop(_until_served(cluster))
            await self._work()
            losing.cancel()
        except asyncio.CancelledError:
            _LOG.info("was told to stop while it waited")
        finally:
            await self._leases.release()
            await cluster.close()
            await self._probes.stop()

    async def _work(self) -> None:
        namespaces = self._options.namespaces
        await kopf.operator(
            registry=self._registry(),
            settings=_settings(),
            standalone=True,
            clusterwide=not namespaces,
            namespaces=namespaces,
        )

    async def _end_when_lost(self, leases: Leases) -> None:
        """End the process when a Lease is lost: an orderly stop would still write, and another operator may act now."""
        await leases.wait_until_lost()
        logging.shutdown()
        os._exit(_LEASE_LOST)

    def _registry(self) -> kopf.OperatorRegistry:
        registry = kopf.OperatorRegistry()
        labels = {TEST_LABEL: kopf.PRESENT}
        kopf.on.startup(registry=registry, errors=kopf.ErrorsMode.PERMANENT)(self._start)
        kopf.on.cleanup(registry=registry)(self._stop)
        kopf.on.login(registry=registry)(self._log_in)
        kopf.on.event(GROUP, VERSION, TEST.plural, registry=registry)(self._test_changed)
        for kind in _OWNERS:
            kopf.on.event(GROUP, VERSION, kind.plural, registry=registry)(self._owner_changed)
        kopf.on.event("", "v1", "pods", labels=labels, registry=registry)(self._pod_changed)
        kopf.on.event("batch", "v1", "jobs", labels=labels, registry=registry)(self._job_changed)
        return registry

    async def _start(self, **_: Any) -> None:
        for name in _NOISY_LOGGERS:
            logging.getLogger(name).setLevel(logging.WARNING)
        assert self._leases is not None  # noqa: S101 - `run` has taken them
        self._cluster = Cluster(await api_client(), self._metrics.count_api_request, self._leases.are_held)
        await self._server.start(self._guard(self._cluster))
        if self._options.pages is not None and self._pages_certificate is not None:
            await self._serve_pages(self._cluster, self._options.pages, self._pages_certificate)
        if self._options.otlp is not None:
            self._push_metrics(self._options.otlp)
        deliveries = [self._deliveries(self._cluster, *named) for named in self._options.channels.items()]
        # From now on the readiness probe succeeds.
        self._live = LiveKinds(self._cluster, self._options.installation, self._metrics, deliveries)
        _LOG.info("watching %s", ", ".join(self._options.namespaces) or "all namespaces")

    def _deliveries(self, cluster: Cluster, name: str, channel: Channel) -> Deliveries:
        options, metrics = self._options, self._metrics
        pending = partial(metrics.set_pending_notifications, name)
        counts = Counts(partial(metrics.count_notification, name), pending)
        sender = Sender(channel, options.channel_secrets / name)
        return Deliveries(cluster, name, channel, sender, options.namespaces, counts)

    async def _serve_pages(self, cluster: Cluster, pages: PagesOptions, certificate: ServingCertificate) -> None:
        # Imported here because most operators serve no pages, and need not have this in memory.
        from sshload_operator.control.pages.index import Index  # noqa: PLC0415
        from sshload_operator.control.pages.reports import RenderedReports  # noqa: PLC0415
        from sshload_operator.control.pages.server import PagesServer  # noqa: PLC0415

        self._index = Index()
        check = BearerCheck(cluster, what="the pages")
        self._pages = PagesServer(pages.port, self._index, check, RenderedReports(cluster))
        await self._pages.start(certificate)

    def _push_metrics(self, otlp: OtlpOptions) -> None:
        # Imported here because most operators push nothing, and need not have OTLP's messages in memory.
        from sshload_operator.control.otlp.exporter import Exporter  # noqa: PLC0415

        resource = {"service.name": "sshload-operator", "service.instance.id": self._options.lease.identity}
        self._exporter = Exporter(otlp, self._metrics.collect, resource, self._metrics.count_push)
        self._exporter.start()

    def _guard(self, cluster: Cluster) -> Guard | None:
        return Guard(BearerCheck(cluster), self._certificate) if self._certificate is not None else None

    async def _stop(self, **_: Any) -> None:
        if self._live is not None:
            await self._live.stop()
        if self._exporter is not None:
            await self._exporter.stop()
        if self._cluster is not None:
            await self._cluster.close()
        await self._server.stop()
        if self._pages is not None:
            await self._pages.stop()

    async def _log_in(self, **_: Any) -> kopf.AiohttpSession:
        """Let kopf reach the API server exactly as the operator's own requests do."""
        client = await api_client()
        session = watch_session(client, self._listed)
        return kopf.AiohttpSession(server=client.configuration.host, aiohttp_session=session)

    def _listed(self, listed: Listed) -> None:
        if self._live is not None:
            self._live.listed(listed)
        if self._index is not None:
            self._index.forget(listed.plural, listed.lacks)

    async def _test_changed(self, event: kopf.RawEvent, **_: Any) -> None:
        if self._live is not None:
            self._live.test_changed(event["type"], event["object"])
        if self._index is not None:
            self._index.changed(TEST.plural, event["type"], event["object"])

    async def _owner_changed(self, resource: kopf.Resource, event: kopf.RawEvent, **_: Any) -> None:
        if self._live is not None:
            self._live.owner_changed(resource.plural, event["type"], event["object"])
        if self._index is not None:
            self._index.changed(resource.plural, event["type"], event["object"])

    async def _pod_changed(self, event: kopf.RawEvent, **_: Any) -> None:
        if self._live is not None:
            self._live.tests.pod_changed(event["type"], event["object"])

    async def _job_changed(self, event: kopf.RawEvent, **_: Any) -> None:
        if self._live is not None:
            self._live.tests.job_changed(event["type"], event["object"])


async def _until_served(cluster: Cluster) -> None:
    """Wait until the API server serves all kinds: kopf would never notice one that comes later."""
    said = ""
    while True:
        try:
            missing = [kind.plural for kind in KINDS if kind.plural not in await cluster.served_kinds()]
            waits_for = ", ".join(f"{plural}.{GROUP}" for plural in missing)
            problem = f"waits for CustomResourceDefinitions that are not installed: {waits_for}" if missing else ""
        except ApiError as error:
            problem = f"cannot ask which kinds the API server serves, and tries again: {error}"
        if not problem:
            return
        if problem != said:
            _LOG.warning("%s", problem)
        said = problem
        await asyncio.sleep(_SERVED_EVERY_S)


def ignore_unclosed_watches(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Do not log failures of the last step of a stop: all requests have ended by then.

    kopf 1.45 leaves the generators of its watches to the event loop, which closes a generator and the one that it waits
    for at the same time. Then one of the two sometimes fails.
    """
    if "asyncgen" not in context:
        loop.default_exception_handler(context)


async def _unless_told_to_stop(waiting: Coroutine[Any, Any, None]) -> None:
    """Await `waiting`, and cancel it on SIGTERM or SIGINT. Later kopf replaces these signal handlers."""
    task, loop = asyncio.ensure_future(waiting), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    await task


def _settings() -> kopf.OperatorSettings:
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False  # the Events about tests are our own
    settings.scanning.disabled = True  # else kopf lists CRDs and namespaces, which a namespaced role may not
    settings.watching.chunk_size = LIST_PAGE
    settings.watching.label_selectors["pods"] = TEST_LABEL
    settings.watching.label_selectors["jobs.batch"] = TEST_LABEL
    settings.networking.error_backoffs = BACK_OFFS_S
    settings.networking.request_timeout = ANSWER_LIMIT_S
    settings.queueing.idle_timeout = 0.02
    return settings


class ProbeServer:
    """Serves the probes on all addresses from `start` to `stop`: alive while the event loop runs, ready if `is_ready`.

    An operator that waits for its Lease is alive and not ready.
    """

    def __init__(self, port: int, is_ready: Callable[[], bool], limits: Limits = PROBE_LIMITS) -> None:
        self._front = Front(port, limits)
        self._is_ready = is_ready

    async def start(self) -> None:
        """Listen; raises OSError where the port is taken."""
        app = web.Application()
        app.add_routes([web.get("/healthz", self._healthz), web.get("/readyz", self._readyz)])
        await self._front.start(app)

    async def stop(self) -> None:
        """Stop listening and close all connections."""
        await self._front.stop()

    async def _healthz(self, _: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def _readyz(self, _: web.Request) -> web.Response:
        ready = self._is_ready()
        return web.Response(status=200 if ready else 503, text="ready\n" if ready else "waiting or starting\n")
