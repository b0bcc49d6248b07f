"""The pages of reports: what is read for one, the process that makes it, and the cache of pages.

One page is made at a time, and only a few requests of a user may wait, so that many readers cost the API server and the
machine no more than that. Users take turns.
"""

import asyncio
import json
import logging
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any, Final, Protocol

from sshload_operator.api.kinds import SCHEDULE, TEST, Kind
from sshload_operator.api.names import label_value
from sshload_operator.api.shapes.reading import read_fitting
from sshload_operator.api.status.head import written
from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.api.status.results import Results
from sshload_operator.control.api_server.cluster import Cluster, Object
from sshload_operator.control.api_server.errors import ApiError
from sshload_operator.control.pages.index import Line
from sshload_operator.control.turns import Turns
from sshload_operator.manifests.labels import SCHEDULE_LABEL
from sshload_operator.world.program import program

_LOG = logging.getLogger(__name__)
_MOST_KEPT: Final = 16
_MOST_WAITING_OF_A_USER: Final = 8
_MADE_WITHIN_S: Final = 60.0
_MAKE: Final = ("-m", "sshload_operator.control.pages.rendering")


class NoReportError(Exception):
    """There is no page; the text says why, and what to do. `status` is that of the answer."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Report:
    """A page, with gzip, and the Content-Security-Policy that it needs."""

    policy: str
    packed: bytes


class Reports(Protocol):
    """Where pages of reports come from."""

    async def page(self, kind: Kind, line: Line, user: str) -> Report:
        """Return the page of an object for a user; raises NoReportError."""


class RenderedReports:
    """The pages of reports, made by processes of their own."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._kept: dict[tuple[str, str, str], Report] = {}
        self._turns = Turns(1)

    async def page(self, kind: Kind, line: Line, user: str) -> Report:
        """Return the page of an object as it is now, for a user; raises NoReportError."""
        key = (kind.plural, line.uid, line.version)
        if key in self._kept:
            return self._kept[key]
        if self._turns.waiting(user) >= _MOST_WAITING_OF_A_USER:
            raise NoReportError(HTTPStatus.SERVICE_UNAVAILABLE, "too many pages are being made for you: try again")
        try:
            async with self._turns.turn(user):
                if key not in self._kept:
                    self._keep(key, await self._made(await self._read(kind, line)))
        except ApiError as error:
            raise NoReportError(HTTPStatus.BAD_GATEWAY, f"the API server did not return the object: {error}") from error
        return self._kept[key]

    def _keep(self, key: tuple[str, str, str], report: Report) -> None:
        self._kept[key] = report
        if len(self._kept) > _MOST_KEPT:
            del self._kept[next(iter(self._kept))]

    async def _read(self, kind: Kind, line: Line) -> Mapping[str, Any]:
        """Return the input of the page; raises ApiError, and NoReportError if the object is gone."""
        found = await self._cluster.read(kind, line.namespace, line.name)
        if found is None:
            raise NoReportError(HTTPStatus.NOT_FOUND, f"the {kind.word} {line.name} is gone")
        asked: dict[str, Any] = {"kind": kind.word, "object": found, "home": f"/ui/{line.namespace}"}
        if kind is TEST:
            asked["configMap"] = await self._config_map(found)
            asked["baseline"] = await self._baseline(found)
        if kind is SCHEDULE:
            selector = f"{SCHEDULE_LABEL}={label_value(line.name)}"
            asked["tests"] = await self._cluster.list_ours(TEST, line.namespace, selector, _history)
        return asked

    async def _baseline(self, test: Object) -> Mapping[str, Any] | None:
        """Return the baseline of a test, with its ConfigMap; None if there is no such test."""
        baseline = read_fitting(TestStatus, test.get("status")).baseline
        found = (
            None if baseline is None else await self._cluster.read(TEST, test["metadata"]["namespace"], baseline.test)
        )
        if baseline is None or found is None or baseline.uid not in ("", found["metadata"]["uid"]):
            return None
        return {"object": found, "configMap": await self._config_map(found)}

    async def _config_map(self, test: Object) -> Object | None:
        """Return the ConfigMap of a test's results, None where there is none or the operator may not read it."""
        name = read_fitting(TestStatus, test.get("status")).results_config_map
        if not name:
            return None
        try:
            return await self._cluster.read_config_map(test["metadata"]["namespace"], name)
        except ApiError as error:
            if error.status != HTTPStatus.FORBIDDEN:
                raise
            _LOG.warning("a page lacks the data of ConfigMap %s: the operator needs get on configmaps", name)
            return None

    async def _made(self, asked: Mapping[str, Any]) -> Report:
        async with program(sys.executable, *_MAKE, stdin=asyncio.subprocess.PIPE, env={}) as making:
            try:
                made, _ = await asyncio.wait_for(making.communicate(json.dumps(asked).encode()), _MADE_WITHIN_S)
            except TimeoutError:
                raise NoReportError(HTTPStatus.GATEWAY_TIMEOUT, "the page took too long to make") from None
        if making.returncode:
            raise NoReportError(
                HTTPStatus.BAD_GATEWAY, "the page could not be made: the operator's log says why. sshload report may"
            )
        policy, _, packed = made.partition(b"\n")
        return Report(policy.decode("ascii"), packed)


def _history(test: Object) -> Object:
    """Return the part of a schedule's test that the history shows, so that many tests take little memory."""
    found = read_fitting(TestStatus, test.get("status"))
    kept = TestStatus(
        verdict=found.verdict,
        reason=found.reason,
        message=found.message,
        thresholds=found.thresholds,
        baseline=found.baseline,
        results=None if found.results is None else _in_short(found.results),
    )
    metadata = test["metadata"]
    return {
        "metadata": {"name": metadata["name"], "namespace": metadata["namespace"]},
        "spec": {},
        "status": written(kept),
    }


def _in_short(results: Results) -> Results:
    total = results.step("total")
    return replace(results, steps=() if total is None else (total,), parts=(), stages=(), errors=(), negotiated=())
