"""Pushes the metrics to a collector by OTLP over HTTP, at an interval. The passes do not wait for it.

At most one request is under way, and none is queued: counts are cumulative, so the next push has all that a lost one
had.
"""

import asyncio
import gzip
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextvars import Context
from typing import Final
from urllib.parse import urlsplit

import aiohttp
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from prometheus_client import Metric

from sshload_operator.control.otlp.messages import Times, rejected_points, requests_of
from sshload_operator.control.otlp.options import OtlpOptions
from sshload_operator.control.otlp.secret import Access, read_access
from sshload_operator.control.posting import Attempt, Posted, SecretError, is_taken

_LOG = logging.getLogger(__name__)
_CONTENT_TYPE: Final = "application/x-protobuf"
_HEADERS: Final = {"Content-Type": _CONTENT_TYPE, "Content-Encoding": "gzip"}
_ANSWER_LIMIT_S: Final = 10
_CONNECT_LIMIT_S: Final = 5
_ANSWER_LIMIT_BYTES: Final = 65_536
_FAST: Final = 1


class Exporter:
    """Pushes what `collect` yields from `start` to `stop`, and counts the pushes by outcome.

    `resource` identifies the operator. A request that has no answer after `answer_limit_s` is given up, and so is the
    rest of its push.
    """

    def __init__(
        self,
        options: OtlpOptions,
        collect: Callable[[], Iterator[Metric]],
        resource: Mapping[str, str],
        count: Callable[[str, int], None],
        answer_limit_s: float = _ANSWER_LIMIT_S,
    ) -> None:
        self._options = options
        self._collect = collect
        self._resource = resource
        self._count = count
        self._timeout = aiohttp.ClientTimeout(total=answer_limit_s, connect=min(_CONNECT_LIMIT_S, answer_limit_s))
        self._origin = "{0.scheme}://{0.netloc}".format(urlsplit(options.url))
        self._start_ns = time.time_ns()
        self._last_problem = ""
        self._task: asyncio.Task[None] | None = None
        for end in Posted:
            if end is not Posted.GIVEN_UP:
                count(end, 0)

    def start(self) -> None:
        """Start pushing; the first push is immediate."""
        self._task = asyncio.create_task(self._push_again_and_again(), name="otlp", context=Context())
        self._task.add_done_callback(_report_defect)

    async def stop(self) -> None:
        """Stop pushing, and cancel a push that is under way."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def push(self) -> Attempt:
        """Push all metrics once, in as many requests as it takes, one after the other."""
        try:
            access = await asyncio.to_thread(read_access, self._options)
        except SecretError as error:
            return Attempt(Posted.UNREADABLE, str(error))
        try:
            return await self._send_all(access)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            return Attempt(Posted.UNREACHABLE, f"no answer: {type(error).__name__}")

    async def _push_again_and_again(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due_s = loop.time() + self._options.interval_s
            push = await self.push()
            self._count(push.end, 1)
            self._report(push.message)
            await asyncio.sleep(max(0.0, due_s - loop.time()))

    async def _send_all(self, access: Access) -> Attempt:
        """Send one request after the other: only one is in memory, and other tasks run between two families."""
        rejected = 0
        times = Times(self._start_ns, time.time_ns())
        async with aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=access.tls or True),
            timeout=self._timeout,
            headers={**_HEADERS, **access.headers},
        ) as session:
            for request in requests_of(self._collect(), self._resource, times):
                if request is None:
                    await asyncio.sleep(0)
                    continue
                status, rejected_now = await self._send(session, request)
                if not is_taken(status):
                    return Attempt(Posted.REFUSED, f"it answered {status}")
                rejected += rejected_now
        if rejected:
            return Attempt(Posted.PARTIAL, f"it rejected {rejected} points; its own log says why")
        return Attempt(Posted.DELIVERED)

    async def _send(self, session: aiohttp.ClientSession, request: ExportMetricsServiceRequest) -> tuple[int, int]:
        """Return the status of the answer, and how many points of the request were rejected."""
        body = await asyncio.to_thread(gzip.compress, request.SerializeToString(), _FAST)
        async with session.post(self._options.url, data=body, allow_redirects=False) as answer:
            is_message = is_taken(answer.status) and answer.content_type == _CONTENT_TYPE
            return answer.status, rejected_points(await _read(answer)) if is_message else 0

    def _report(self, problem: str) -> None:
        """Log a problem once, however often it repeats, and its end."""
        if problem and problem != self._last_problem:
            _LOG.warning("%s did not accept the metrics, and they are sent again: %s", self._origin, problem)
        if not problem and self._last_problem:
            _LOG.info("%s accepts the metrics again", self._origin)
        self._last_problem = problem


async def _read(answer: aiohttp.ClientResponse) -> bytes:
    """Return the body of an answer, cut to _ANSWER_LIMIT_BYTES."""
    body = b""
    while len(body) < _ANSWER_LIMIT_BYTES and (more := await answer.content.read(_ANSWER_LIMIT_BYTES - len(body))):
        body += more
    return body


def _report_defect(task: asyncio.Task[None]) -> None:
    """Log the error that ended the pushes. Only a defect of the operator can end them."""
    if not task.cancelled():
        _LOG.error("the metrics are not pushed any more until the operator starts again", exc_info=task.exception())
