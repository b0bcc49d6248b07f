"""The bounds of what the pages' server does at once: streams, pages being made, and what is kept of them."""

import asyncio
import contextlib
import itertools
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast

import aiohttp
import finished_runs
import pytest
from free_ports import free_port
from socket_floods import unchecked_tls
from sshload_operator.api.kinds import TEST, Kind
from sshload_operator.control.api_server.errors import ApiError
from sshload_operator.control.metrics.bearer_check import BearerCheck
from sshload_operator.control.metrics.serving_certificate import ServingCertificate
from sshload_operator.control.pages.index import Index, Line
from sshload_operator.control.pages.reports import NoReportError, RenderedReports, Report
from sshload_operator.control.pages.server import PagesServer
from sshload_operator.control.pages.streams import MOST_OF_A_USER

if TYPE_CHECKING:
    from sshload_operator.control.api_server.cluster import Cluster

RUN = finished_runs.a_test(points=3)
LOGIN = {"Authorization": "Bearer a-token"}


class Everybody:
    """An API server that lets everybody in."""

    async def user_of(self, token: str) -> Mapping[str, Any] | None:
        return {"username": token}

    async def may(self, user: Mapping[str, Any], verb: str, path: str) -> bool:
        return bool(user and verb and path)


class NoPages:
    """Reports of which there is no page."""

    async def page(self, kind: Kind, line: Line, user: str) -> Report:
        assert user
        raise NoReportError(HTTPStatus.BAD_GATEWAY, f"no page of the {kind.word} {line.name}")


def body(status: Mapping[str, Any], version: int = 7) -> dict[str, Any]:
    metadata = {"namespace": "ns", "name": "one", "uid": "uid-of-one", "resourceVersion": str(version)}
    return {"metadata": metadata, "spec": RUN.spec, "status": status}


def served(
    talk: Callable[[Index, aiohttp.ClientSession, str], Awaitable[None]],
    status: Mapping[str, Any],
    reviews: Everybody | None = None,
) -> None:
    """Serve pages of one test with this status while something talks with them."""

    async def serve() -> None:
        index, port = Index(), free_port()
        index.changed(TEST.plural, "ADDED", body(status))
        server = PagesServer(port, index, BearerCheck(reviews or Everybody()), NoPages())
        await server.start(ServingCertificate(None))
        connector = aiohttp.TCPConnector(ssl=unchecked_tls(), limit=0)
        try:
            async with aiohttp.ClientSession(connector=connector, headers=LOGIN) as session:
                await talk(index, session, f"https://127.0.0.1:{port}/ui")
        finally:
            await server.stop()

    asyncio.run(serve())


@pytest.mark.slow
def test_a_user_has_no_more_streams_than_a_share_and_one_that_ends_makes_room() -> None:
    async def talk(index: Index, session: aiohttp.ClientSession, url: str) -> None:
        path = f"{url}/ns/tests/one/events"
        streams = [await session.get(path) for _ in range(MOST_OF_A_USER)]
        assert {stream.status for stream in streams} == {200}
        assert (await session.get(path)).status == 503
        other = await session.get(path, headers={"Authorization": "Bearer another-token"})
        assert other.status == 200
        other.close()
        index.changed(TEST.plural, "MODIFIED", body(RUN.status, 8))
        ends = [await stream.text() for stream in streams]
        assert all(text.endswith("event: end\ndata: {}\n\n") for text in ends)
        assert (await (await session.get(path)).text()).endswith("event: end\ndata: {}\n\n")

    served(talk, {"phase": "Running", "run": 1})


@pytest.mark.slow
def test_no_more_streams_are_opened_at_the_same_moment_either() -> None:
    async def talk(index: Index, session: aiohttp.ClientSession, url: str) -> None:
        asked = (session.get(f"{url}/ns/tests/one/events") for _ in range(MOST_OF_A_USER + 10))
        statuses = [answer.status for answer in await asyncio.gather(*asked)]
        assert (statuses.count(200), statuses.count(503)) == (MOST_OF_A_USER, 10)
        index.changed(TEST.plural, "MODIFIED", body(RUN.status, 8))

    served(talk, {"phase": "Running", "run": 1})


def test_a_stream_ends_where_the_test_is_deleted() -> None:
    async def talk(index: Index, session: aiohttp.ClientSession, url: str) -> None:
        stream = await session.get(f"{url}/ns/tests/one/events")
        index.changed(TEST.plural, "DELETED", body({}))
        assert (await stream.text()).endswith("event: end\ndata: {}\n\n")
        assert (await session.get(f"{url}/ns/tests/one/events")).status == 404

    served(talk, {"phase": "Running", "run": 1})


