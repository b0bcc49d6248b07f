"""Room for runs: who is given it, and that nobody keeps what he does not use."""

from typing import Any

import pytest
from sshload_operator.control.live import room as room_module
from sshload_operator.control.live.room import Room
from sshload_operator.decision.turns import next_look_at_queue_s
from sshload_operator.planning.installation import Limits

ONE = Limits(tests=1)


@pytest.fixture(autouse=True)
def _has_heard_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room_module, "_HEARD_OF_ALL_S", 0.0)


def a_test(name: str, phase: str = "", age_s: int = 0, uid: str = "u") -> dict[str, Any]:
    created = f"2026-11-22T12:00:{59 - age_s:02}Z"
    metadata = {"namespace": "team", "name": name, "uid": uid, "creationTimestamp": created}
    return {"metadata": metadata, "status": {"phase": phase} if phase else {}}


def test_a_test_that_ended_without_a_run_keeps_no_place_in_the_queue() -> None:
    room = Room(ONE)
    assert room.ask(a_test("first", age_s=9)) == 0
    assert room.ask(a_test("refused", age_s=8)) == 1
    assert room.ask(a_test("last", age_s=7)) == 2
    room.end_of_pass(a_test("refused", "Finished"))
    assert room.ask(a_test("last", age_s=7)) == 1
    room.end_of_pass(a_test("first", "Finished"))
    assert room.ask(a_test("last", age_s=7)) == 0


def test_an_event_of_an_older_version_takes_no_room_away_from_a_pass_that_goes_on() -> None:
    room = Room(ONE)
    assert room.ask(a_test("begins")) == 0
    room.seen(a_test("begins"))
    room.seen(a_test("begins", "Pending"))
    assert room.ask(a_test("other")) == 1


def test_a_test_whose_run_is_told_while_its_pass_goes_on_takes_room_once() -> None:
    room = Room(Limits(tests=2))
    assert room.ask(a_test("begins")) == 0
    room.changed("MODIFIED", a_test("begins", "Running"))
    assert room.ask(a_test("other")) == 0
    assert room.ask(a_test("third")) == 1


def test_room_that_a_pass_did_not_use_is_free_again() -> None:
    room = Room(ONE)
    assert room.ask(a_test("begins")) == 0
    room.end_of_pass(a_test("begins", "Finished"))
    assert room.ask(a_test("other")) == 0


def test_a_test_whose_pass_failed_may_ask_again() -> None:
    room = Room(ONE)
    assert room.ask(a_test("begins")) == 0
    assert room.ask(a_test("begins")) == 0


def test_a_deleted_test_leaves_its_room_to_the_next() -> None:
    room = Room(ONE)
    room.seen(a_test("runs", "Running"))
    assert room.ask(a_test("waits")) == 1
    room.leave(("team", "runs"))
    assert room.ask(a_test("waits")) == 0


def test_a_test_that_was_made_anew_under_its_name_is_as_old_as_it_is() -> None:
    room = Room(ONE)
    room.seen(a_test("runs", "Running"))
    assert room.ask(a_test("again", age_s=30)) == 1
    assert room.ask(a_test("other", age_s=20)) == 2
    assert room.ask(a_test("again", age_s=10, uid="of another")) == 2
    assert room.ask(a_test("other", age_s=20)) == 1


def being_deleted(test: dict[str, Any]) -> dict[str, Any]:
    return {**test, "metadata": {**test["metadata"], "deletionTimestamp": "2026-11-22T12:01:00Z"}}


def test_a_test_that_a_finalizer_keeps_while_its_load_runs_on_keeps_its_room() -> None:
    room = Room(ONE)
    room.changed("MODIFIED", a_test("runs", "Running"))
    room.changed("MODIFIED", being_deleted(a_test("runs", "Running")))
    assert room.ask(a_test("waits")) == 1
    room.changed("DELETED", being_deleted(a_test("runs", "Running")))
    assert room.ask(a_test("waits")) == 0


def test_a_test_that_is_being_deleted_in_its_first_pass_keeps_the_room_that_it_was_given() -> None:
    room = Room(ONE)
    assert room.ask(a_test("begins")) == 0
    room.changed("MODIFIED", being_deleted(a_test("begins")))
    assert room.ask(a_test("waits")) == 1
    room.changed("DELETED", being_deleted(a_test("begins")))
    assert room.ask(a_test("waits")) == 0


@pytest.mark.parametrize("is_told_to_run", [False, True])
def test_the_deletion_of_a_former_test_that_is_told_late_takes_no_room_from_the_new_one(
    *, is_told_to_run: bool
) -> None:
    room = Room(ONE)
    room.changed("MODIFIED", a_test("again", "Running", uid="former"))
    room.changed("MODIFIED", a_test("again", "Finished", uid="former"))
    assert room.ask(a_test("again", uid="new")) == 0
    if is_told_to_run:
        room.end_of_pass(a_test("again", "Running", uid="new"))
    room.changed("DELETED", a_test("again", "Finished", uid="former"))
    assert room.ask(a_test("waits")) == 1
    room.changed("DELETED", a_test("again", "Finished", uid="new"))
    assert room.ask(a_test("waits")) == 0


