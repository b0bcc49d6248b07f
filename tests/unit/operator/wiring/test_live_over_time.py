"""Objects that are worked on for long: back-off that begins anew, alarms, turns given back, and names made anew.

In virtual time: hours pass at once.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from itertools import pairwise
from typing import Any

import pytest
from sshload_operator.control.api_server.errors import ApiError
from sshload_operator.control.live.objects import Key, Live, LiveObjects, Next, Park, Reconciler, Rest, Wait
from virtual_time import run_at_once

ONE, TWO = ("a", "one"), ("a", "two")


def body(version: int, generation: int = 1, name: str = "one", uid: str = "u", **more: Any) -> dict[str, Any]:
    metadata = {"namespace": "a", "name": name, "uid": uid, "generation": generation, **more}
    return {"metadata": {**metadata, "resourceVersion": str(version)}}


class Told(Reconciler[list[str]]):
    """Goes on with an object as it is told, pass by pass, and with the last of it ever after.

    It notes when each pass was, and which body it had. What it is told may be an error, or a function that writes.
    """

    def __init__(self, *steps: Any, takes_s: float = 0.0) -> None:
        self.steps = list(steps)
        self.takes_s = takes_s
        self.passes: list[tuple[float, str]] = []
        self.states: list[list[str]] = []
        self.served: dict[str, Any] | None = None
        self.stay_s: list[float | None] = []
        self.looked: list[list[str]] = []

    def first_state(self, body: Any) -> list[str]:
        self.states.append([] if body is None else [body["metadata"]["uid"]])
        return self.states[-1]

    def kept(self, state: list[str]) -> list[str]:
        return [*state, "kept"]

    def stay_parked_s(self, _key: Key, state: list[str]) -> float | None:
        self.looked.append(state)
        return self.stay_s.pop(0) if self.stay_s else None

    async def do(self, _key: Key, live: Live[list[str]]) -> Next:
        found = live.body if live.body is not None else live.fill(self.served)
        seen = "none" if found is None else found["metadata"]["resourceVersion"]
        self.passes.append((round(now_s(), 3), seen))
        step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
        await asyncio.sleep(self.takes_s)
        if isinstance(step, Exception):
            raise step
        return step(live) if callable(step) else step

    def at_s(self) -> list[float]:
        """Return when the passes were."""
        return [at_s for at_s, _ in self.passes]

    def seen(self) -> list[str]:
        """Return the versions that passes had."""
        return [version for _, version in self.passes]


def now_s() -> float:
    return asyncio.get_running_loop().time() - 1_000.0


def played(passes: Reconciler[Any], claim: Callable[[LiveObjects[Any]], Coroutine[Any, Any, None]], **more: Any) -> int:
    """Play a claim, and return how many passes failed."""
    failed: list[None] = []

    async def play() -> None:
        live = LiveObjects(passes, lambda: failed.append(None), **more)
        await claim(live)
        await live.stop()
        await asyncio.sleep(3_600)  # nothing rings any more

    run_at_once(play())
    return len(failed)


def pauses(passes: Told) -> list[float]:
    at_s = passes.at_s()
    return [round(later - earlier, 1) for earlier, later in pairwise(at_s)]


# Back-off


def test_passes_that_fail_are_repeated_after_pauses_that_grow_and_begin_anew_after_a_pass_that_succeeds() -> None:
    error = ApiError(500, "no")
    passes = Told(*[error] * 10, Wait(7.0), error, error, Rest())

    async def claim(live: LiveObjects[Any]) -> None:
        passes.served = body(3)
        live.object_changed("ADDED", body(3))
        await asyncio.sleep(600)
        assert live.known(ONE) is None

    failures = played(passes, claim)
    grown = [1.1, 1.1, 2.1, 3.1, 5.1, 10.1, 15.1, 30.1, 30.1, 30.1]
    assert [round(pause, 0) for pause in pauses(passes)] == [round(pause, 0) for pause in [*grown, 7, 1, 1]]
    assert failures == 12


def test_an_error_is_logged_once_while_it_repeats_and_again_when_it_comes_back_or_is_another(
    caplog: pytest.LogCaptureFixture,
) -> None:
    no, gone = ApiError(500, "no"), ApiError(410, "gone")
    passes = Told(no, no, gone, Wait(1.0), gone, ValueError("a bug"), Rest())

    async def claim(live: LiveObjects[Any]) -> None:
        passes.served = body(3)
        live.object_changed("ADDED", body(3))
        await asyncio.sleep(600)

    played(passes, claim)
    said = [record.getMessage().rpartition("repeated: ")[2] for record in caplog.records]
    assert said == ["ApiError: 500: no", "ApiError: 410: gone", "ApiError: 410: gone", "ValueError: a bug"]
    assert [record.exc_info is not None for record in caplog.records] == [False, False, False, True]
    assert caplog.records[0].levelno == logging.ERROR


def test_an_edit_ends_the_pause_after_a_failure() -> None:
    passes = Told(*[ApiError(500, "no")] * 8, Rest())

    async def claim(live: LiveObjects[Any]) -> None:
        passes.served = body(3)
        live.object_changed("ADDED", body(3))
        await asyncio.sleep(40)
        count = len(passes.passes)
        live.object_changed("MODIFIED", body(4, generation=2))
        await asyncio.sleep(1)
        assert len(passes.passes) == count + 1

    played(passes, claim)


def test_a_pass_that_fails_gives_its_turn_back_and_so_does_one_that_is_cancelled() -> None:
    passes = Told(ApiError(500, "no"), takes_s=0.2)

    async def claim(live: LiveObjects[Any]) -> None:
        for number in range(6):
            live.object_changed("ADDED", body(3, name=f"{number}"))
        await asyncio.sleep(30)
        for number in range(6):
            live.object_changed("DELETED", body(4, name=f"{number}"))
        await asyncio.sleep(1)
        assert (live._live, live._parked, live._alarms) == ({}, {}, {})
        passes.passes.clear()
        for name in ("one", "two"):
            live.object_changed("ADDED", body(8, name=name))
        await asyncio.sleep(0.1)
        assert passes.seen() == ["8", "8"]

    played(passes, claim, at_once=2)


# Alarms


@pytest.mark.parametrize("following", [Rest(100.0), Park(100.0)])
def test_an_object_at_rest_or_parked_gets_its_next_pass_when_it_asked_for_it_and_reads_itself_then(
    following: Next,
) -> None:
    passes = Told(following, following, Rest())

    async def claim(live: LiveObjects[Any]) -> None:
        passes.served = body(9)
        live.object_changed("ADDED", body(3))
        await asyncio.sleep(50)
        assert live.find(ONE) is None
        await asyncio.sleep(600)
        assert (live.known(ONE), live._alarms) == (None, {})

    played(passes, claim)
    assert (pauses(passes), passes.seen()) == ([100.0, 100.0], ["3", "9", "9"])


def test_an_object_that_is_parked_for_longer_is_asked_again_after_just_that_long_and_keeps_its_state() -> None:
    passes = Told(Park(10.0), Rest())
    passes.stay_s = [20.0, 30.0]

    async def claim(live: LiveObjects[Any]) -> None:
        passes.served = body(9)
        live.object_changed("ADDED", body(3))
        await asyncio.sleep(600)

    played(passes, claim)
    assert pauses(passes) == [60.0]
    assert passes.looked == [["u", "kept"]] * 3
    assert len(passes.states) == 1


@pytest.mark.parametrize("following", [Rest(100.0), Park(100.0)])
@pytest.mark.parametrize("is_told", [True, False])
def test_the_alarm_of_an_object_that_is_gone_never_rings(
    following: Next,
    is_told: bool,  # noqa: FBT001
) -> None:
    passes = Told(following)

    async def claim(live: LiveObjects[Any]) -> None:
        live.object_changed("ADDED", body(3))
        live.object_changed("ADDED", body(3, name="two"))
        await asyncio.sleep(50)
        if is_told:
            live.object_changed("DELETED", body(4))
        else:
            live.forget(lambda key: key == ONE)
        assert (set(live._alarms), set(live._parked) - {TWO}) == ({TWO}, set())
        await asyncio.sleep(60)
        assert len(passes.passes) == 3

    played(passes, claim)


def test_an_event_before_the_alarm_takes_its_place() -> None:
    passes = Told(Rest(100.0), Rest())

    async def claim(live: LiveObjects[Any]) -> None:
        live.object_changed("ADDED", body(3))
        await asyncio.sleep(50)
        live.object_changed("MODIFIED", body(4))
        await asyncio.sleep(200)

    played(passes, claim)
    assert passes.seen() == ["3", "4"]
    again = Told(Rest(100.0), Rest(100.0), Rest())
    again.served = body(9)
    played(again, claim)
    assert again.at_s() == [0.0, 50.0, 150.0]


def test_what_an_owner_wakes_has_a_pass_that_reads_it_and_one_that_is_worked_on_is_left_as_it_is() -> None:
    passes = Told(Rest(), Wait(None))

    async def claim(live: LiveObjects[Any]) -> None:
        passes.served = body(8)
        live.object_changed("ADDED", body(3))
        await asyncio.sleep(1)
        woken = live.wake(ONE)
        await asyncio.sleep(1)
        assert live.wake(ONE) is woken is live.find(ONE)

    played(passes, claim)
    assert passes.seen() == ["3", "8"]


def test_after_the_end_nothing_is_worked_on() -> None:
    passes = Told(Wait(5.0))

    async def claim(live: LiveObjects[Any]) -> None:
        live.object_changed("ADDED", body(3))
        await asyncio.sleep(12)
        await live.stop()
        count = len(passes.passes)
        await asyncio.sleep(60)
        assert len(passes.passes) == count == 3

    played(passes, claim)


# An object, and another of its name


@pytest.mark.parametrize("following", [Wait(None), Park(None), Wait(0.5)])
def test_an_object_made_anew_begins_with_a_state_of_its_own_though_nobody_told_that_the_former_is_gone(
    following: Next,
) -> None:
    passes = Told(following)

    async def claim(live: LiveObjects[Any]) -> None:
        live.object_changed("ADDED", body(3, uid="former"))
        await asyncio.sleep(1.2)
        former = live.known(ONE)
        live.object_changed("ADDED", body(9, uid="new"))
        now = live.find(ONE)
        assert now is not None
        assert now is not former
        assert now.state == ["new"]
        await asyncio.sleep(1.2)
        assert passes.states == [["former"], ["new"]]
        if isinstance(former, Live):
            assert former.task is not None
            assert former.task.cancelled()

    played(passes, claim)


def test_the_end_of_a_former_object_in_mid_pass_does_not_take_the_new_one_away() -> None:
    passes = Told(Rest(), takes_s=0.0)

    async def claim(live: LiveObjects[Any]) -> None:
        gate = asyncio.Event()

        async def slow(_key: Key, _live: Live[Any]) -> Next:
            try:
                await gate.wait()
            except asyncio.CancelledError:
                await gate.wait()  # as a request that is answered all the same
            return Rest()

        passes.do = slow  # type: ignore[method-assign]
        live.object_changed("ADDED", body(3, uid="former"))
        await asyncio.sleep(1)
        live.object_changed("ADDED", body(9, uid="new"))
        now = live.find(ONE)
        gate.set()
        gate = asyncio.Event()
        await asyncio.sleep(1)
        assert live.find(ONE) is now is not None
        gate.set()

    played(passes, claim)


@pytest.mark.parametrize("following", [Wait(None), Park(None), Rest(5_000.0)])
def test_a_deletion_that_is_told_late_takes_away_only_the_object_of_its_uid(following: Next) -> None:
    passes = Told(following)

    async def claim(live: LiveObjects[Any]) -> None:
        live.object_changed("ADDED", body(9, uid="new"))
        await asyncio.sleep(1)
        before = live.known(ONE)
        live.object_changed("DELETED", body(10, uid="former"))
        await asyncio.sleep(1)
        assert live.known(ONE) is before
        if isinstance(before, Live):
            assert before.task is not None
            assert not before.task.done()
        live.object_changed("DELETED", body(11, uid="new"))
        assert (live.known(ONE), live._alarms) == (None, {})

    played(passes, claim)


def test_the_orphaning_of_a_former_object_leaves_the_new_one_alone() -> None:
    passes = Told(Wait(None))

    async def claim(live: LiveObjects[Any]) -> None:
        live.object_changed("ADDED", body(9, uid="new"))
        await asyncio.sleep(1)
        orphaned = body(10, uid="former", deletionTimestamp="2026-11-28T00:00:00Z", finalizers=["orphan"])
        live.object_changed("MODIFIED", orphaned)
        assert live.find(ONE) is not None

    played(passes, claim)


def test_what_is_read_of_a_named_object_is_not_taken_for_it_if_it_was_made_anew() -> None:
    live: Live[None] = Live(None, None)
    assert live.fill(body(5, uid="new")) == body(5, uid="new")
    former: Live[None] = Live(body(3, uid="former"), None)
    former.offer(body(4, uid="former"))
    former.name_only()
    assert former.fill(body(5, uid="new")) is None
    assert former.body is None
    assert former.fill(None) is None


def test_what_is_read_counts_as_known_if_it_is_newer_and_what_an_event_has_brought_meanwhile_comes_first() -> None:
    live: Live[None] = Live(None, None)
    live.offer(body(4))
    live.name_only()
    assert live.fill(body(6)) == body(6)
    live.is_named = False
    live.offer(body(5))
    assert live.body == body(6)
    assert live.fill(body(7)) == body(6)
    older: Live[None] = Live(None, None)
    older.offer(body(4))
    older.name_only()
    older.fill(body(3))
    assert older.newest is not None
    assert older.newest.version == 4


@pytest.mark.parametrize(
    ("change", "is_edit"),
    [
        pytest.param(body(4), False, id="status"),
        pytest.param(body(4, generation=2), True, id="spec"),
        pytest.param(body(4, uid="other"), True, id="another object"),
        pytest.param(body(4, deletionTimestamp="2026-11-28T00:00:00Z"), True, id="deleted"),
        pytest.param(body(3, generation=2), False, id="known version"),
        pytest.param(body(2, generation=2), False, id="older version"),
    ],
)
def test_only_another_spec_another_object_and_a_deletion_ask_for_a_pass(
    change: dict[str, Any],
    is_edit: bool,  # noqa: FBT001
) -> None:
    async def play() -> tuple[bool, str]:
        live: Live[None] = Live(None, None)
        live.offer(body(3))
        live.dirty.clear()
        live.offer(change)
        assert live.body is not None
        return live.dirty.is_set(), live.body["metadata"]["resourceVersion"]

    is_newer = int(change["metadata"]["resourceVersion"]) > 3
    assert run_at_once(play()) == (is_edit, "4" if is_newer else "3")


# Versions that were known before the watch told of them


def test_an_object_at_rest_is_woken_by_its_deletion_and_by_what_is_newer_than_its_own_last_write() -> None:
    def write(live: Live[Any]) -> Next:
        live.offer(body(7))
        return Rest()

    passes = Told(write, Rest())

    async def claim(live: LiveObjects[Any]) -> None:
        live.object_changed("ADDED", body(3))
        await asyncio.sleep(1)
        assert live._untold == {ONE: 7}
        live.object_changed("MODIFIED", body(6))
        live.object_changed("DELETED", body(6))
        assert live._untold == {ONE: 7}
        live.object_changed("MODIFIED", body(8))
        assert live._untold == {}
        await asyncio.sleep(1)
        live.object_changed("MODIFIED", body(8, generation=2))
        await asyncio.sleep(1)

    played(passes, claim)
    assert passes.seen() == ["3", "8", "8"]


def test_what_is_known_of_an_object_that_is_gone_is_forgotten() -> None:
    def write(live: Live[Any]) -> Next:
        live.offer(body(7))
        return Rest()

    passes = Told(write, Rest())

    async def claim(live: LiveObjects[Any]) -> None:
        live.object_changed("ADDED", body(3))
        await asyncio.sleep(1)
        live.object_changed("DELETED", body(7))
        assert live._untold == {}
        live.object_changed("ADDED", body(3))
        await asyncio.sleep(1)
        live.forget(lambda _: True)
        assert live._untold == {}

    played(passes, claim)


def test_the_watch_that_has_told_of_the_last_write_by_the_end_of_the_pass_leaves_nothing_to_remember() -> None:
    def write(live: Live[Any]) -> Next:
        live.offer(body(7))
        return Rest()

    passes = Told(write, Rest(), takes_s=1.0)

    async def claim(live: LiveObjects[Any]) -> None:
        live.object_changed("ADDED", body(3))
        await asyncio.sleep(0.5)
        live.object_changed("MODIFIED", body(7))
        live.object_changed("MODIFIED", body(5))
        await asyncio.sleep(5)
        assert live._untold == {}

    played(passes, claim)


def test_a_parked_object_hears_of_its_own_deletion_only() -> None:
    passes = Told(Park(None))

    async def claim(live: LiveObjects[Any]) -> None:
        live.object_changed("ADDED", body(8))
        await asyncio.sleep(1)
        live.object_changed("MODIFIED", body(8, generation=2))
        live.object_changed("MODIFIED", body(7, generation=2))
        await asyncio.sleep(1)
        assert (passes.seen(), list(live._parked)) == (["8"], [ONE])
        live.object_changed("ADDED", body(5, uid="restored"))  # of a backup: versions begin anew
        await asyncio.sleep(1)
        assert passes.seen() == ["8", "5"]
        live.object_changed("DELETED", body(5, uid="restored"))
        assert live.known(ONE) is None

    played(passes, claim)


def test_objects_of_one_name_in_two_namespaces_are_two() -> None:
    passes = Told(Wait(None))

    async def claim(live: LiveObjects[Any]) -> None:
        elsewhere = body(4)
        elsewhere["metadata"]["namespace"] = "b"
        live.object_changed("ADDED", body(3))
        live.object_changed("ADDED", elsewhere)
        await asyncio.sleep(1)
        live.object_changed("DELETED", body(5))
        assert (live.find(ONE), live.find(("b", "one")) is not None) == (None, True)
        live.forget(lambda key: key == ONE)
        assert live.find(("b", "one")) is not None

    played(passes, claim)


def test_an_edit_during_a_pass_that_fails_or_parks_is_worked_on_next() -> None:
    passes = Told(Park(None), ApiError(500, "no"), Park(None), takes_s=1.0)

    async def claim(live: LiveObjects[Any]) -> None:
        passes.served = body(5, generation=3)
        live.object_changed("ADDED", body(3))
        await asyncio.sleep(0.5)
        live.object_changed("MODIFIED", body(4, generation=2))
        await asyncio.sleep(1.0)
        live.object_changed("MODIFIED", body(5, generation=3))
        await asyncio.sleep(100)

    played(passes, claim)
    assert passes.seen() == ["3", "4", "5"]


# What is stopped, and what nobody knows yet


@pytest.mark.parametrize("following", [Wait(None), Park(None), Park(100.0), Rest(100.0), Rest()])
def test_of_objects_that_are_gone_nothing_is_kept_wherever_they_were(following: Next) -> None:
    def write(live: Live[Any]) -> Next:
        live.offer(body(7))
        return following

    async def claim(live: LiveObjects[Any]) -> None:
        live.object_changed("ADDED", body(3))
        live.object_changed("ADDED", body(3, name="two"))
        await asyncio.sleep(1)
        before = live.find(ONE)
        live.forget(lambda key: key == ONE)
        live.forget(lambda _: False)
        everything = (live._live, live._parked, live._alarms, live._untold)
        assert [ONE in kept for kept in everything] == [False] * 4
        assert any(TWO in kept for kept in everything)
        if before is not None:
            assert before.task is not None
            await asyncio.sleep(0)
            assert before.task.cancelled()

    played(Told(write), claim)


def test_a_deletion_at_the_version_of_the_last_write_silences_the_alarm() -> None:
    def write(live: Live[Any]) -> Next:
        live.offer(body(7))
        return Rest(100.0)

    passes = Told(write)

    async def claim(live: LiveObjects[Any]) -> None:
        live.object_changed("ADDED", body(3))
        await asyncio.sleep(1)
        live.object_changed("DELETED", body(7))
        assert (live._alarms, live._untold) == ({}, {})

    played(passes, claim)
    assert len(passes.passes) == 1


def test_after_the_end_no_alarm_rings_and_no_task_is_left() -> None:
    passes = Told(Rest(100.0), Wait(None))

    async def claim(live: LiveObjects[Any]) -> None:
        live.object_changed("ADDED", body(3))
        await asyncio.sleep(1)
        live.object_changed("ADDED", body(3, name="two"))
        await asyncio.sleep(1)
        two = live.find(TWO)
        assert two is not None
        assert two.task is not None
        await live.stop()
        assert two.task.done()
        await asyncio.sleep(500)

    played(passes, claim)
    assert len(passes.passes) == 2


@pytest.mark.parametrize("event", ["MODIFIED", "DELETED"])
def test_an_event_of_an_object_that_was_woken_and_not_read_yet_is_taken_in(event: str) -> None:
    passes = Told(Wait(None))

    async def claim(live: LiveObjects[Any]) -> None:
        woken = live.wake(ONE)
        live.object_changed(event, body(4))
        assert live.find(ONE) is (woken if event == "MODIFIED" else None)

    played(passes, claim)


def test_a_parked_object_whose_status_was_told_is_not_woken_by_an_event_that_comes_too_late() -> None:
    passes = Told(Park(None))

    async def claim(live: LiveObjects[Any]) -> None:
        live.object_changed("ADDED", body(3))
        await asyncio.sleep(1)
        live.object_changed("MODIFIED", body(6))
        live.object_changed("MODIFIED", body(5, generation=2))
        await asyncio.sleep(1)

    played(passes, claim)
    assert passes.seen() == ["3"]


def test_changes_in_one_moment_are_handled_by_one_pass() -> None:
    passes = Told(Wait(None))

    async def claim(live: LiveObjects[Any]) -> None:
        live.object_changed("ADDED", body(3))
        await asyncio.sleep(1)
        for number in range(4):
            live.object_changed("MODIFIED", body(4 + number, generation=2 + number))
            await asyncio.sleep(0.01)
        await asyncio.sleep(1)

    played(passes, claim)
    assert passes.seen() == ["3", "7"]


def test_an_object_that_needs_neither_work_nor_requests_takes_no_turn() -> None:
    class AtOnce(Told):
        def at_once(self, live: Live[list[str]]) -> Next | None:
            return Park(10.0) if live.body is not None and live.body["metadata"]["name"] == "one" else None

    passes = AtOnce(Wait(None), takes_s=1_000)

    async def claim(live: LiveObjects[Any]) -> None:
        live.object_changed("ADDED", body(3, name="two"))
        await asyncio.sleep(1)
        live.object_changed("ADDED", body(3))
        await asyncio.sleep(1)
        assert (list(live._parked), list(live._alarms), len(passes.passes)) == ([ONE], [ONE], 1)

    played(passes, claim, at_once=1)


def test_what_was_edited_while_its_object_waited_for_its_turn_is_handled_by_the_one_pass_of_that_turn() -> None:
    passes = Told(Wait(None), takes_s=10.0)

    async def claim(live: LiveObjects[Any]) -> None:
        live.object_changed("ADDED", body(3, name="two"))
        await asyncio.sleep(1)
        passes.served = body(5, generation=2)
        live.object_changed("ADDED", body(4))
        await asyncio.sleep(1)
        live.object_changed("MODIFIED", passes.served)
        await asyncio.sleep(100)

    played(passes, claim, at_once=1)
    assert passes.seen() == ["3", "5"]


def test_an_object_that_had_to_be_read_once_keeps_what_the_watch_brings_from_then_on() -> None:
    passes = Told(Wait(None), takes_s=10.0)

    async def claim(live: LiveObjects[Any]) -> None:
        live.object_changed("ADDED", body(3, name="two"))
        await asyncio.sleep(1)
        passes.served = body(4)
        live.object_changed("ADDED", body(4))
        await asyncio.sleep(30)
        passes.served = None
        live.object_changed("MODIFIED", body(5, generation=2))
        await asyncio.sleep(30)

    played(passes, claim, at_once=1)
    assert passes.seen() == ["3", "4", "5"]


def test_an_object_that_waited_for_an_event_keeps_its_body_though_there_is_no_room_for_its_next_pass() -> None:
    passes = Told(Wait(None), takes_s=10.0)

    async def claim(live: LiveObjects[Any]) -> None:
        live.object_changed("ADDED", body(3))
        await asyncio.sleep(20)
        live.object_changed("ADDED", body(3, name="two"))
        await asyncio.sleep(1)
        live.object_changed("MODIFIED", body(4, generation=2))
        await asyncio.sleep(30)

    played(passes, claim, at_once=1)
    assert passes.seen() == ["3", "3", "4"]


def test_an_object_that_needs_no_work_comes_to_rest_though_it_was_woken_before() -> None:
    class AtOnce(Told):
        def at_once(self, _live: Live[list[str]]) -> Next | None:
            return Rest()

    async def claim(live: LiveObjects[Any]) -> None:
        live.wake(ONE).dirty.set()
        await asyncio.sleep(1)
        assert live.find(ONE) is None

    played(AtOnce(), claim)


def test_an_object_that_was_not_there_when_it_was_read_gets_the_later_pass_that_it_asked_for() -> None:
    passes = Told(Rest(60.0), Rest())

    async def claim(live: LiveObjects[Any]) -> None:
        live.wake(ONE)
        await asyncio.sleep(100)

    played(passes, claim)
    assert passes.seen() == ["none", "none"]


def test_a_finalizer_that_keeps_children_means_nothing_while_its_object_is_not_deleted() -> None:
    passes = Told(Wait(None))

    async def claim(live: LiveObjects[Any]) -> None:
        live.object_changed("ADDED", body(3, finalizers=["orphan"]))
        await asyncio.sleep(1)
        live.object_changed("MODIFIED", body(4, finalizers=["orphan"], deletionTimestamp="2026-11-28T00:00:00Z"))
        assert live.find(ONE) is None

    played(passes, claim)
    assert passes.seen() == ["3"]
