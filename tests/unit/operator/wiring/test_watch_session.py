"""What kopf is told of answers that would end it."""

import asyncio
import json
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from played_api import played_api
from sshload_operator.control.api_server import watch_session as module
from sshload_operator.control.api_server.watch_session import watch_session

TESTS = "/apis/sshload.dev/v1alpha1/namespaces/a/sshloadtests"
ADDED = {"type": "ADDED", "object": {"metadata": {"namespace": "a", "name": "one"}}}


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BACK_OFFS_S", (0.0,))


def error(code: int) -> dict[str, Any]:
    return {"type": "ERROR", "object": {"kind": "Status", "code": code, "message": "said so"}}


def read(code: int, *lines: Any, query: str = "watch=true", path: str = TESTS) -> tuple[int, list[Any]]:
    """Read an answer of these lines as kopf does; return its status and the lines that kopf sees."""

    async def answer(_: web.Request) -> web.Response:
        return web.Response(status=code, text="".join(f"{json.dumps(line)}\n" for line in lines))

    async def play() -> tuple[int, list[Any]]:
        async with (
            played_api(answer) as client,
            watch_session(client, lambda _: None) as session,
            session.get(f"{client.configuration.host}{path}?{query}") as response,
        ):
            return response.status, [json.loads(line) async for line in response.content.iter_chunked(1024)]

    return asyncio.run(play())


@pytest.mark.parametrize("code", [400, 403, 404, 409, 422, 429, 500, 503])
@pytest.mark.parametrize("query", ["limit=5", "watch=true"])
def test_a_refused_list_or_watch_is_a_broken_connection_to_kopf(code: int, query: str) -> None:
    with pytest.raises(aiohttp.ClientPayloadError, match=f"{code}: .*said so"):
        read(code, error(code)["object"], query=query)


def test_a_page_of_a_list_that_is_too_old_lets_kopf_list_from_the_beginning() -> None:
    with pytest.raises(aiohttp.ClientPayloadError, match="410"):
        read(410, error(410)["object"], query="limit=5&continue=more")


def test_a_watch_that_is_too_old_says_so_in_its_first_event() -> None:
    code, (event,) = read(410, error(410)["object"])
    assert (code, event["type"], event["object"]["code"]) == (200, "ERROR", 410)


def page(*names: str, more: str = "") -> dict[str, Any]:
    items = [{"metadata": {"namespace": "a", "name": name}} for name in names]
    return {"metadata": {"continue": more}, "items": items}


def heard_of(*sessions: list[str]) -> list[set[str]]:
    """Read pages (queries) in one session after the other; return the names of each list that was heard of."""
    heard: list[set[str]] = []

    async def answer(request: web.Request) -> web.Response:
        return web.json_response(page("two") if "continue" in request.query else page("one", more="next"))

    async def play() -> None:
        async with played_api(answer) as client:
            for queries in sessions:
                session = watch_session(client, lambda listed: heard.append({name for _, name in listed.names}))
                async with session:
                    for query in queries:
                        response = await session.get(f"{client.configuration.host}{TESTS}?{query}")
                        await response.json()

    asyncio.run(play())
    return heard


def test_a_list_is_heard_of_once_its_last_page_was_read() -> None:
    assert heard_of(["limit=1", "limit=1&continue=next"]) == [{"one", "two"}]


def test_a_list_that_goes_on_in_a_new_session_after_a_401_starts_again() -> None:
    with pytest.raises(aiohttp.ClientPayloadError, match="in another session"):
        heard_of(["limit=1"], ["limit=1&continue=next"])


def test_an_error_in_a_watch_is_a_broken_connection_to_kopf_unless_it_is_too_old() -> None:
    with pytest.raises(aiohttp.ClientPayloadError, match="said so"):
        read(200, ADDED, error(500))
    assert read(200, ADDED, error(410)) == (200, [ADDED, error(410)])


