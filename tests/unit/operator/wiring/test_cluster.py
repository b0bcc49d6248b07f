"""What the operator makes of the API server's answers."""

import asyncio
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from played_api import played_api, played_cluster
from sshload_operator.api.kinds import TEST
from sshload_operator.control.api_server import cluster as cluster_module
from sshload_operator.control.api_server.errors import ApiError
from sshload_operator.control.api_server.watch_session import Listed, watch_session
from until import until

PATH = "/api/v1/namespaces/a/secrets/b"
TESTS = "/apis/sshload.dev/v1alpha1/sshloadtests"


def status(code: int, reason: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Status", "code": code, "reason": reason, "message": f"said {reason}"}


def created(code: int, reason: str) -> bool:
    """Create an object, which is answered so."""

    async def answer(_: web.Request) -> web.Response:
        return web.json_response(status(code, reason), status=code)

    async def play() -> bool:
        async with played_cluster(answer) as cluster:
            return await cluster.create(PATH, {})

    return asyncio.run(play())


def test_an_object_that_exists_already_is_left_as_it_is() -> None:
    assert not created(409, "AlreadyExists")


def test_a_quota_that_was_changed_meanwhile_is_no_object_that_exists() -> None:
    with pytest.raises(ApiError, match=r"409: POST .*: said Conflict"):
        created(409, "Conflict")


def deleted(code: int, reason: str, preconditions: dict[str, str] | None = None) -> bool:
    """Delete an object, which is answered so."""

    async def answer(_: web.Request) -> web.Response:
        return web.json_response(status(code, reason), status=code)

    async def play() -> bool:
        async with played_cluster(answer) as cluster:
            return await cluster.delete(PATH, preconditions)

    return asyncio.run(play())


def test_an_object_that_was_gone_or_is_another_one_is_not_deleted() -> None:
    assert not deleted(404, "NotFound")
    assert not deleted(409, "Conflict", {"uid": "that of another"})


def test_a_conflict_at_a_deletion_without_conditions_is_no_object_that_is_gone() -> None:
    with pytest.raises(ApiError, match=r"409: DELETE .*: said Conflict"):
        deleted(409, "Conflict")


def test_deleting_an_object_by_its_uid_leaves_another_one_alone_and_never_passes_over_the_very_one() -> None:
    """A conflict says that it is another one, or that something else stood in the way."""

    async def play(there: dict[str, Any] | None) -> None:
        async def answer(request: web.Request) -> web.Response:
            if request.method == "DELETE":
                return web.json_response(status(409, "Conflict"), status=409)
            return web.json_response(there or status(404, "NotFound"), status=200 if there else 404)

        async with played_cluster(answer) as cluster:
            await cluster.delete_by_uid(TEST, {"namespace": "ns", "name": "a", "uid": "u"})

    asyncio.run(play(None))
    asyncio.run(play({"metadata": {"uid": "another"}}))
    with pytest.raises(ApiError, match=r"409: DELETE .*: said Conflict"):
        asyncio.run(play({"metadata": {"uid": "u"}}))


def test_a_redirect_is_not_followed() -> None:
    asked = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.path)
        return web.json_response({}, status=302, headers={"Location": "/elsewhere"})

    async def play() -> None:
        async with played_cluster(answer) as cluster:
            await cluster.list_pods("ns", "a=b")

    with pytest.raises(ApiError, match="is a redirect"):
        asyncio.run(play())
    assert asked == ["/api/v1/namespaces/ns/pods"]


def test_an_event_of_anybodys_is_its_object_and_the_first_of_its_message() -> None:
    events = [{}, {"involvedObject": None}, {"involvedObject": {"name": "a"}, "message": "x" * 5_000}]

    async def answer(_request: web.Request) -> web.Response:
        return web.json_response({"metadata": {}, "items": events})

    async def play() -> Any:
        async with played_cluster(answer) as cluster:
            return await cluster.list_events("ns", "reason=FailedCreate")

    assert asyncio.run(play()) == [("", ""), ("", ""), ("a", "x" * 999 + "…")]


def written(what: str, there: dict[str, Any] | None) -> dict[str, Any] | None:
    """Write the status or the spec of an object, which is a conflict; `there` is the uid of the one that is there."""

    async def answer(request: web.Request) -> web.Response:
        if request.method == "PATCH":
            return web.json_response(status(409, "Conflict"), status=409)
        if there is None:
            return web.json_response(status(404, "NotFound"), status=404)
        return web.json_response({"metadata": there})

    async def play() -> Any:
        async with played_cluster(answer) as cluster:
            ours = {"namespace": "a", "name": "b", "uid": "ours"}
            if what == "spec":
                return await cluster.set_spec(TEST, ours, {"abort": True})
            return await cluster.write_status(TEST, {"metadata": ours}, {"phase": "Running"})

    found: dict[str, Any] | None = asyncio.run(play())
    return found


@pytest.mark.parametrize("what", ["status", "spec"])
def test_a_conflict_is_the_end_of_an_object_only_where_it_is_gone_or_another_one(what: str) -> None:
    assert written(what, None) is None
    assert written(what, {"uid": "another"}) is None
    with pytest.raises(ApiError, match=r"409: PATCH .*: said Conflict"):
        written(what, {"uid": "ours"})


