"""Two operators and their Leases, in virtual time, with an API server that is slow, silent, or tells of others' writes.

`tests/integration/operator_api/test_two_operators.py` has the same with a real one.
"""

import asyncio
import logging
import re
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from sshload_operator.control.api_server.cluster import Object
from sshload_operator.control.api_server.errors import ApiError
from sshload_operator.control.api_server.lease import Leases, Terms
from virtual_time import run_at_once

DURATION_S = 30
GIVE_UP_S = 20
RENEW_S = 5
LOOK_S = 2
LONGEST_S = 300
"""Longer than anything that is waited for here."""


@dataclass
class Server:
    """Keeps Leases by namespace, as an API server does, and answers after `answer_s`.

    `refuse` is raised in place of an answer, `refuse_in` for requests of one namespace; with `is_silent` nothing comes
    back, with `loses_answers` the write happens all the same.
    """

    leases: dict[str, dict[str, Any]] = field(default_factory=dict)
    version: int = 0
    answer_s: float = 0.0
    refuse: ApiError | None = None
    refuse_in: dict[str, ApiError] = field(default_factory=dict)
    is_silent: bool = False
    loses_answers: bool = False
    written_at_s: list[float] = field(default_factory=list)
    requests: int = 0
    order: list[str] = field(default_factory=list)

    async def read_lease(self, namespace: str, name: str) -> Object | None:
        assert name == "sshload-operator"
        await self._answered(namespace)
        return self.leases.get(namespace)

    async def write_lease(self, lease: dict[str, Any]) -> Object:
        namespace = lease["metadata"]["namespace"]
        if not self.loses_answers:
            await self._answered(namespace)
        version = lease["metadata"].get("resourceVersion")
        there = self.leases.get(namespace)
        if version is None and there is not None:
            raise ApiError(422, "metadata.resourceVersion: must be specified for an update")
        if version is not None and (there is None or there["metadata"]["resourceVersion"] != version):
            raise ApiError(409, "the object has been modified")
        self.put(namespace, lease["spec"])
        self.order.append(namespace)
        self.written_at_s.append(now_s())
        if self.loses_answers:
            await asyncio.sleep(3_600)
        return self.leases[namespace]

    async def delete(self, path: str, preconditions: dict[str, str]) -> bool:
        namespace = path.partition("/namespaces/")[2].partition("/")[0]
        await self._answered(namespace)
        if self.leases[namespace]["metadata"]["resourceVersion"] == preconditions["resourceVersion"]:
            del self.leases[namespace]
        return True

    def put(self, namespace: str, spec: dict[str, Any]) -> None:
        """Write a Lease, whoever it is."""
        self.version += 1
        self.leases[namespace] = {"metadata": {"resourceVersion": str(self.version)}, "spec": spec}

    async def _answered(self, namespace: str) -> None:
        self.requests += 1
        await asyncio.sleep(3_600 if self.is_silent else self.answer_s)
        refusal = self.refuse or self.refuse_in.get(namespace)
        if refusal is not None:
            raise refusal

    def leases_of(self, identity: str, watched: tuple[str, ...] = ()) -> Leases:
        return Leases(self, watched, "home", Terms(identity, DURATION_S))  # type: ignore[arg-type]


def now_s() -> float:
    return asyncio.get_running_loop().time()


Claim = Callable[[Server], Coroutine[Any, Any, None]]


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Callable[[Claim], None]:
    def played(claim: Claim) -> None:
        monkeypatch.setattr(
            "sshload_operator.control.api_server.lease.time", SimpleNamespace(monotonic=now_s), raising=True
        )
        run_at_once(claim(Server()))

    return played


Play = Callable[[Claim], None]


async def held_for_s(leases: Leases) -> float:
    """Wait until Leases are not held any more, and return how long that took, to a tenth of a second."""
    began_s = now_s()
    while leases.are_held():
        await asyncio.sleep(0.1)
        assert now_s() - began_s < LONGEST_S
    return round(now_s() - began_s, 1)


