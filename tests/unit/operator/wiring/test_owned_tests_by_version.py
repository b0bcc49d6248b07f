"""What an owner knows of its tests: by name and version, of those whose controller it is, whatever comes late."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sshload_operator.control.live.objects import Key
from sshload_operator.control.live.owned_tests import LONGEST_SLEEP_S, OwnedTests, is_controlled_by

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)


def a_test(version: int, fact: str = "", name: str = "one") -> dict[str, Any]:
    return {"metadata": {"namespace": "ns", "name": name, "resourceVersion": str(version)}, "fact": fact}


def fact_of(test: Mapping[str, Any]) -> Any:
    return test["fact"]


def owned() -> tuple[OwnedTests[Any], list[Key]]:
    begun: list[Key] = []
    return OwnedTests(begin=begun.append), begun


def test_a_newer_version_is_news_only_if_its_facts_differ_and_an_older_one_never() -> None:
    tests, _ = owned()
    told = [tests.put(a_test(version, fact), fact_of) for version, fact in ((5, "a"), (6, "a"), (7, "b"), (7, "c"))]
    assert (told, tests.facts, tests.versions) == ([True, False, True, False], {"one": "b"}, {"one": 7})
    assert not tests.put(a_test(6, "d"), fact_of)
    assert tests.facts == {"one": "b"}


def test_work_begins_on_a_test_that_was_made_whatever_was_heard_of_it() -> None:
    tests, begun = owned()
    tests.made(a_test(5, "a"), fact_of)
    tests.made(a_test(5, "a"), fact_of)
    assert (begun, tests.facts) == ([("ns", "one")] * 2, {"one": "a"})


def test_an_event_older_than_a_list_changes_nothing_and_a_deletion_that_is_as_new_does() -> None:
    tests, _ = owned()
    tests.put(a_test(7, "a"), fact_of)
    assert not tests.changed("MODIFIED", a_test(6, "b"), fact_of)
    assert not tests.changed("DELETED", a_test(6, "a"), fact_of)
    assert (tests.facts, tests.told) == ({"one": "a"}, set())
    assert tests.changed("MODIFIED", a_test(8, "b"), fact_of)
    assert tests.changed("DELETED", a_test(8, "b"), fact_of)
    assert not tests.changed("DELETED", a_test(9, "b"), fact_of)
    assert tests.facts == {}


def test_a_test_that_was_deleted_is_not_brought_back_by_an_event_that_comes_late() -> None:
    tests, _ = owned()
    tests.changed("ADDED", a_test(5, "a"), fact_of)
    tests.changed("DELETED", a_test(9, "a"), fact_of)
    assert not tests.changed("MODIFIED", a_test(8, "b"), fact_of)
    assert tests.facts == {}
    assert tests.changed("ADDED", a_test(12, "another of the name"), fact_of)


def test_a_list_forgets_what_it_does_not_name_but_not_what_the_watch_has_told_since() -> None:
    tests, _ = owned()
    for name in ("gone", "listed"):
        tests.put(a_test(5, name, name), fact_of)
    tests.changed("ADDED", a_test(6, "told", "told"), fact_of)
    tests.listed(["listed"])
    assert (set(tests.facts), set(tests.versions)) == ({"listed", "told"}, {"listed", "told"})
    assert [tests.drop(name) for name in ("told", "told")] == [True, False]
    assert set(tests.versions) == {"listed"}


def test_a_deletion_is_forgotten_by_the_list_after_it() -> None:
    tests, _ = owned()
    tests.put(a_test(5, "a"), fact_of)
    tests.changed("DELETED", a_test(6), fact_of)
    tests.told.clear()
    tests.listed([])
    assert tests.versions == {}


@pytest.mark.parametrize(
    ("after_s", "sleeps_s"),
    [(None, None), (10.0, 10.0), (LONGEST_SLEEP_S, LONGEST_SLEEP_S), (3_600.0, LONGEST_SLEEP_S)],
)
def test_an_owner_sleeps_for_a_minute_at_most_and_remembers_when_it_is_due(
    after_s: float | None, sleeps_s: float | None
) -> None:
    tests, _ = owned()
    tests.due_at = NOON
    assert tests.park(after_s, NOON).wake_after_s == sleeps_s
    assert tests.due_at == (None if after_s is None else NOON + timedelta(seconds=after_s))


def test_an_announcement_is_news_once_until_many_others_have_come_and_about_each_thing_by_itself() -> None:
    tests, _ = owned()
    about: Any = "about"
    assert [tests.is_news(about, text) for text in ("a", "a", "b")] == [True, False, True]  # type: ignore[arg-type]
    other: Any = "something else"
    said: Any = "a"
    assert tests.is_news(other, said)
    for number in range(100):
        text: Any = f"{number}"
        assert tests.is_news(about, text)
    assert tests.is_news(about, said)
    assert len(tests.announced) < 100


@pytest.mark.parametrize(
    ("references", "is_mine"),
    [
        pytest.param([{"uid": "u", "controller": True}], True, id="its controller"),
        pytest.param([{"uid": "former", "controller": True}], False, id="a former owner of the name"),
        pytest.param([{"uid": "u"}], False, id="an owner that is no controller"),
        pytest.param(
            [{"uid": "u", "controller": False}, {"uid": "x", "controller": True}], False, id="another controls"
        ),
        pytest.param([{"uid": "x"}, {"uid": "u", "controller": True}], True, id="the second reference"),
        pytest.param([], False, id="nobodys"),
    ],
)
def test_a_test_is_its_controllers_by_uid(references: list[dict[str, Any]], is_mine: bool) -> None:  # noqa: FBT001
    assert is_controlled_by({"metadata": {"ownerReferences": references}}, "u") is is_mine
    assert not is_controlled_by({"metadata": {}}, "u")
