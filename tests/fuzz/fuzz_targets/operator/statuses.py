"""The status of each of our kinds, which the operator reads back, and whoever has the right to may patch.

Input: the kind's plural and a line end, then the status' JSON. One that the API server refuses is passed over.
Oracle: nothing is raised by reading it, whether for a decision, for metrics, for a webhook or for a terminal.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from api_server_json import RefusedError, handed_on
from crd_schema import problems, status_schema
from json_mutation import mutate_json
from passes import Passes
from runs import pod, summary
from schedules import quick
from searches import failed, passed, searched
from sim_comparison import SimComparison, measured
from specs.search import SEARCHES
from sshload_operator.api.kinds import COMPARISON, TEST
from sshload_operator.api.status.comparison import ComparisonStatus
from sshload_operator.api.status.head import remembered
from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.api.status.schedule import ScheduleStatus
from sshload_operator.cli.view.advice import advice_page
from sshload_operator.cli.view.comparison import comparison_page, comparison_rows
from sshload_operator.cli.view.formats import as_csv, as_junit, as_markdown
from sshload_operator.cli.view.page import as_text
from sshload_operator.cli.view.progress import progress_text
from sshload_operator.cli.view.result import result_page, result_rows
from sshload_operator.control.channels.ends import EndEvent, Notification, WantedEnds, due
from sshload_operator.control.channels.slack import message_of
from sshload_operator.control.channels.webhook import event_of
from sshload_operator.control.metrics.schedules import SchedulesCollector
from sshload_operator.control.metrics.tests import TestsCollector
from sshload_operator.decision.comparison.facts import observed_test
from sshload_operator.decision.schedule import facts
from sshload_operator.state import Role
from statuses import read_comparison_status, read_test_status

_TESTS, _SCHEDULES, _COMPARISONS = "sshloadtests", "sshloadtestschedules", "sshloadtestcomparisons"
_SCHEMAS = {plural: status_schema(plural) for plural in (_TESTS, _SCHEDULES, _COMPARISONS)}
_DATE_TIME = re.compile(
    r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])t([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](.[0-9]+)?"
    r"(z|[+-][0-9]{2}:[0-9]{2})",
    re.IGNORECASE,
)
"""What the API server takes for `format: date-time`, but for the last days of months."""

_ALL = WantedEnds(events=tuple(EndEvent), max_age_s=3600.0)
_NOW = datetime(2026, 11, 22, 11, tzinfo=UTC)
# What CloudEvents asks every receiver to take.
_LARGEST_EVENT_BYTES = 65_536
_METADATA = {
    "name": "one",
    "namespace": "load-tests",
    "uid": "1",
    "generation": 1,
    "creationTimestamp": "2026-11-22T10:00:00Z",
}


def seeds() -> Iterator[bytes]:
    """Yield the status of a test that has begun, of others that have ended, of a schedule and of a comparison."""
    started, ended, search = Passes(), Passes(), Passes(spec=SEARCHES["search-arrivals"])
    pods = tuple(pod(role) for role in (Role.TARGET, Role.MASTER, Role.WORKER))
    started.run()
    started.run(*pods)
    yield _input(_TESTS, started.status)
    for passes, found in (
        (ended, summary(590, 10)),
        (search, searched(passed(10), failed(140), lower=10, upper=140)),
    ):
        passes.run()
        passes.run(*pods, summary=found)
        yield _input(_TESTS, passes.status)
    schedule = quick()
    schedule.go_to("12:30")
    yield _input(_SCHEDULES, schedule.status)
    comparison = SimComparison()
    comparison.settle()
    yield _input(_COMPARISONS, comparison.status)
    comparison.make_and_end_all(measured())
    comparison.settle()
    yield _input(_COMPARISONS, comparison.status)


def _input(plural: str, status: Mapping[str, Any]) -> bytes:
    return f"{plural}\n{json.dumps(status)}".encode()


def mutate(data: bytes, seed: int) -> bytes:
    """Change the status as JSON."""
    plural, end, said = data.partition(b"\n")
    return plural + end + mutate_json(said, seed)


def check(data: bytes) -> None:
    """Read the status for all that it is read for."""
    name, _, text = data.partition(b"\n")
    plural = name.decode("ascii", "replace")
    try:
        status = handed_on(text)
    except RefusedError:
        return
    if plural in _SCHEMAS and not list(problems(status, _SCHEMAS[plural])) and _times_are_taken(status):
        _READERS[plural](status)


def _read_test(status: Mapping[str, Any]) -> None:
    body = {"metadata": _METADATA, "spec": {}, "status": status}
    remembered(TestStatus, status)
    observed_test(body)
    facts.scheduled_test(body)
    collector = TestsCollector()
    collector.object_changed("MODIFIED", body)
    collector.render()
    _post(due(TEST, body, "any", _ALL, _NOW))
    progress_text(read_test_status(status))
    if "verdict" in status:
        whole = read_test_status(status)
        for one in (result_page("one", whole), result_page("one", whole, verbose=True), advice_page("one", whole)):
            as_text(one), as_markdown(one), as_junit(one)
        as_csv(result_rows(whole))


def _read_schedule(status: Mapping[str, Any]) -> None:
    remembered(ScheduleStatus, status)
    collector = SchedulesCollector()
    collector.object_changed("MODIFIED", {"metadata": _METADATA, "spec": {}, "status": status})
    collector.render()


def _read_comparison(status: Mapping[str, Any]) -> None:
    remembered(ComparisonStatus, status)
    body = {"metadata": _METADATA, "spec": {}, "status": status}
    _post(due(COMPARISON, body, "any", _ALL, _NOW))
    if "verdict" in status:
        compared = read_comparison_status(status)
        page = comparison_page("one", compared)
        as_text(page), as_markdown(page), as_junit(page), as_csv(comparison_rows(compared))


def _post(found: Notification | None) -> None:
    if found is not None:
        assert len(json.dumps(event_of(found), allow_nan=False)) < _LARGEST_EVENT_BYTES
        assert not {"<", ">", "\r"} & set(message_of(found, ""))


_READERS: Mapping[str, Callable[[Mapping[str, Any]], None]] = {
    _TESTS: _read_test,
    _SCHEDULES: _read_schedule,
    _COMPARISONS: _read_comparison,
}


def _times_are_taken(status: Any) -> bool:
    """Tell whether the API server takes all texts that are to be times, which it has its own format for."""
    if isinstance(status, list):
        return all(_times_are_taken(item) for item in status)
    if not isinstance(status, dict):
        return True
    return all(
        _DATE_TIME.fullmatch(str(item)) is not None if key.endswith(("Time", "Since")) else _times_are_taken(item)
        for key, item in status.items()
    )
