"""Who gets what the operator serves over HTTP, by what the API server says of tokens and users."""

import asyncio
import itertools
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from sshload_operator.control.api_server.errors import ApiError
from sshload_operator.control.metrics import bearer_check as module
from sshload_operator.control.metrics.bearer_check import (
    ALLOWED_KEEPS_S,
    REFUSED_KEEPS_S,
    REMEMBERED,
    BearerCheck,
    Review,
    bearer_token,
)

ANNA = {"username": "anna", "groups": ["team"]}
TOKEN = "eyJ.a-token.of_anna"


@dataclass
class Played:
    """An API server that knows these tokens, lets these users in, or fails; `asked` is what it was asked."""

    users: dict[str, dict[str, Any]] = field(default_factory=lambda: {TOKEN: ANNA})
    allowed: set[str] = field(default_factory=lambda: {"anna"})
    failure: ApiError | None = None
    now_s: float = 0.0
    asked: list[str] = field(default_factory=list)
    answers: asyncio.Event | None = None

    async def user_of(self, token: str) -> Mapping[str, Any] | None:
        self.asked.append("user")
        if self.answers is not None:
            await self.answers.wait()
        if self.failure is not None:
            raise self.failure
        return self.users.get(token)

    async def may(self, user: Mapping[str, Any], verb: str, path: str) -> bool:
        self.asked.append(f"{user['username']} {verb} {path}")
        return user["username"] in self.allowed

    def check(self) -> BearerCheck:
        """Return a check by this server, and by the time that the test sets."""
        return BearerCheck(self, lambda: self.now_s)


def standings(played: Played, *tokens: str, check: BearerCheck | None = None) -> list[Review]:
    """Return what becomes of requests for the metrics, one after the other."""
    asking = check or played.check()

    async def ask() -> list[Review]:
        return [await asking.review(token, "get", "/metrics") for token in tokens]

    return asyncio.run(ask())


def test_whom_rbac_lets_get_the_path_is_let_in() -> None:
    played = Played()
    assert standings(played, TOKEN) == [Review.ALLOWED]
    assert played.asked == ["user", "anna get /metrics"]


def test_nobody_is_asked_about_a_request_without_a_token() -> None:
    played = Played()
    assert standings(played, "") == [Review.UNAUTHENTICATED]
    assert played.asked == []


def test_a_token_of_nobody_and_a_user_without_the_right_are_told_apart() -> None:
    assert standings(Played(users={}), TOKEN) == [Review.UNAUTHENTICATED]
    assert standings(Played(allowed=set()), TOKEN) == [Review.FORBIDDEN]


def test_nobody_is_let_in_where_the_api_server_does_not_say() -> None:
    played = Played(failure=ApiError(403, "POST: forbidden", "Forbidden"))
    check = played.check()
    assert standings(played, TOKEN, check=check) == [Review.UNDECIDED]
    played.failure = None
    assert standings(played, TOKEN, check=check) == [Review.ALLOWED]


@pytest.mark.parametrize(
    ("allowed", "keeps_s", "standing"),
    [({"anna"}, ALLOWED_KEEPS_S, Review.ALLOWED), (set(), REFUSED_KEEPS_S, Review.FORBIDDEN)],
)
def test_an_answer_is_kept_for_a_short_time(allowed: set[str], keeps_s: float, standing: Review) -> None:
    played = Played(allowed=allowed)
    check = played.check()
    assert standings(played, TOKEN, TOKEN, check=check) == [standing, standing]
    played.now_s = keeps_s - 0.1
    standings(played, TOKEN, check=check)
    assert played.asked.count("user") == 1
    played.users = {}
    played.now_s = keeps_s
    assert standings(played, TOKEN, check=check) == [Review.UNAUTHENTICATED]


def test_an_answer_is_of_one_path_and_one_verb() -> None:
    played = Played()
    check = played.check()

    async def ask() -> None:
        for verb, path in (("get", "/metrics"), ("head", "/metrics"), ("get", "/ui")):
            await check.review(TOKEN, verb, path)

    asyncio.run(ask())
    assert played.asked[1::2] == ["anna get /metrics", "anna head /metrics", "anna get /ui"]


def test_any_number_of_wrong_tokens_drives_no_good_one_out() -> None:
    played = Played()
    check = played.check()
    standings(played, TOKEN, check=check)

    async def ask() -> None:
        for number in range(2 * REMEMBERED):
            await check.review(f"wrong-{number}", "get", "/metrics", f"address-{number}")

    asyncio.run(ask())
    assert len(check._refused._known) == REMEMBERED
    asked = len(played.asked)
    assert standings(played, TOKEN, check=check) == [Review.ALLOWED]
    assert len(played.asked) == asked


def test_requests_beyond_those_that_wait_are_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_WAITING", 3)

    async def ask() -> list[Review]:
        played = Played(answers=asyncio.Event())
        check = played.check()
        waiting = [asyncio.create_task(check.review(f"token-{number}", "get", "/metrics")) for number in range(3)]
        await asyncio.sleep(0)
        refused = await check.review(TOKEN, "get", "/metrics")
        assert played.answers is not None
        played.answers.set()
        return [refused, *await asyncio.gather(*waiting)]

    assert asyncio.run(ask()) == [Review.UNDECIDED, *[Review.UNAUTHENTICATED] * 3]


