"""What the pages know of objects: bounded, cut, and gone with them; and the lists that are made of it."""

from collections.abc import Mapping
from typing import Any

import finished_runs
import pytest
import reported
from sshload_operator.api.kinds import COMPARISON, SCHEDULE, TEST, Kind
from sshload_operator.control.pages.index import MOST_POINTS, Index
from sshload_operator.control.pages.markup import MOST_ROWS, live_page, login_page, overview
from statuses import progress_after

KEY = ("ns", "one")


def body(status: Mapping[str, Any] | None = None, name: str = "one", namespace: str = "ns") -> dict[str, Any]:
    metadata = {"namespace": namespace, "name": name, "uid": f"uid-of-{name}", "resourceVersion": "7"}
    return {"metadata": metadata, "spec": {}, **({} if status is None else {"status": status})}


def under_way(elapsed_s: float, run: int = 1) -> dict[str, Any]:
    return body({"phase": "Running", "run": run, "progress": progress_after(elapsed_s)})


def indexed(kind: Kind, *bodies: Mapping[str, Any]) -> Index:
    index = Index()
    for one in bodies:
        index.changed(kind.plural, "ADDED", one)
    return index


def test_a_line_has_the_verdict_and_the_figures_of_a_finished_test() -> None:
    line = indexed(TEST, body(finished_runs.a_test().status)).find(TEST, KEY)
    assert line is not None
    assert (line.state, line.passed, line.is_over, line.is_live) == ("Passed", True, True, False)
    assert line.figures["p99 ms"] == 90


def test_a_course_has_as_many_points_as_are_kept_however_long_the_run() -> None:
    index = indexed(TEST, *(under_way(float(second)) for second in range(1, 3 * MOST_POINTS)))
    course = index.course(KEY)
    assert course is not None
    assert MOST_POINTS / 2 <= len(course.points) <= MOST_POINTS
    seconds = [point[0] for point in course.points]
    assert seconds == sorted(seconds, key=float)  # type: ignore[arg-type]


def test_another_run_begins_a_course_of_its_own_and_the_end_of_a_run_ends_it() -> None:
    index = indexed(TEST, under_way(9.0), under_way(1.0, run=2))
    course = index.course(KEY)
    assert course is not None
    assert [point[0] for point in course.points] == [1.0]
    index.changed(TEST.plural, "MODIFIED", body(finished_runs.a_test().status))
    assert index.course(KEY) is None


def test_a_test_that_was_made_anew_begins_a_course_of_its_own_though_its_run_has_the_same_number() -> None:
    again = under_way(1.0)
    again["metadata"]["uid"] = "uid of another"
    course = indexed(TEST, under_way(9.0), again).course(KEY)
    assert course is not None
    assert [point[0] for point in course.points] == [1.0]


@pytest.mark.parametrize("kind", [TEST, SCHEDULE, COMPARISON])
def test_the_deletion_of_a_former_object_that_is_told_late_leaves_the_new_one(kind: Kind) -> None:
    new = body()
    new["metadata"]["uid"] = "new"
    index = indexed(kind, body(), new)
    index.changed(kind.plural, "DELETED", body())
    line = index.find(kind, KEY)
    assert line is not None
    assert line.uid == "new"
    index.changed(kind.plural, "DELETED", new)
    assert index.find(kind, KEY) is None


@pytest.mark.parametrize("kind", [TEST, SCHEDULE, COMPARISON])
def test_an_object_that_is_gone_is_forgotten(kind: Kind) -> None:
    index = indexed(kind, body(), body(name="two"))
    index.changed(kind.plural, "DELETED", body())
    assert index.find(kind, KEY) is None
    index.forget(kind.plural, lambda key: key == ("ns", "two"))
    assert list(index.lines(kind)) == []


def test_a_follower_hears_of_each_change_until_it_unfollows() -> None:
    index = Index()
    changed = index.follow(KEY)
    index.changed(TEST.plural, "ADDED", body())
    assert changed.is_set()
    changed.clear()
    index.unfollow(KEY, changed)
    index.changed(TEST.plural, "DELETED", body())
    assert not changed.is_set()


@pytest.mark.parametrize("kind", [TEST, SCHEDULE, COMPARISON])
@pytest.mark.parametrize("status", [None, {}, {"phase": 7, "trend": "x", "results": [], "progress": {}}])
def test_whatever_a_status_says_there_is_a_line_and_a_list(kind: Kind, status: dict[str, Any] | None) -> None:
    index = indexed(kind, body(status))
    assert ">one<" in overview(index, "")
    assert index.find(kind, KEY) is not None


def test_texts_of_a_status_are_cut_and_escaped_in_every_page() -> None:
    status = {**finished_runs.a_test().status, "message": finished_runs.HOSTILE + "x" * 3_000}
    index = indexed(TEST, body(status))
    line = index.find(TEST, KEY)
    assert line is not None
    assert len(line.message) == 300
    for page in (overview(index, ""), live_page(line), login_page("/ui", finished_runs.HOSTILE)):
        assert "<img" not in page
        assert "<script>" not in page


def test_a_list_has_a_bounded_number_of_rows_and_says_how_many_are_left_out() -> None:
    index = indexed(TEST, *(body(name=f"test-{number}") for number in range(MOST_ROWS + 5)))
    page = overview(index, "")
    assert page.count("<tr>") == MOST_ROWS + 1
    assert "5 older ones are not shown" in page


def test_the_list_of_a_namespace_has_no_other_names() -> None:
    index = indexed(TEST, body(), body(name="secret", namespace="other"))
    page = overview(index, "ns")
    assert "secret" not in page
    assert "other" not in page


def test_a_schedule_has_its_trend_as_a_picture_with_words() -> None:
    schedule, _ = reported.a_schedule()
    page = overview(indexed(SCHEDULE, body(schedule.status)), "")
    assert 'role="img" aria-label="4 runs, from' in page
    assert "<polyline" in page