def test_where_there_is_no_page_the_answer_says_why() -> None:
    async def talk(index: Index, session: aiohttp.ClientSession, url: str) -> None:
        del index
        answer = await session.get(f"{url}/ns/tests/one")
        assert (answer.status, "no page of the test one" in await answer.text()) == (502, True)
        for path in ("", "/", "/ns"):
            assert ">one<" in await (await session.get(f"{url}{path}")).text()
        for path in ("/ns/tests/two", "/ns/others/one", "/ns/tests", "/-/static/server.py"):
            assert (await session.get(f"{url}{path}")).status == 404

    served(talk, RUN.status)


def test_a_form_that_is_too_large_is_not_read() -> None:
    async def talk(index: Index, session: aiohttp.ClientSession, url: str) -> None:
        del index
        answer = await session.post(f"{url}/-/login", data={"token": "x" * 100_000})
        assert answer.status == 413

    served(talk, RUN.status)


@dataclass
class OneTest:
    """An API server that has one test, without its results; `reads` is how often it was read."""

    reads: int = 0
    goes_on: asyncio.Event = field(default_factory=asyncio.Event)
    failure: ApiError | None = None

    async def read(self, _kind: Kind, _namespace: str, _name: str) -> Mapping[str, Any] | None:
        self.reads += 1
        await self.goes_on.wait()
        if self.failure is not None:
            raise self.failure
        return body({**RUN.status, "resultsConfigMap": ""})


def line(version: int = 7) -> Line:
    index = Index()
    index.changed(TEST.plural, "ADDED", body(RUN.status, version))
    found = index.find(TEST, ("ns", "one"))
    assert found is not None
    return found


@pytest.mark.slow
def test_a_page_is_made_once_for_each_version_and_few_wait_for_it() -> None:
    async def ask() -> None:
        cluster = OneTest()
        reports = RenderedReports(cast("Cluster", cluster))
        asked = [asyncio.ensure_future(reports.page(TEST, line(), "anna")) for _ in range(12)]
        await asyncio.sleep(0)
        asked.append(asyncio.ensure_future(reports.page(TEST, line(), "ben")))
        cluster.goes_on.set()
        found = await asyncio.gather(*asked, return_exceptions=True)
        refused = [one for one in found if isinstance(one, NoReportError)]
        assert (len(refused), {one.status for one in refused}) == (4, {HTTPStatus.SERVICE_UNAVAILABLE})
        assert {len(one.packed) for one in found if isinstance(one, Report)} == {len((await asked[0]).packed)}
        assert cluster.reads == 1
        await reports.page(TEST, line(8), "anna")
        assert cluster.reads == 2

    asyncio.run(ask())


@pytest.mark.slow
def test_an_api_server_that_does_not_answer_costs_the_page_only() -> None:
    async def ask() -> None:
        cluster = OneTest(failure=ApiError(500, "is ill"))
        cluster.goes_on.set()
        reports = RenderedReports(cast("Cluster", cluster))
        with pytest.raises(NoReportError, match="is ill"):
            await reports.page(TEST, line(), "anna")
        cluster.failure = None
        assert (await reports.page(TEST, line(), "anna")).policy.startswith("default-src 'none'")

    asyncio.run(ask())


def test_what_is_told_of_a_run_is_json() -> None:
    async def talk(index: Index, session: aiohttp.ClientSession, url: str) -> None:
        stream = await session.get(f"{url}/ns/tests/one/events")
        index.changed(TEST.plural, "DELETED", body({}))
        first, *_ = (await stream.text()).split("\n\n")
        name, data = first.split("\n")
        assert name == "event: whole"
        told = json.loads(data.removeprefix("data: "))
        assert (told["standing"]["phase"], told["standing"]["message"]) == ("Running", finished_runs.HOSTILE)

    served(talk, {"phase": "Running", "run": 1, "message": finished_runs.HOSTILE})


class OneUser(Everybody):
    """An API server that knows one token, and takes its time."""

    async def user_of(self, token: str) -> Mapping[str, Any] | None:
        await asyncio.sleep(0.002)
        return await super().user_of(token) if token == "a-token" else None


@pytest.mark.slow
def test_a_user_gets_each_page_while_a_hundred_strangers_try_tokens() -> None:
    async def talk(index: Index, session: aiohttp.ClientSession, url: str) -> None:
        del index
        connector = aiohttp.TCPConnector(ssl=unchecked_tls(), limit=0, local_addr=("127.0.0.2", 0))

        async with aiohttp.ClientSession(connector=connector) as strangers:

            async def try_tokens(number: int) -> None:
                for attempt in itertools.count():
                    headers = {"Authorization": f"Bearer wrong-{number}-{attempt}"}
                    with contextlib.suppress(aiohttp.ClientError):
                        await strangers.get(url, headers=headers)

            trying = [asyncio.create_task(try_tokens(number)) for number in range(100)]
            await asyncio.sleep(0.5)
            for _ in range(5):
                assert (await session.get(url)).status == HTTPStatus.OK
            for one in trying:
                one.cancel()

    served(talk, RUN.status, OneUser())