def test_kopf_hears_of_credentials_that_are_no_longer_good_and_of_what_is_no_collection() -> None:
    assert read(401, error(401)["object"])[0] == 401
    assert read(404, error(404)["object"], path="/apis/sshload.dev/v1alpha1")[0] == 404


def test_a_refused_login_that_is_no_json_is_read_by_kopf_as_text() -> None:
    """After this class of error kopf reads the answer as text, and after any other it ends."""

    async def answer(_: web.Request) -> web.Response:
        return web.Response(status=401, text="upstream", content_type="application/json")

    async def play() -> None:
        async with (
            played_api(answer) as client,
            watch_session(client, lambda _: None) as session,
            session.get(f"{client.configuration.host}{TESTS}?limit=5") as response,
        ):
            await response.json()

    with pytest.raises(json.JSONDecodeError):
        asyncio.run(play())


def test_an_answer_about_the_api_that_breaks_off_is_a_broken_connection_to_kopf() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        half = web.StreamResponse(headers={"Content-Length": "20"})
        await half.prepare(request)
        await half.write(b'{"versions"')
        assert request.transport is not None
        request.transport.abort()
        return half

    async def play() -> None:
        async with played_api(answer) as client, watch_session(client, lambda _: None) as session:
            await session.get(f"{client.configuration.host}/api")

    with pytest.raises(aiohttp.ClientConnectionError, match="broke off"):
        asyncio.run(play())


def test_no_redirect_takes_the_login_of_kopf_elsewhere() -> None:
    asked = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.path)
        return web.json_response({}, status=307, headers={"Location": "/elsewhere"})

    async def play() -> None:
        async with played_api(answer) as client, watch_session(client, lambda _: None) as session:
            await session.get(f"{client.configuration.host}/apis")

    with pytest.raises(aiohttp.ClientConnectionError, match="is a redirect"):
        asyncio.run(play())
    assert asked == ["/apis"]


def test_each_request_of_kopf_logs_in_with_the_token_of_that_moment() -> None:
    seen = []

    async def answer(request: web.Request) -> web.Response:
        seen.append(request.headers["Authorization"])
        return web.json_response({})

    async def play() -> None:
        async with played_api(answer) as client, watch_session(client, lambda _: None) as session:
            for token in ("first", "second"):
                client.configuration.api_key["BearerToken"] = f"Bearer {token}"
                await session.get(client.configuration.host)

    asyncio.run(play())
    assert seen == ["Bearer first", "Bearer second"]


def test_credentials_that_cannot_be_renewed_are_a_broken_connection_to_kopf() -> None:
    def fail(_: Any) -> None:
        raise FileNotFoundError("no token")

    async def answer(_: web.Request) -> web.Response:
        return web.json_response({})

    async def play() -> None:
        async with played_api(answer) as client, watch_session(client, lambda _: None) as session:
            client.configuration.refresh_api_key_hook = fail
            await session.get(client.configuration.host)

    with pytest.raises(aiohttp.ClientConnectionError, match="no token"):
        asyncio.run(play())


def test_kopf_asks_about_the_groups_of_the_api_over_few_connections() -> None:
    connections = set()

    async def answer(request: web.Request) -> web.Response:
        connections.add(request.transport)
        await asyncio.sleep(0)
        return web.json_response({})

    async def play() -> None:
        async with played_api(answer) as client, watch_session(client, lambda _: None) as session:
            asked = (session.get(f"{client.configuration.host}/apis/group-{number}/v1") for number in range(60))
            await asyncio.gather(*asked)

    asyncio.run(play())
    assert len(connections) <= 4


def json_of(path: str, said: Any) -> Any:
    """Return the JSON of an answer as kopf asks for it."""

    async def answer(_: web.Request) -> web.Response:
        return web.json_response(said)

    async def play() -> Any:
        async with (
            played_api(answer) as client,
            watch_session(client, lambda _: None) as session,
            session.get(f"{client.configuration.host}{path}") as response,
        ):
            return await response.json()

    return asyncio.run(play())