def test_a_lease_is_held_from_when_its_renewal_was_sent_and_not_from_when_it_was_answered(play: Play) -> None:
    async def claim(server: Server) -> None:
        server.answer_s = 4
        leases = server.leases_of("a")
        await leases.take()
        assert await_written(server) == 4
        server.is_silent = True
        assert await held_for_s(leases) == GIVE_UP_S - 4
        await leases.wait_until_lost()
        await leases.release()

    def await_written(server: Server) -> float:
        return round(server.written_at_s[-1] - 1_000, 1)

    play(claim)


def test_a_renewal_whose_answer_comes_too_late_is_none(play: Play) -> None:
    async def claim(server: Server) -> None:
        leases = server.leases_of("a")
        await leases.take()
        server.answer_s = RENEW_S + 1
        assert await held_for_s(leases) == GIVE_UP_S
        await leases.release()

    play(claim)


def test_a_lease_is_renewed_several_times_within_its_duration_and_held_meanwhile(play: Play) -> None:
    async def claim(server: Server) -> None:
        leases = server.leases_of("a")
        await leases.take()
        await asyncio.sleep(600)
        assert leases.are_held()
        pauses = {later - earlier for earlier, later in zip(server.written_at_s, server.written_at_s[1:], strict=False)}
        assert pauses == {RENEW_S}
        await leases.release()

    play(claim)


def test_a_second_operator_acts_only_when_the_first_has_long_given_up(play: Play) -> None:
    async def claim(server: Server) -> None:
        first, second = server.leases_of("a"), server.leases_of("b")
        await first.take()
        taking = asyncio.ensure_future(second.take())
        await asyncio.sleep(300)
        assert (first.are_held(), second.are_held(), taking.done()) == (True, False, False)
        server.is_silent = True  # for the first one only: its machine has lost the network
        await asyncio.sleep(0.1)
        hung = {task for renewal in first._renewals for task in [renewal]}
        assert hung
        server.is_silent = False
        for task in hung:
            task.cancel()
        last_s = server.written_at_s[-1]
        gave_up_s = now_s() + await held_for_s(first)
        await taking
        assert gave_up_s - last_s <= GIVE_UP_S + 0.2
        assert DURATION_S <= now_s() - last_s <= DURATION_S + 2 * LOOK_S
        assert second.are_held()
        await second.release()

    play(claim)


def test_an_operator_that_finds_another_in_its_place_acts_no_more_from_that_moment(play: Play) -> None:
    async def claim(server: Server) -> None:
        leases = server.leases_of("a")
        await leases.take()
        await asyncio.sleep(1)
        server.put("home", {"holderIdentity": "b", "leaseDurationSeconds": DURATION_S})
        assert await held_for_s(leases) <= RENEW_S
        await leases.wait_until_lost()
        await leases.release()
        assert server.leases["home"]["spec"]["holderIdentity"] == "b"

    play(claim)


@pytest.mark.parametrize("is_deleted", [True, False])
def test_a_lease_that_somebody_deleted_or_labelled_is_written_again_and_held_on(
    play: Play,
    is_deleted: bool,  # noqa: FBT001
) -> None:
    async def claim(server: Server) -> None:
        leases = server.leases_of("a")
        await leases.take()
        for _ in range(10):
            if is_deleted:
                del server.leases["home"]
            else:
                server.put("home", server.leases["home"]["spec"])
            written = len(server.written_at_s)
            await asyncio.sleep(RENEW_S + 1.5)
            assert len(server.written_at_s) == written + 1
            assert leases.are_held()
            assert server.leases["home"]["spec"]["holderIdentity"] == "a"
        await leases.release()
        assert server.leases == {}

    play(claim)


def test_a_renewal_whose_answer_is_lost_is_found_and_the_next_one_counts(play: Play) -> None:
    async def claim(server: Server) -> None:
        leases = server.leases_of("a")
        await leases.take()
        server.loses_answers = True
        await asyncio.sleep(RENEW_S + 1)
        server.loses_answers = False
        await asyncio.sleep(GIVE_UP_S)
        assert leases.are_held()
        await leases.release()
        assert server.leases == {}

    play(claim)


