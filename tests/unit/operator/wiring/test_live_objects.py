"""What is known of an object at rest or parked, and how many objects are worked on at once."""

import asyncio
import gc
import weakref
from contextvars import ContextVar, copy_context
from typing import Any

import pytest
from sshload_operator.control.api_server.errors import ApiError
from sshload_operator.control.live.objects import Key, Live, LiveObjects, Next, Park, Reconciler, Rest, Wait
from until import until


def body(
    version: int, generation: int = 1, name: str = "one", uid: str = "u", namespace: str = "a", **more: Any
) -> dict[str, Any]:
    metadata = {"namespace": namespace, "name": name, "uid": uid, "generation": generation, **more}
    return {"metadata": {**metadata, "resourceVersion": str(version)}}


async def settled(live: LiveObjects[Any]) -> None:
    """Wait until the object is at rest, parked, or gone."""
    await until(lambda: live.find(("a", "one")) is None)


class Writing(Reconciler[None]):
    """Writes the object once, and then has nothing more to do."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def first_state(self, _body: Any) -> None:
        return None

    async def do(self, _key: Key, live: Live[None]) -> Next:
        assert live.body is not None
        self.seen.append(live.body["metadata"]["resourceVersion"])
        live.offer(body(7))
        return Rest()


def passes_over(*versions: int) -> list[str]:
    """Return the versions that passes saw, when the watch told of these one after the other."""

    async def play() -> list[str]:
        passes = Writing()
        live = LiveObjects(passes, lambda: None)
        for version in versions:
            live.object_changed("MODIFIED", body(version))
            await settled(live)
        await live.stop()
        return passes.seen

    return asyncio.run(play())


def test_a_watch_that_is_behind_our_own_write_wakes_nothing_that_rests() -> None:
    assert passes_over(3, 5, 6) == ["3"]


def test_the_event_of_our_own_write_wakes_nothing_that_rests_and_a_newer_one_does() -> None:
    assert passes_over(3, 7, 8) == ["3", "8"]


class Counting(Reconciler[None]):
    """Counts how many passes are under way at most, until so many are done."""

    def __init__(self, until: int) -> None:
        self.most = self._now = 0
        self._left = until
        self.all_done = asyncio.Event()

    def first_state(self, _body: Any) -> None:
        return None

    async def do(self, _key: Key, _live: Live[None]) -> Next:
        self._now += 1
        self.most = max(self.most, self._now)
        await asyncio.sleep(0.01)
        self._now -= 1
        self._left -= 1
        if not self._left:
            self.all_done.set()
        return Rest()


def test_of_many_objects_each_gets_its_turn_and_few_are_worked_on_at_once() -> None:
    many = 200

    async def play() -> int:
        passes = Counting(until=many)
        live = LiveObjects(passes, lambda: None)
        for number in range(many):
            live.object_changed("ADDED", body(3, name=f"{number}"))
        await passes.all_done.wait()
        await live.stop()
        return passes.most

    assert asyncio.run(play()) < many / 4


class Noting(Reconciler[None]):
    """Notes whose objects it passes over."""

    def __init__(self) -> None:
        self.namespaces: list[str] = []

    def first_state(self, _body: Any) -> None:
        return None

    async def do(self, key: Key, _live: Live[None]) -> Next:
        self.namespaces.append(key[0])
        await asyncio.sleep(0.01)
        return Rest()


def test_an_object_waits_for_those_of_its_namespace_and_for_few_of_another_one_that_has_hundreds() -> None:
    async def play() -> list[str]:
        passes = Noting()
        live = LiveObjects(passes, lambda: None)
        for number in range(500):
            live.object_changed("ADDED", body(3, name=f"{number}"))
        await until(lambda: len(passes.namespaces) > 32)
        live.object_changed("ADDED", body(3, namespace="b"))
        came = len(passes.namespaces)
        await until(lambda: "b" in passes.namespaces)
        await live.stop()
        return passes.namespaces[came:]

    assert asyncio.run(play()).index("b") <= 64


class Blocked(Reconciler[None]):
    """Notes whether a pass has a body; each pass ends when it is told to."""

    def __init__(self) -> None:
        self.had_body: list[bool] = []
        self.may_end = asyncio.Event()

    def first_state(self, _body: Any) -> None:
        return None

    async def do(self, _key: Key, live: Live[None]) -> Next:
        self.had_body.append(live.body is not None)
        await self.may_end.wait()
        return Rest()


def test_an_object_that_waits_for_its_turn_is_only_named_and_an_edit_meanwhile_keeps_no_body_either() -> None:
    many, at_once = 40, 32

    async def play() -> list[bool]:
        passes = Blocked()
        live = LiveObjects(passes, lambda: None)
        for number in range(many):
            live.object_changed("ADDED", body(3, name=f"{number}"))
        await asyncio.sleep(0)
        live.object_changed("MODIFIED", body(4, generation=2, name=f"{many - 1}"))
        waiting = [live.find(("a", f"{number}")) for number in range(at_once, many)]
        assert [found is not None and found.body is None for found in waiting] == [True] * (many - at_once)
        passes.may_end.set()
        await until(lambda: len(passes.had_body) == many)
        await live.stop()
        return passes.had_body

    assert asyncio.run(play()) == [True] * at_once + [False] * (many - at_once)


def test_an_object_that_was_edited_in_mid_pass_is_only_named_while_it_waits_for_its_next_turn() -> None:
    async def play() -> list[bool]:
        passes = Blocked()
        live = LiveObjects(passes, lambda: None, at_once=1)
        live.object_changed("ADDED", body(3))
        await until(lambda: len(passes.had_body) == 1)
        live.object_changed("ADDED", body(3, name="two"))
        live.object_changed("MODIFIED", body(4, generation=2))
        await asyncio.sleep(0)
        gate, passes.may_end = passes.may_end, asyncio.Event()
        gate.set()
        await until(lambda: len(passes.had_body) == 2)
        found = live.find(("a", "one"))
        assert found is not None
        await until(lambda: found.body is None)
        passes.may_end.set()
        await until(lambda: len(passes.had_body) == 3)
        await live.stop()
        return passes.had_body

    assert asyncio.run(play()) == [True, False, False]


class Failing(Reconciler[None]):
    """Fails."""

    def first_state(self, _body: Any) -> None:
        return None

    async def do(self, _key: Key, _live: Live[None]) -> Next:
        raise ApiError(500, "no")


def test_an_object_whose_pass_failed_is_only_named_until_its_next_pass() -> None:
    async def play() -> None:
        failed: list[None] = []
        live = LiveObjects(Failing(), lambda: failed.append(None))
        live.object_changed("ADDED", body(3))
        await until(lambda: bool(failed))
        live.object_changed("MODIFIED", body(4))
        found = live.find(("a", "one"))
        assert found is not None
        assert found.body is None
        await live.stop()

    asyncio.run(play())


class Parking(Reconciler[list[str]]):
    """Parks the object. It keeps the passes done; `answers` are the answers to their writes."""

    def __init__(self, wake_after_s: float | None = None, stay_s: tuple[float, ...] = ()) -> None:
        self.answers: list[dict[str, Any]] = []
        self.served = body(100)
        self.looks = 0
        self.states: list[list[str]] = []
        self._wake_after_s = wake_after_s
        self._stay_s = list(stay_s)

    def first_state(self, _body: Any) -> list[str]:
        self.states.append([])
        return self.states[-1]

    def stay_parked_s(self, _key: Key, _state: list[str]) -> float | None:
        self.looks += 1
        return self._stay_s.pop(0) if self._stay_s else None

    async def do(self, _key: Key, live: Live[list[str]]) -> Next:
        origin = "read" if live.body is None else "told"
        found = live.body or live.fill(self.served)
        if found is None:
            live.state.append("gone")
            return Rest()
        live.state.append(f"{origin} {found['metadata']['resourceVersion']}")
        await asyncio.sleep(0.02)
        if self.answers:
            live.offer(self.answers.pop(0))
        return Park(self._wake_after_s if len(live.state) == 1 else None)


def parked_over(passes: Parking, *events: tuple[str, dict[str, Any]]) -> list[list[str]]:
    """Park an object, and return what was kept of it, and of others of its name, after these events."""

    async def play() -> None:
        live = LiveObjects(passes, lambda: None)
        live.object_changed("ADDED", body(3))
        await settled(live)
        for event in events:
            live.object_changed(*event)
            await settled(live)
        await live.stop()

    asyncio.run(play())
    return passes.states


def test_a_parked_object_is_woken_by_an_edit_of_its_spec_and_by_no_other_change() -> None:
    changes = [("MODIFIED", body(4)), ("MODIFIED", body(5)), ("MODIFIED", body(6, generation=2))]
    assert parked_over(Parking(), *changes) == [["told 3", "told 6"]]


def test_a_parked_object_is_not_woken_by_what_is_older_than_the_answer_to_its_own_write() -> None:
    passes = Parking()
    passes.answers = [body(7, generation=1)]
    assert parked_over(passes, ("MODIFIED", body(6, generation=1)), ("MODIFIED", body(7))) == [["told 3"]]


def test_an_edit_that_the_answer_to_the_own_write_shows_first_is_worked_on_before_the_object_is_parked() -> None:
    passes = Parking()
    passes.answers = [body(7, generation=2)]
    assert parked_over(passes, ("MODIFIED", body(6, generation=2))) == [["told 3", "told 7"]]


def test_an_edit_in_mid_pass_is_worked_on_before_the_object_is_parked() -> None:
    async def play() -> list[list[str]]:
        passes = Parking()
        live = LiveObjects(passes, lambda: None)
        live.object_changed("ADDED", body(3))
        await asyncio.sleep(0.01)
        live.object_changed("MODIFIED", body(5, generation=2))
        await settled(live)
        await live.stop()
        return passes.states

    assert asyncio.run(play()) == [["told 3", "told 5"]]


def test_another_object_of_the_name_of_a_parked_one_is_seen_for_the_first_time() -> None:
    other = body(9)
    other["metadata"]["uid"] = "other"
    assert parked_over(Parking(), ("ADDED", other)) == [["told 3"], ["told 9"]]


def test_a_parked_object_that_is_deleted_is_forgotten_with_its_alarm() -> None:
    passes = Parking(wake_after_s=3_600.0)

    async def play() -> None:
        loop = asyncio.get_running_loop()
        real_time = loop.time
        live = LiveObjects(passes, lambda: None)
        for key in ("one", "two"):
            live.object_changed("ADDED", body(3, name=key))
        await settled(live)
        live.object_changed("DELETED", body(4))
        live.forget(lambda key: key == ("a", "two"))
        assert [live.known(("a", "one")), live.known(("a", "two"))] == [None, None]
        loop.time = lambda: real_time() + 7_200.0  # type: ignore[method-assign]
        for _ in range(10):
            await asyncio.sleep(0)
        await live.stop()

    asyncio.run(play())
    assert (passes.states, passes.looks) == ([["told 3"], ["told 3"]], 0)


def rung(passes: Parking) -> tuple[list[list[str]], int]:
    """Park an object until its alarm asks for a pass; return what was kept of it, and how often it was looked at."""

    async def play() -> None:
        live = LiveObjects(passes, lambda: None)
        live.object_changed("ADDED", body(3))
        await until(lambda: len(passes.states[0]) > 1)
        await settled(live)
        await live.stop()

    asyncio.run(play())
    return passes.states, passes.looks


def test_a_parked_object_is_read_for_its_next_pass_once_its_kind_says_that_it_needs_one() -> None:
    assert rung(Parking(wake_after_s=0.01, stay_s=(0.01, 0.01))) == ([["told 3", "read 100"]], 3)


def test_an_object_that_was_made_anew_while_it_was_parked_is_taken_for_gone_until_the_watch_tells_of_it() -> None:
    passes = Parking(wake_after_s=0.01)
    passes.served["metadata"]["uid"] = "other"
    assert rung(passes) == ([["told 3", "gone"]], 1)


EVENT: ContextVar[object] = ContextVar("event")


class Event:
    """What a handler of an event has in its context: as with kopf, the body."""


def heard(live: LiveObjects[Any]) -> "weakref.ref[Event]":
    """Tell of an object in the context of an event, and return that event."""

    def hear(event: Event) -> None:
        EVENT.set(event)
        live.object_changed("ADDED", body(3))

    event = Event()
    copy_context().run(hear, event)
    return weakref.ref(event)


@pytest.mark.parametrize("passes", [Blocked(), Parking(wake_after_s=60.0)], ids=["in a pass", "parked with an alarm"])
def test_an_event_is_not_kept_as_long_as_the_object_is_worked_on_or_parked(passes: Reconciler[Any]) -> None:
    async def play() -> Event | None:
        live = LiveObjects(passes, lambda: None)
        event = heard(live)
        found = live.known(("a", "one"))
        await until(lambda: isinstance(passes, Blocked) or live.known(("a", "one")) is not found)
        await asyncio.sleep(0.01)
        assert live.known(("a", "one")) is not None
        gc.collect()
        kept = event()
        await live.stop()
        return kept

    assert asyncio.run(play()) is None


class Waits(Reconciler[None]):
    """Waits, with the body."""

    def first_state(self, _body: Any) -> None:
        return None

    async def do(self, _key: Key, _live: Live[None]) -> Next:
        return Wait(None)


def test_an_object_that_waits_keeps_its_newest_body() -> None:
    async def play() -> str:
        live = LiveObjects(Waits(), lambda: None)
        live.object_changed("ADDED", body(3))
        await asyncio.sleep(0.01)
        live.object_changed("MODIFIED", body(4))
        found = live.find(("a", "one"))
        assert found is not None
        assert found.body is not None
        await live.stop()
        return str(found.body["metadata"]["resourceVersion"])

    assert asyncio.run(play()) == "4"


def test_the_late_deletion_of_a_former_object_of_the_name_does_nothing_to_the_one_that_is_worked_on() -> None:
    async def play() -> list[bool]:
        passes = Blocked()
        live = LiveObjects(passes, lambda: None)
        live.object_changed("ADDED", body(5))
        await until(lambda: bool(passes.had_body))
        found = live.find(("a", "one"))
        live.object_changed("DELETED", body(6, uid="former"))
        assert found is not None
        assert found.task is not None
        kept = [live.find(("a", "one")) is found, not found.task.cancelling()]
        live.object_changed("DELETED", body(7))
        kept += [live.find(("a", "one")) is None, bool(found.task.cancelling())]
        await live.stop()
        return kept

    assert asyncio.run(play()) == [True] * 4


def test_the_late_deletion_of_a_former_object_of_the_name_leaves_a_parked_one_parked() -> None:
    edited = body(7, generation=2)
    assert parked_over(Parking(), ("DELETED", body(6, uid="former")), ("MODIFIED", edited)) == [["told 3", "told 7"]]


@pytest.mark.parametrize(
    ("finalizers", "is_kept"),
    [
        pytest.param(["foreground"], True, id="its children go first"),
        pytest.param(["example.com/hold"], True, id="somebody's"),
        pytest.param([], True, id="none"),
        pytest.param(["example.com/hold", "orphan"], False, id="its children stay"),
    ],
)
def test_an_object_that_is_being_deleted_is_worked_on_unless_its_children_stay(
    finalizers: list[str],
    is_kept: bool,  # noqa: FBT001
) -> None:
    async def play() -> bool:
        live = LiveObjects(Waits(), lambda: None)
        live.object_changed("ADDED", body(3))
        deleted = body(4, generation=2, deletionTimestamp="2026-11-28T00:00:00Z", finalizers=finalizers)
        live.object_changed("MODIFIED", deleted)
        found = live.find(("a", "one")) is not None
        await live.stop()
        return found

    assert asyncio.run(play()) is is_kept