def test_a_test_that_is_being_deleted_while_it_waits_leaves_the_queue() -> None:
    room = Room(ONE)
    assert room.ask(a_test("runs", age_s=9)) == 0
    assert room.ask(a_test("leaves", age_s=8)) == 1
    room.changed("MODIFIED", being_deleted(a_test("leaves")))
    assert room.ask(a_test("waits", age_s=7)) == 1


def test_an_operator_that_was_started_just_now_gives_no_room_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room_module, "_HEARD_OF_ALL_S", 3600.0)
    assert Room(ONE).ask(a_test("early")) == 1
    assert Room(Limits()).ask(a_test("early")) == 0


WAITS = ("team", "waits")


def test_a_test_whose_place_in_the_queue_is_unchanged_waits_on_without_asking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room_module, "_PLACE_KEEPS_S", 0.0)
    room = Room(ONE)
    room.seen(a_test("runs", "Running"))
    assert room.ask(a_test("waits")) == 1
    assert room.stay_queued_s(WAITS) == next_look_at_queue_s(1)


def test_a_test_asks_where_it_may_begin_at_once_and_where_its_place_changed_once_it_has_known_the_old_one_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    room = Room(ONE)
    room.seen(a_test("runs", "Running"))
    assert room.ask(a_test("first", age_s=9)) == 1
    assert room.ask(a_test("waits")) == 2
    room.leave(("team", "first"))
    assert room.stay_queued_s(WAITS) == next_look_at_queue_s(1)
    monkeypatch.setattr(room_module, "_PLACE_KEEPS_S", 0.0)
    assert room.stay_queued_s(WAITS) is None
    monkeypatch.setattr(room_module, "_PLACE_KEEPS_S", 3600.0)
    room.leave(("team", "runs"))
    assert room.stay_queued_s(WAITS) is None


def test_a_test_that_waits_no_more_as_far_as_is_known_has_to_ask() -> None:
    room = Room(ONE)
    room.seen(a_test("runs", "Running"))
    assert room.stay_queued_s(WAITS) is None
    assert room.ask(a_test("waits")) == 1
    room.changed("MODIFIED", a_test("waits", "Collecting"))  # a status that somebody else wrote
    assert room.stay_queued_s(WAITS) is None


def test_a_test_that_was_held_off_by_a_start_just_now_asks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room_module, "_HEARD_OF_ALL_S", 3600.0)
    room = Room(ONE)
    assert room.ask(a_test("waits")) == 1
    assert room.stay_queued_s(WAITS) is None


@pytest.mark.parametrize("phase", ["Running", ""])
def test_tests_that_are_gone_leave_their_room_and_their_places_wherever_they_were(phase: str) -> None:
    room = Room(Limits(tests=1))
    if phase:
        room.seen(a_test("first", phase))
    else:
        assert room.ask(a_test("first", age_s=9)) == 0
    assert [room.ask(a_test(name, age_s=8)) for name in ("second", "third")] == [1, 2]
    room.forget(lambda key: key == ("team", "second"))
    assert room.ask(a_test("third", age_s=8)) == 1
    room.forget(lambda key: key == ("team", "first"))
    assert room.ask(a_test("third", age_s=8)) == 0


def test_room_is_counted_for_each_namespace_by_itself_and_for_all_together() -> None:
    def of(namespace: str, name: str) -> dict[str, Any]:
        test = a_test(name)
        return {**test, "metadata": {**test["metadata"], "namespace": namespace}}

    room = Room(Limits(tests=3, tests_per_namespace=1))
    assert [room.ask(of(namespace, name)) for namespace, name in (("a", "1"), ("a", "2"), ("b", "1"))] == [0, 1, 0]
    room.leave(("a", "1"))
    assert room.ask(of("a", "2")) == 0
    assert [room.ask(of("c", "1")), room.ask(of("d", "1"))] == [0, 1]


def test_a_test_that_runs_now_makes_the_places_of_others_be_told_anew() -> None:
    room = Room(ONE)
    room.seen(a_test("runs", "Running"))
    assert [room.ask(a_test(name, age_s=9)) for name in ("first", "second")] == [1, 2]
    room.seen(a_test("runs", "Finished"))
    assert room.ask(a_test("second", age_s=9)) == 1
    assert room.ask(a_test("first", age_s=9)) == 0


def test_a_limit_of_each_namespace_alone_is_a_limit() -> None:
    room = Room(Limits(tests_per_namespace=1))
    assert [room.ask(a_test("first")), room.ask(a_test("second"))] == [0, 1]


def test_room_that_is_free_again_is_told_to_one_that_has_asked_before() -> None:
    room = Room(ONE)
    assert [room.ask(a_test("begins")), room.ask(a_test("waits"))] == [0, 1]
    room.end_of_pass(a_test("begins"))
    assert room.stay_queued_s(WAITS) is None
    assert room.ask(a_test("waits")) == 0