def test_errors_of_the_api_server_are_outlived_until_it_is_time_to_give_up(play: Play) -> None:
    async def claim(server: Server) -> None:
        leases = server.leases_of("a")
        await leases.take()
        server.refuse = ApiError(500, "etcd has no leader")
        await asyncio.sleep(GIVE_UP_S - 2)
        assert leases.are_held()
        server.refuse = None
        await asyncio.sleep(RENEW_S)
        assert leases.are_held()
        server.refuse = ApiError(500, "etcd has no leader")
        assert GIVE_UP_S - RENEW_S <= await held_for_s(leases) <= GIVE_UP_S
        await leases.wait_until_lost()
        await leases.release()

    play(claim)


def test_a_lease_is_waited_for_anew_each_time_its_holder_renews_it(play: Play) -> None:
    async def claim(server: Server) -> None:
        server.put("home", {"holderIdentity": "b", "leaseDurationSeconds": DURATION_S})
        leases = server.leases_of("a")
        taking = asyncio.ensure_future(leases.take())
        for _ in range(3):
            await asyncio.sleep(DURATION_S - 1)
            assert not taking.done()
            server.put("home", server.leases["home"]["spec"])
        renewed_s = now_s()
        await taking
        assert DURATION_S <= now_s() - renewed_s <= DURATION_S + 2 * LOOK_S
        await leases.release()

    play(claim)


@pytest.mark.parametrize("spec", [{"holderIdentity": "a"}, {"holderIdentity": ""}, {}, None, {"holderIdentity": "b"}])
def test_ones_own_lease_of_before_one_of_nobody_and_one_of_no_duration_are_taken_at_once(play: Play, spec: Any) -> None:
    async def claim(server: Server) -> None:
        server.put("home", spec)
        leases = server.leases_of("a")
        await leases.take()
        assert (now_s(), leases.are_held()) == (1_000.0, True)
        await leases.release()

    play(claim)


def test_an_operator_that_ends_in_order_leaves_its_place_to_the_next_at_once(play: Play) -> None:
    async def claim(server: Server) -> None:
        first, second = server.leases_of("a"), server.leases_of("b")
        await first.take()
        await asyncio.sleep(100)
        await first.release()
        assert server.leases == {}
        written = len(server.written_at_s)
        await asyncio.sleep(100)
        assert len(server.written_at_s) == written
        await second.take()
        assert second.are_held()
        await second.release()

    play(claim)


@pytest.mark.parametrize("refuse", [ApiError(500, "no"), None])
def test_an_operator_that_cannot_release_its_lease_ends_all_the_same(play: Play, refuse: ApiError | None) -> None:
    async def claim(server: Server) -> None:
        leases = server.leases_of("a")
        await leases.take()
        server.refuse, server.is_silent = refuse, refuse is None
        await leases.release()
        assert set(server.leases) == {"home"}

    play(claim)


def test_leases_of_several_namespaces_are_taken_in_one_order_and_held_only_together(play: Play) -> None:
    async def claim(server: Server) -> None:
        server.put("m", {"holderIdentity": "b", "leaseDurationSeconds": 12})
        leases = server.leases_of("a", ("z", "m", "c"))
        taking = asyncio.ensure_future(leases.take())
        await asyncio.sleep(10)
        assert (set(server.order), leases.are_held()) == ({"c"}, False)
        await taking
        assert leases.are_held()
        assert list(dict.fromkeys(server.order)) == ["c", "m", "z"]
        await leases.release()
        assert server.leases == {}

    play(claim)


@pytest.mark.parametrize("lost", ["c", "m", "z"])
def test_the_loss_of_any_lease_is_the_loss_of_all(play: Play, lost: str) -> None:
    async def claim(server: Server) -> None:
        leases = server.leases_of("a", ("c", "m", "z"))
        await leases.take()
        await asyncio.sleep(1)
        server.put(lost, {"holderIdentity": "b", "leaseDurationSeconds": DURATION_S})
        await leases.wait_until_lost()
        assert not leases.are_held()
        assert now_s() - 1_000 <= RENEW_S + 1
        await leases.release()
        assert set(server.leases) == {lost}

    play(claim)