def test_kopf_gets_the_pages_of_a_list_lean_and_what_is_no_collection_as_it_is() -> None:
    item = {"metadata": {"namespace": "a", "name": "one", "managedFields": [{"manager": "x"}]}}
    listed = json_of(f"{TESTS}?limit=5", {"metadata": {}, "items": [item]})
    assert [one["metadata"]["name"] for one in listed["items"]] == ["one"]
    assert "managedFields" not in listed["items"][0]["metadata"]
    group = {"resources": [item], "items": [item]}
    assert json_of("/apis/sshload.dev/v1alpha1", group) == group


def answered(text: str, query: str) -> Any:
    """Return what kopf gets of a list or a watch that is answered with 200 and this text."""

    async def answer(_: web.Request) -> web.Response:
        return web.Response(text=text, content_type="application/json")

    async def play() -> Any:
        async with (
            played_api(answer) as client,
            watch_session(client, lambda _: None) as session,
            session.get(f"{client.configuration.host}{TESTS}?{query}") as response,
        ):
            if "watch" in query:
                return [line async for line in response.content.iter_chunked(1024)]
            return await response.json()

    return asyncio.run(play())


@pytest.mark.parametrize("query", ["limit=5", "watch=true"])
@pytest.mark.parametrize("text", ["<html>closed for maintenance</html>\n", '"closed"\n', "7\n", '["items"]\n'])
def test_what_is_no_list_and_no_event_such_as_a_proxys_page_is_a_broken_connection_to_kopf(
    query: str, text: str
) -> None:
    with pytest.raises(aiohttp.ClientPayloadError, match=r"it is no (list|event): "):
        answered(text, query)


@pytest.mark.parametrize(
    "text",
    [
        '{"items": []}',
        '{"items": [{}], "metadata": {}}',
        '{"items": [{"metadata": {}}], "metadata": {}}',
        '{"items": [{"metadata": {"name": ["a"]}}], "metadata": {}}',
    ],
)
def test_what_lacks_a_part_of_a_list_is_a_broken_connection_to_kopf(text: str) -> None:
    with pytest.raises(aiohttp.ClientPayloadError, match="it is no list"):
        answered(text, "limit=5")


def test_the_log_has_no_control_characters_of_an_answer(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(aiohttp.ClientPayloadError):
        answered("\x1b[31mclosed", "limit=5")
    assert "it is no list:  [31mclosed" in caplog.text


def test_labels_that_are_none_are_no_event() -> None:
    with pytest.raises(aiohttp.ClientPayloadError, match="it is no event"):
        answered('{"type": "ADDED", "object": {"metadata": {"labels": 7}}}\n', "watch=true")


@pytest.mark.parametrize("text", ['{"message": "closed"}\n', '{"type": "ADDED"}\n', '{"object": {}}\n'])
def test_what_lacks_a_part_of_an_event_is_a_broken_connection_to_kopf(text: str) -> None:
    with pytest.raises(aiohttp.ClientPayloadError, match="it is no event"):
        answered(text, "watch=true")


def test_an_object_that_is_no_list_is_kopfs_affair() -> None:
    assert answered('{"kind": "Status"}', "limit=5") == {"kind": "Status"}


def test_any_number_of_collections_is_watched_at_once() -> None:
    async def play() -> int:
        asked, all_asked = 0, asyncio.Event()

        async def answer(_: web.Request) -> web.Response:
            nonlocal asked
            asked += 1
            if asked == 20:
                all_asked.set()
            await all_asked.wait()
            return web.Response()

        async with played_api(answer) as client, watch_session(client, lambda _: None) as session:
            url = f"{client.configuration.host}/api/v1/namespaces"
            await asyncio.gather(*(session.get(f"{url}/{number}/pods?watch=true") for number in range(20)))
        return asked

    assert asyncio.run(play()) == 20
