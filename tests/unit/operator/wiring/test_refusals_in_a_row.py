"""What is counted in a row begins anew once something was accepted: refused lists and watches, and refused statuses."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import aiohttp
import pytest
from sshload_operator.control.api_server.errors import ApiError
from sshload_operator.control.api_server.watch_session import _Refusals
from sshload_operator.control.run.cluster_world import ClusterWorld
from sshload_operator.control.run.observe import Observations
from sshload_operator.control.run.reconcile import _is_refused_for_good
from virtual_time import run_at_once
from yarl import URL


@dataclass
class Answer:
    """An answer of the API server about a collection."""

    status: int
    path: str = "/apis/sshload.dev/v1/sshloadtests"
    query: str = "watch=true"
    content: Any = None

    @property
    def url(self) -> URL:
        return URL(f"https://server{self.path}?{self.query}")

    async def text(self, errors: str) -> str:
        assert errors == "replace"
        return "why"


def waits(*answers: Answer) -> tuple[list[float], _Refusals]:
    """Return how long each answer was held back."""

    async def play() -> tuple[list[float], _Refusals]:
        refusals, found = _Refusals(), []
        for answer in answers:
            began_s = asyncio.get_running_loop().time()
            with suppress(aiohttp.ClientPayloadError):
                await refusals.take_in(cast("Any", answer))
            found.append(asyncio.get_running_loop().time() - began_s)
        return found, refusals

    return run_at_once(play())


def test_refusals_of_a_collection_are_waited_for_longer_and_longer_until_it_is_accepted() -> None:
    no, yes = Answer(500), Answer(200)
    found, refusals = waits(no, no, no, no, no, yes, no, no, no, yes)
    assert found == [1, 1, 2, 3, 3, 0, 1, 1, 2, 0]
    assert refusals.times == {}


def test_each_collection_is_waited_for_by_itself_and_a_login_that_is_over_not_at_all() -> None:
    no, other, login = Answer(403), Answer(403, "/api/v1/pods"), Answer(401)
    found, refusals = waits(no, no, no, other, login, no, Answer(200, "/api/v1/pods"), no)
    assert found == [1, 1, 2, 1, 0, 3, 0, 3]
    assert refusals.times == {no.path: 5}


def test_a_collection_is_said_to_be_refused_once_and_again_after_it_was_accepted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    no = Answer(500)
    waits(no, no, Answer(200), no)
    assert len([one for one in caplog.messages if "cannot list or watch" in one]) == 2


def test_a_watch_that_is_too_old_is_told_and_a_list_that_is_too_old_is_refused() -> None:
    watch, page = Answer(410), Answer(410, query="continue=x")
    waits(watch, page)
    assert (watch.status, page.status) == (200, 410)


class Writes:
    """An API server that accepts a status, or answers what it is told."""

    def __init__(self, *statuses: int) -> None:
        self.statuses = list(statuses)

    async def write_status(self, _kind: object, body: Any, _status: object) -> Any:
        status = self.statuses.pop(0)
        if status >= 400:
            raise ApiError(status, "no")
        return body


def refused_for_good(*statuses: int) -> list[bool]:
    """Return of each refused write of a status whether it counts as one that is never accepted."""

    async def play() -> list[bool]:
        observations, found = Observations(), []
        cluster: Any = Writes(*statuses)
        for _ in statuses:
            world = ClusterWorld(cluster, cast("Any", None), "", observations, cast("Any", None), SimpleNamespace())
            try:
                await world.write_status({})
            except ApiError as error:
                found.append(_is_refused_for_good(error, observations))
            else:
                assert world.status_error is None
        return found

    return asyncio.run(play())


def test_a_status_is_given_up_after_several_faults_in_a_row_and_each_that_is_accepted_begins_the_count_anew() -> None:
    many = refused_for_good(*[500] * 9)
    first = many.index(True)
    assert first == 4, "five faults in a row"
    assert many[first:] == [True] * (9 - first)
    assert refused_for_good(*[500] * first, 200, *[500] * first) == [False] * 2 * first


def test_a_status_that_is_refused_for_what_it_is_is_given_up_at_once_and_one_that_met_no_answer_never() -> None:
    assert refused_for_good(422) == [True]
    assert refused_for_good(*[503] * 9, *[409] * 3) == [False] * 12
