"""`sshload watch` and `sshload compare`: follow an object to its end, by asking for it once a second."""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from sshload_operator.api.kinds import Kind
from sshload_operator.api.shapes.reading import read_fitting
from sshload_operator.api.status.comparison import ComparisonPhase, ComparisonStatus
from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.control.api_server.client import AccessError, api_client
from sshload_operator.control.api_server.cluster import ApiError, Cluster
from sshload_operator.state import Phase

_ASK_EVERY_S = 1.0
_FINISHED = (Phase.FINISHED, ComparisonPhase.FINISHED)
_FINAL_ERRORS = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)


class WatchError(Exception):
    """The test cannot be followed to its end; the text says why."""


@dataclass(frozen=True, slots=True)
class Watched:
    """Which object, by which kubeconfig and context (empty: as kubectl chooses), and until when (None: for ever).

    `shape` is the status of its kind, and `progress` says in one line where an object with such a status stands.
    """

    kind: Kind
    namespace: str
    name: str
    kubeconfig: str
    context: str
    timeout_s: float | None
    shape: type[TestStatus] | type[ComparisonStatus]
    progress: Callable[[Any], str]


async def watch(watched: Watched, show: Callable[[str], None]) -> Mapping[str, Any]:
    """Return the finished object as the API server has it; `show` is told each second where it stands.

    Raises WatchError. One whose spec was changed is not finished before the operator has seen the change.
    """
    give_up_at_s = None if watched.timeout_s is None else time.monotonic() + watched.timeout_s
    try:
        client = await api_client(watched.kubeconfig, watched.context)
    except AccessError as error:
        raise WatchError(str(error)) from error
    cluster = Cluster(client, lambda _verb, _resource: None)
    try:
        while True:
            try:
                test = await _read(cluster, watched)
            except ApiError as error:
                show(f"Waiting: for the API server: {error}")
            else:
                status = read_fitting(watched.shape, test.get("status"))
                seen = (status.observed_generation or 0) >= test["metadata"]["generation"]
                if seen and status.phase in _FINISHED:
                    return _as_shown(test)
                show(watched.progress(status))
            if give_up_at_s is not None and time.monotonic() >= give_up_at_s:
                raise WatchError(f"{watched.name} was not finished within {watched.timeout_s:.0f} s")
            await asyncio.sleep(_ASK_EVERY_S)
    finally:
        await cluster.close()


async def _read(cluster: Cluster, watched: Watched) -> Mapping[str, Any]:
    """Return the test; raises WatchError where asking again would not help, else ApiError."""
    try:
        test = await cluster.read(watched.kind, watched.namespace, watched.name)
    except ApiError as error:
        if error.status in _FINAL_ERRORS:
            raise WatchError(str(error)) from error
        raise
    if test is None:
        raise WatchError(f"there is no {watched.kind.name} {watched.name} in the namespace {watched.namespace}")
    return test


def _as_shown(test: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the test without its managedFields, as kubectl shows it."""
    metadata = {key: value for key, value in test["metadata"].items() if key != "managedFields"}
    return {**test, "metadata": metadata}
