"""The Leases that an operator holds before it does anything, so that a second one for the same objects waits.

See docs/design/20261121-passes.md. Requests for Leases have connections of their own: all others may be
busy when a Lease must be renewed.
"""

import asyncio
import contextlib
import logging
import math
import time
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Final

from sshload_operator.api.kinds import LEASE_API_VERSION
from sshload_operator.control.api_server.cluster import Cluster, Object, lease_path
from sshload_operator.control.api_server.errors import ApiError
from sshload_operator.decision.lease import FoundLease, ObservedLease, Take, lease_step, seen

LEASE_NAME: Final = "sshload-operator"
"""The chart grants rights on Leases of this name only."""

_LOG = logging.getLogger(__name__)
_LOOK_EVERY_S: Final = 2.0
_TRY_AGAIN_AFTER_S: Final = 1.0
_SHOWN_CHARACTERS: Final = 200
_NO_PLACE: Final = (HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND)
_NOT_OURS: Final = (HTTPStatus.CONFLICT, HTTPStatus.UNPROCESSABLE_ENTITY)


@dataclass(frozen=True, slots=True)
class Terms:
    """The identity of the holder, and how long a Lease lasts without a renewal.

    The holder gives up after two thirds of that time.
    """

    identity: str
    duration_s: int

    @property
    def give_up_after_s(self) -> float:
        """How long after the last renewal the holder acts. The rest is for requests that are under way then."""
        return self.duration_s * 2 / 3

    @property
    def renew_every_s(self) -> float:
        """How often a Lease is renewed."""
        return self.duration_s / 6

    @property
    def request_limit_s(self) -> float:
        """How long a request about a Lease may take, so that another one can follow before the holder gives up."""
        return self.duration_s / 6


class Leases:
    """The Leases of one operator: one in each watched namespace, or one in `common` if it watches all namespaces.

    It needs all of them, except in watched namespaces that are gone or in which it has no rights.
    """

    def __init__(self, cluster: Cluster, watched: Sequence[str], common: str, terms: Terms) -> None:
        # Always in the same order. Otherwise two operators could each hold a Lease that the other waits for.
        self._leases = [_Lease(cluster, namespace, terms, is_watched=True) for namespace in sorted(watched)]
        if not watched:
            self._leases = [_Lease(cluster, common, terms, is_watched=False)]
        self._renewals: list[asyncio.Task[None]] = []

    def are_held(self) -> bool:
        """Tell whether all Leases are held, and for long enough for a request that is made now.

        A process that was stopped continues where it was, before it notices that they are lost.
        """
        return all(lease.is_held() for lease in self._leases)

    async def take(self) -> None:
        """Wait until all Leases are taken, and keep renewing those that are."""
        for lease in self._leases:
            await lease.take()
            self._renewals.append(asyncio.create_task(lease.renew_until_lost()))

    async def wait_until_lost(self) -> None:
        """Return when a Lease could not be renewed, for any reason, or has another holder."""
        done, _ = await asyncio.wait(self._renewals, return_when=asyncio.FIRST_COMPLETED)
        for renewal in done:
            if renewal.exception() is not None:
                _LOG.error(
                    "a Lease is not renewed any more, and the operator ends at once", exc_info=renewal.exception()
                )

    async def release(self) -> None:
        """Stop renewing, and release the Leases, so that a waiting operator need not wait until they expire."""
        for renewal in self._renewals:
            renewal.cancel()
        await asyncio.gather(*self._renewals, return_exceptions=True)
        await asyncio.gather(*(lease.release() for lease in self._leases))