def test_a_request_waits_for_its_turn_for_longer_than_for_a_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "_TIMEOUT", aiohttp.ClientTimeout(total=60, connect=1))

    async def answer(_: web.Request) -> web.Response:
        await asyncio.sleep(1.5)
        return web.json_response({})

    async def play() -> list[bool]:
        async with played_cluster(answer) as cluster:
            return await asyncio.gather(*(cluster.create(PATH, {}) for _ in range(13)))

    assert all(asyncio.run(play()))


def test_logs_that_were_not_given_keep_no_other_log_waiting() -> None:
    async def play() -> bool:
        cut_off, hanging, all_taken, over = True, 0, asyncio.Event(), asyncio.Event()

        async def answer(request: web.Request) -> web.Response:
            nonlocal hanging
            if "/lost-" in request.path and cut_off and request.transport is not None:
                request.transport.close()
            elif "/lost-" in request.path:
                hanging += 1
                if hanging == 6:
                    all_taken.set()
                await over.wait()
            return web.Response(text="said")

        async with played_cluster(answer) as cluster:

            def read(pod: str) -> asyncio.Task[str | None]:
                return asyncio.create_task(cluster.read_log("a", pod, "master", 10))

            await asyncio.gather(*(read(f"lost-{number}") for number in range(12)), return_exceptions=True)
            cut_off = False
            lost = [read(f"lost-{number}") for number in range(12)]
            other, waiting = read("master"), asyncio.create_task(all_taken.wait())
            first, _ = await asyncio.wait({other, waiting}, return_when=asyncio.FIRST_COMPLETED)
            over.set()
            waiting.cancel()
            assert await asyncio.gather(other, *lost) == ["said"] * 13
            return other in first

    assert asyncio.run(play())


@pytest.mark.parametrize(("were_given", "at_once"), [(True, 6), (False, 2)])
def test_six_logs_are_read_at_once_and_two_of_those_that_were_not_given(were_given: bool, at_once: int) -> None:  # noqa: FBT001
    async def play() -> int:
        asked, hanging, over = 0, 0, asyncio.Event()
        cut_off = not were_given

        async def answer(request: web.Request) -> web.Response:
            nonlocal asked, hanging
            asked += 1
            if cut_off and request.transport is not None:
                request.transport.close()
                return web.Response()
            hanging += 1
            await over.wait()
            return web.Response(text="said")

        async with played_cluster(answer) as cluster:

            def read() -> list[asyncio.Task[str | None]]:
                return [asyncio.create_task(cluster.read_log("a", f"pod-{number}", "master", 1)) for number in range(9)]

            if cut_off:
                await asyncio.gather(*read(), return_exceptions=True)
                cut_off = False
            reading = read()
            await until(lambda: hanging >= at_once)
            for _ in range(50):
                await asyncio.sleep(0)
            most = hanging
            over.set()
            assert await asyncio.gather(*reading) == ["said"] * 9
            return most

    assert asyncio.run(play()) == at_once


def test_logs_that_no_kubelet_answers_keep_nothing_else_waiting() -> None:
    many = 30

    async def play() -> bool:
        hanging, over = asyncio.Event(), asyncio.Event()

        async def answer(request: web.Request) -> web.Response:
            if request.path.endswith("/log"):
                hanging.set()
                await over.wait()
            return web.json_response({})

        async with played_cluster(answer) as cluster:
            reading = [asyncio.create_task(cluster.read_log("a", "master", "master", 10)) for _ in range(many)]
            try:
                await hanging.wait()
                await cluster.create(PATH, {})
                return not any(read.done() for read in reading)
            finally:
                over.set()
                await asyncio.gather(*reading, return_exceptions=True)

    assert asyncio.run(play())


def test_each_whole_list_is_reported() -> None:
    pages = {
        "": {"items": [item("a", "one"), item("b", "one")], "metadata": {"continue": "2"}},
        "2": {"items": [item("a", "two")], "metadata": {}},
    }
    heard: list[Listed] = []

    async def answer(request: web.Request) -> web.Response:
        return web.json_response(pages[request.query.get("continue", "")])

    async def play() -> None:
        async with played_api(answer) as client, watch_session(client, heard.append) as session:
            for query in ("limit=2", "limit=2&continue=2"):
                async with session.get(f"{client.configuration.host}{TESTS}?{query}") as response:
                    await response.json()

    asyncio.run(play())
    assert heard == [Listed("sshloadtests", None, frozenset({("a", "one"), ("b", "one"), ("a", "two")}))]


@pytest.mark.parametrize(
    ("namespace", "key", "lacks"),
    [
        (None, ("a", "x"), True),
        (None, ("a", "one"), False),
        ("a", ("a", "x"), True),
        ("b", ("a", "x"), False),
    ],
)
def test_a_list_of_one_namespace_says_nothing_of_others(
    namespace: str | None, key: tuple[str, str], *, lacks: bool
) -> None:
    assert Listed("sshloadtests", namespace, frozenset({("a", "one")})).lacks(key) is lacks


def item(namespace: str, name: str) -> dict[str, Any]:
    return {"metadata": {"namespace": namespace, "name": name}}