@pytest.mark.parametrize("address", ["192.0.2.1", "192.0.2.2"])
def test_a_good_token_is_let_in_while_a_hundred_strangers_try_wrong_ones(address: str) -> None:
    async def ask() -> list[Review]:
        check = Slow().check()

        async def try_wrong_ones(number: int) -> None:
            for attempt in itertools.count():
                await check.review(f"wrong-{number}-{attempt}", "get", "/metrics", "192.0.2.1")
                await asyncio.sleep(0)

        strangers = [asyncio.create_task(try_wrong_ones(number)) for number in range(100)]
        await asyncio.sleep(0)
        reviews = [await check.review(TOKEN, "get", f"/metrics/{number}", address) for number in range(30)]
        for stranger in strangers:
            stranger.cancel()
        return reviews

    assert asyncio.run(ask()) == [Review.ALLOWED] * 30


def test_who_was_let_in_before_is_asked_about_beside_those_of_the_same_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_WAITING", 1)

    async def ask() -> Review:
        played = Played()
        check = played.check()
        await check.review(TOKEN, "get", "/metrics", "192.0.2.1")
        played.answers = asyncio.Event()
        wrong = asyncio.create_task(check.review("wrong", "get", "/metrics", "192.0.2.1"))
        await asyncio.sleep(0)
        right = asyncio.create_task(check.review(TOKEN, "get", "/metrics/2", "192.0.2.1"))
        await asyncio.sleep(0)
        played.answers.set()
        await wrong
        return await right

    assert asyncio.run(ask()) is Review.ALLOWED


def test_only_so_many_users_are_remembered() -> None:
    played = Played(users={str(number): {"username": "anna"} for number in range(REMEMBERED + 1)})
    check = played.check()
    standings(played, *played.users, check=check)
    assert [check.user(token) for token in ("0", "1", str(REMEMBERED))] == ["", "anna", "anna"]


def test_the_api_server_is_asked_once_for_all_requests_of_a_token_that_come_together() -> None:
    played = Played()

    async def ask() -> list[Review]:
        check = played.check()
        return await asyncio.gather(*(check.review(TOKEN, "get", "/metrics") for _ in range(10)))

    assert asyncio.run(ask()) == [Review.ALLOWED] * 10
    assert played.asked == ["user", "anna get /metrics"]


@dataclass
class Slow(Played):
    """An API server that takes its time."""

    async def user_of(self, token: str) -> Mapping[str, Any] | None:
        await asyncio.sleep(0.002)
        return await super().user_of(token)


def test_no_token_is_remembered_or_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    played = Played(failure=ApiError(500, f"POST: {TOKEN} is not to be shown", "InternalError"))
    check = played.check()
    standings(played, TOKEN, check=check)
    played.failure = None
    standings(played, TOKEN, check=check)
    assert TOKEN not in caplog.text
    assert "500 InternalError" in caplog.text
    assert TOKEN not in repr(check._allowed._known)


@pytest.mark.parametrize(
    ("headers", "token"),
    [
        ([f"Bearer {TOKEN}"], TOKEN),
        ([f"bearer  {TOKEN}"], TOKEN),
        (["Bearer dG9rZW4="], "dG9rZW4="),
        ([], ""),
        (["Bearer"], ""),
        (["Bearer "], ""),
        ([TOKEN], ""),
        (["Basic dXNlcjpwYXNzd29yZA=="], ""),
        ([f"Bearer {TOKEN} {TOKEN}"], ""),
        ([f"Bearer {TOKEN}", f"Bearer {TOKEN}"], ""),
        (["Bearer tok\u00e4n"], ""),
        (["Bearer tok\udc80n"], ""),
        (["Bearer " + "a" * 8001], ""),
    ],
)
def test_a_token_is_that_of_one_bearer_header(headers: list[str], token: str) -> None:
    assert bearer_token(headers) == token


def answered(played: Played, read: Callable[[aiohttp.ClientSession, str], Awaitable[Any]]) -> Any:
    """Run a server behind the check, and return what is read of it."""

    async def page(_: web.Request) -> web.Response:
        return web.Response(text="the page")

    async def play() -> Any:
        app = web.Application(middlewares=[played.check().admit])
        app.add_routes([web.get("/metrics", page)])
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        addresses: list[Any] = runner.addresses
        try:
            async with aiohttp.ClientSession() as session:
                return await read(session, f"http://127.0.0.1:{addresses[0][1]}")
        finally:
            await runner.cleanup()

    return asyncio.run(play())


@pytest.mark.parametrize(
    ("played", "headers", "status"),
    [
        (Played(), {"Authorization": f"Bearer {TOKEN}"}, 200),
        (Played(), {}, 401),
        (Played(allowed=set()), {"Authorization": f"Bearer {TOKEN}"}, 403),
        (Played(failure=ApiError(0, "no answer")), {"Authorization": f"Bearer {TOKEN}"}, 503),
    ],
)
@pytest.mark.parametrize("path", ["/metrics", "/not-there"])
def test_each_path_is_behind_the_check(played: Played, headers: dict[str, str], status: int, path: str) -> None:
    async def read(session: aiohttp.ClientSession, server: str) -> tuple[int, str, str]:
        async with session.get(server + path, headers=headers) as answer:
            return answer.status, answer.headers.get("WWW-Authenticate", ""), await answer.text()

    code, challenge, text = answered(played, read)
    assert code == (404 if status == 200 and path != "/metrics" else status)
    assert challenge == ("Bearer" if status == 401 else "")
    assert ("the page" in text) == (code == 200)
