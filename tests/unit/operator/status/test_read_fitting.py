"""A status is read as far as it fits its declaration, whoever wrote it; what is written is read back the same."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from passes import Passes
from runs import pod, summary
from schedules import quick
from searches import failed, passed, searched
from sim_comparison import SimComparison, measured
from specs.search import SEARCHES
from sshload_operator.api.shapes.reading import read_fitting
from sshload_operator.api.status.comparison import ComparisonStatus
from sshload_operator.api.status.head import ObjectStatus, written
from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.api.status.results import MOST_STEPS
from sshload_operator.api.status.schedule import ScheduleStatus
from sshload_operator.state import Role
from statuses import RESULTS, step_json

PODS = tuple(pod(role) for role in (Role.TARGET, Role.MASTER, Role.WORKER))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


def of_test() -> Any:
    passes = Passes()
    passes.run()
    passes.run(*PODS, summary=summary(590, 10))
    return passes.status


def of_search() -> Any:
    passes = Passes(spec=SEARCHES["search-arrivals"])
    passes.run()
    passes.run(*PODS, summary=searched(passed(10), failed(140), lower=10, upper=140))
    return passes.status


def of_schedule() -> Any:
    schedule = quick()
    schedule.go_to("12:30")
    return schedule.status


def of_comparison() -> Any:
    world = SimComparison()
    world.settle()
    world.make_and_end_all(measured())
    world.settle()
    return world.status


WRITTEN = [
    pytest.param(TestStatus, of_test(), id="test"),
    pytest.param(TestStatus, of_search(), id="search"),
    pytest.param(ScheduleStatus, of_schedule(), id="schedule"),
    pytest.param(ComparisonStatus, of_comparison(), id="comparison"),
]


def with_value(status: Any, place: list[Any], value: Any) -> Any:
    """Return a status with another value at a place."""
    if not place:
        return value
    head, *rest = place
    changed = dict(status) if isinstance(status, dict) else list(status)
    changed[head] = with_value(changed[head], rest, value)
    return changed


def places(status: Any) -> list[list[Any]]:
    """Return the places of all values in a status."""
    inner = status.items() if isinstance(status, dict) else enumerate(status) if isinstance(status, list) else ()
    return [[]] + [[key, *place] for key, item in inner for place in places(item)]


@pytest.mark.parametrize(("shape", "status"), WRITTEN)
def test_what_is_written_is_read_back_the_same(shape: type[ObjectStatus], status: Any) -> None:
    assert written(read_fitting(shape, json.loads(json.dumps(status)))) == status


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "status"), WRITTEN)
@given(data=st.data())
def test_whatever_stands_in_a_status_is_read_and_what_is_read_can_be_written(
    shape: type[ObjectStatus], status: Any, data: st.DataObject
) -> None:
    plain = json.loads(json.dumps(status))
    changed = with_value(plain, data.draw(st.sampled_from(places(plain))), data.draw(JSON))
    read = read_fitting(shape, changed)
    assert read_fitting(shape, written(read)) == read


def test_what_does_not_fit_is_as_if_absent_and_the_rest_is_read() -> None:
    steps = [step_json("login", {50: "fast", 90: -1.0, 99: 5}, meanMs="slow"), {"step": "total"}, "connect"]
    read = read_fitting(TestStatus, {"phase": "Meditating", "results": {**RESULTS, "steps": steps}, "message": 7})
    assert (read.phase, read.message) == (None, "")
    assert read.results is not None
    (login,) = read.results.steps
    assert (login.mean_ms, [one.ms for one in login.percentiles]) == (None, [5])


def test_an_object_that_lacks_a_figure_which_each_has_is_as_if_absent() -> None:
    assert read_fitting(TestStatus, {"results": {"completedRate": 1.0}}).results is None


def test_of_a_list_that_is_too_long_the_first_items_are_read() -> None:
    steps = [step_json(f"s{number}", {}) for number in range(MOST_STEPS + 1)]
    read = read_fitting(TestStatus, {"results": {**RESULTS, "steps": steps}})
    assert read.results is not None
    assert [step.step for step in read.results.steps] == [step["step"] for step in steps[:MOST_STEPS]]


@pytest.mark.parametrize("status", [None, [], "", 7])
def test_what_is_no_object_is_an_empty_status(status: Any) -> None:
    assert read_fitting(TestStatus, status) == TestStatus()