class _Lease:
    """One Lease. In a watched namespace where it cannot be written it is vacant: no other request is allowed there."""

    def __init__(self, cluster: Cluster, namespace: str, terms: Terms, *, is_watched: bool) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self._terms = terms
        self._is_watched = is_watched
        self._is_vacant = False
        self._version = ""
        self._renewed_at_s = -math.inf
        self._sighting: ObservedLease | None = None
        self._said = ""

    def is_held(self) -> bool:
        return self._is_vacant or time.monotonic() - self._renewed_at_s < self._terms.give_up_after_s

    async def take(self) -> None:
        """Take the Lease. If there is none, as after an operator that stopped in order, one request suffices."""
        taken = await self._attempt(self._write("")) or await self._attempt(self._take_if_free())
        while not taken:
            await asyncio.sleep(min(_LOOK_EVERY_S, self._terms.renew_every_s))
            taken = await self._attempt(self._take_if_free())

    async def renew_until_lost(self) -> None:
        """Renew the Lease, and return when it is lost."""
        pause_s = self._terms.renew_every_s
        while self.is_held():
            await asyncio.sleep(pause_s)
            is_settled = not self.is_held() or await self._attempt(self._renew())
            pause_s = self._terms.renew_every_s if is_settled else _TRY_AGAIN_AFTER_S
        _LOG.error("has lost the Lease %s, and ends at once: another operator may act from now on", self)

    async def release(self) -> None:
        """Delete the Lease if it is held. If the API server cannot be reached, the Lease expires."""
        if not self._version:
            return
        with contextlib.suppress(ApiError, TimeoutError):
            found = await self._read()
            if found is not None and found.holder == self._terms.identity:
                await self._cluster.delete(lease_path(self._namespace, LEASE_NAME), {"resourceVersion": found.version})

    async def _attempt(self, writing: Awaitable[bool]) -> bool:
        """Return the outcome of an attempt to write the Lease: False if it must be tried again soon."""
        try:
            return await writing
        except ApiError as error:
            self._say(f"cannot write the Lease {self}: {error}")
            if error.status == HTTPStatus.NOT_FOUND:
                self._version = ""
            self._is_vacant = self._is_watched and error.status in _NO_PLACE
            return self._is_vacant
        except TimeoutError:
            self._say(f"cannot write the Lease {self}: no answer within {self._terms.request_limit_s} s")
            return False

    async def _take_if_free(self) -> bool:
        """Read the Lease, and take it if that is allowed; returns whether it is held now."""
        self._sighting = seen(self._sighting, await self._read(), time.monotonic())
        step = lease_step(self._sighting, time.monotonic(), self._terms.identity)
        if isinstance(step, Take):
            return await self._write(step.version)
        self._say(f"waits, and does nothing: {step.holder[:_SHOWN_CHARACTERS]} holds the Lease {self}")
        return False

    async def _renew(self) -> bool:
        if await self._write(self._version):
            return True
        found = await self._read()
        if found is None or found.holder == self._terms.identity:
            # Somebody deleted it or added a label, or the answer to a write was lost.
            self._version = found.version if found is not None else ""
            return False
        self._is_vacant, self._renewed_at_s = False, -math.inf
        _LOG.error("the Lease %s is now held by %s", self, found.holder[:_SHOWN_CHARACTERS])
        return True

    async def _write(self, version: str) -> bool:
        """Write the Lease as held from now on; returns False if it has another version, or exists already."""
        began_s, now = time.monotonic(), _micro_time()
        spec: dict[str, Any] = {
            "holderIdentity": self._terms.identity,
            "leaseDurationSeconds": self._terms.duration_s,
            "renewTime": now,
        }
        metadata = {"name": LEASE_NAME, "namespace": self._namespace}
        if version:
            metadata["resourceVersion"] = version
        lease = {"apiVersion": LEASE_API_VERSION, "kind": "Lease", "metadata": metadata, "spec": spec}
        try:
            async with asyncio.timeout(self._terms.request_limit_s):
                written = await self._cluster.write_lease(lease)
        except ApiError as error:
            if error.status in _NOT_OURS:
                return False
            raise
        if not self.is_held() or self._is_vacant:
            self._say(f"holds the Lease {self} as {self._terms.identity}", logging.INFO)
        self._version, self._renewed_at_s, self._is_vacant = written["metadata"]["resourceVersion"], began_s, False
        return True

    async def _read(self) -> FoundLease | None:
        async with asyncio.timeout(self._terms.request_limit_s):
            found = await self._cluster.read_lease(self._namespace, LEASE_NAME)
        return None if found is None else _found(found)

    def _say(self, message: str, level: int = logging.WARNING) -> None:
        """Log a message unless it was the last one."""
        if message != self._said:
            _LOG.log(level, "%s", message)
            self._said = message

    def __str__(self) -> str:
        return f"{self._namespace}/{LEASE_NAME}"


def _found(lease: Object) -> FoundLease:
    """Read a Lease. Any field may be missing, because others may write it."""
    spec = lease.get("spec") or {}
    return FoundLease(
        spec.get("holderIdentity") or "",
        spec.get("leaseDurationSeconds") or 0,
        lease["metadata"]["resourceVersion"],
    )


def _micro_time() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
