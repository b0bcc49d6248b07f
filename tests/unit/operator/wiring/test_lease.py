"""No request of the operator's work is sent without its Lease, also where the process has yet to notice the loss."""

import asyncio
import json

import pytest
from aiohttp import web
from played_api import played_api, played_cluster
from sshload_operator.control.api_server.cluster import Cluster
from sshload_operator.control.api_server.errors import ApiError
from sshload_operator.control.api_server.lease import Leases, Terms


class OneLease:
    """An API server with one Lease, which somebody else can take. A proxy can answer in its place."""

    def __init__(self) -> None:
        self.is_taken = False
        self.is_hidden = False
        self._version = 0

    async def answer(self, request: web.Request) -> web.Response:
        """Take what is written, unless the Lease is somebody else's."""
        if self.is_hidden:
            return web.Response(text="<html>closed for maintenance</html>")
        if request.method == "PUT" and self.is_taken:
            return web.json_response({"message": "conflict"}, status=409)
        spec = {"holderIdentity": "another"} if self.is_taken else json.loads(await request.read() or "{}").get("spec")
        self._version += 1
        found = {"apiVersion": "coordination.k8s.io/v1", "metadata": {"resourceVersion": str(self._version)}}
        return web.json_response({**found, "spec": spec})


async def sent_before_with_and_after() -> list[str]:
    """Return what becomes of requests before a Lease is taken, while it is held, and when it is lost."""
    server, found = OneLease(), []
    async with played_api(server.answer) as client:
        cluster = Cluster(client, lambda *_: None)
        leases = Leases(cluster, (), "kube-system", Terms("me", duration_s=12))
        guarded = Cluster(client, lambda *_: None, leases.are_held)

        async def look() -> None:
            try:
                await guarded.read_lease("kube-system", "sshload-operator")
                found.append("sent")
            except ApiError as error:
                found.append(str(error).rpartition(", ")[2])

        await look()
        await leases.take()
        await look()
        server.is_taken = True
        await leases.wait_until_lost()
        await look()
        await leases.release()
        await cluster.close()
    return found


def test_requests_are_sent_while_the_lease_is_held_and_not_before_nor_after() -> None:
    refused = "and another operator may act"
    assert asyncio.run(sent_before_with_and_after()) == [refused, "sent", refused]


def test_a_lease_whose_renewal_is_answered_with_something_else_is_lost(caplog: pytest.LogCaptureFixture) -> None:
    async def play() -> None:
        server = OneLease()
        async with played_cluster(server.answer) as cluster:
            leases = Leases(cluster, (), "kube-system", Terms("me", duration_s=3))
            await leases.take()
            server.is_hidden = True
            await leases.wait_until_lost()
            server.is_hidden = False
            await leases.release()

    asyncio.run(play())
    assert "a Lease is not renewed any more" in caplog.text
