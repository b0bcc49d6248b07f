"""Which test begins next where only so many may run at once."""

from datetime import UTC, datetime, timedelta

from sshload_operator.decision.turns import Waiting, next_look_at_queue_s
from sshload_operator.decision.turns import positions as all_positions
from sshload_operator.planning.installation import Limits

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)


def a_test(namespace: str, age_s: int) -> Waiting:
    return Waiting(NOON - timedelta(seconds=age_s), namespace, f"{namespace}-{age_s}")


def positions(waiting: list[Waiting], running: dict[str, int], limits: Limits) -> dict[str, int]:
    return {one.name: found for one, found in all_positions(waiting, running, limits).items()}


def test_without_limits_nobody_waits() -> None:
    assert set(positions([a_test("a", 3), a_test("a", 2), a_test("b", 1)], {"a": 1_000}, Limits()).values()) == {0}


def test_a_namespace_that_is_full_holds_up_no_other() -> None:
    found = positions([a_test("a", 3), a_test("a", 2), a_test("b", 1)], {"a": 2}, Limits(tests_per_namespace=2))
    assert found == {"a-3": 1, "a-2": 2, "b-1": 0}


def test_turns_go_round_between_namespaces_and_within_one_by_age() -> None:
    waiting = [a_test("a", age) for age in (9, 8, 7)] + [a_test("b", 1)]
    assert positions(waiting, {"c": 1}, Limits(tests=1)) == {"a-9": 1, "b-1": 2, "a-8": 3, "a-7": 4}


def test_a_namespace_whose_tests_run_already_comes_later() -> None:
    assert positions([a_test("a", 9), a_test("b", 1)], {"a": 1}, Limits(tests=2)) == {"b-1": 0, "a-9": 1}


def test_only_as_many_begin_as_there_is_room_for() -> None:
    found = positions([a_test("a", 3), a_test("a", 2), a_test("a", 1)], {}, Limits(tests=2))
    assert found == {"a-3": 0, "a-2": 0, "a-1": 1}


def test_a_namespace_whose_statuses_claim_more_than_may_run_there_takes_no_room_of_others() -> None:
    limits = Limits(tests_per_namespace=2, tests=5)
    found = positions([a_test("a", 9), a_test("b", 1), a_test("c", 2), a_test("d", 3)], {"a": 1_000, "b": 1}, limits)
    assert found == {"a-9": 2, "b-1": 1, "c-2": 0, "d-3": 0}


def test_those_that_begin_together_count_in_their_namespace() -> None:
    found = positions([a_test("a", 3), a_test("a", 2), a_test("a", 1)], {}, Limits(tests_per_namespace=2))
    assert found == {"a-3": 0, "a-2": 0, "a-1": 1}


def test_the_second_of_a_namespace_is_as_far_as_the_first_of_one_where_a_test_runs_and_goes_by_age() -> None:
    waiting = [a_test("a", 9), a_test("a", 8), a_test("b", 1)]
    assert positions(waiting, {"b": 1}, Limits(tests=1)) == {"a-9": 1, "a-8": 2, "b-1": 3}


def test_the_queue_is_looked_at_later_from_further_back_and_at_least_each_minute() -> None:
    assert [next_look_at_queue_s(position) for position in (1, 20, 10_000)] == [1.05, 2.0, 60.0]