@pytest.mark.parametrize("status", [403, 404])
def test_a_watched_namespace_without_rights_or_that_is_gone_hinders_nobody_and_is_taken_once_it_is_there(
    play: Play, status: int
) -> None:
    async def claim(server: Server) -> None:
        server.refuse_in["gone"] = ApiError(status, "no")
        leases = server.leases_of("a", ("gone", "here"))
        await leases.take()
        await asyncio.sleep(100)
        assert (leases.are_held(), set(server.leases)) == (True, {"here"})
        del server.refuse_in["gone"]
        await asyncio.sleep(RENEW_S + 1)
        assert (leases.are_held(), set(server.leases)) == (True, {"gone", "here"})
        server.is_silent = True
        assert await held_for_s(leases) <= GIVE_UP_S
        await leases.release()

    play(claim)


def test_an_operator_that_had_no_rights_in_a_namespace_is_not_let_in_beside_the_one_that_holds_it(play: Play) -> None:
    async def claim(server: Server) -> None:
        server.refuse_in["late"] = ApiError(403, "no")
        leases = server.leases_of("a", ("late",))
        await leases.take()
        assert leases.are_held()
        server.put("late", {"holderIdentity": "b", "leaseDurationSeconds": DURATION_S})
        del server.refuse_in["late"]
        assert await held_for_s(leases) <= RENEW_S + 1
        await leases.wait_until_lost()
        await leases.release()
        assert server.leases["late"]["spec"]["holderIdentity"] == "b"

    play(claim)


def test_a_lease_says_who_holds_it_for_how_long_and_since_when_to_the_microsecond(play: Play) -> None:
    async def claim(server: Server) -> None:
        leases = server.leases_of("a")
        await leases.take()
        spec = server.leases["home"]["spec"]
        assert (spec["holderIdentity"], spec["leaseDurationSeconds"]) == ("a", DURATION_S)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", spec["renewTime"])
        await leases.release()

    play(claim)


def test_what_was_never_taken_is_released_without_a_request(play: Play) -> None:
    async def claim(server: Server) -> None:
        await server.leases_of("a", ("one", "two")).release()
        assert server.requests == 0

    play(claim)


def test_a_namespace_that_is_deleted_and_made_anew_is_held_on(play: Play) -> None:
    async def claim(server: Server) -> None:
        leases = server.leases_of("a", ("one",))
        await leases.take()
        del server.leases["one"]
        server.refuse_in["one"] = ApiError(404, "namespaces one not found")
        await asyncio.sleep(100)
        assert leases.are_held()
        server.refuse_in.clear()
        await asyncio.sleep(RENEW_S + 0.5)
        assert (leases.are_held(), set(server.leases)) == (True, {"one"})
        await leases.release()

    play(claim)


@pytest.mark.parametrize("status", [403, 404, 500])
def test_without_a_lease_in_its_own_namespace_an_operator_does_nothing_until_it_has_one(
    play: Play, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    async def claim(server: Server) -> None:
        server.refuse = ApiError(status, "no")
        leases = server.leases_of("a")
        taking = asyncio.ensure_future(leases.take())
        await asyncio.sleep(100)
        assert (taking.done(), leases.are_held()) == (False, False)
        server.refuse = None
        await taking
        assert leases.are_held()
        await leases.release()

    play(claim)
    assert caplog.messages == [f"cannot write the Lease home/sshload-operator: {status}: no"]


def test_what_hinders_is_said_once_however_often_it_is_tried(play: Play, caplog: pytest.LogCaptureFixture) -> None:
    async def claim(server: Server) -> None:
        server.put("home", {"holderIdentity": "b", "leaseDurationSeconds": DURATION_S})
        leases = server.leases_of("a")
        await leases.take()
        server.is_silent = True
        await leases.wait_until_lost()
        await leases.release()

    caplog.set_level(logging.INFO)
    play(claim)
    assert caplog.messages == [
        "waits, and does nothing: b holds the Lease home/sshload-operator",
        "holds the Lease home/sshload-operator as a",
        "cannot write the Lease home/sshload-operator: no answer within 5.0 s",
        "has lost the Lease home/sshload-operator, and ends at once: another operator may act from now on",
    ]
