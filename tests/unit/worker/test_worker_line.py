"""What the master makes of messages that cannot be read: the run ends by name, and nothing is counted by half."""

from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest
from reports import REPORT
from sshload_contract.vocabulary import Outcome, RunEnd, Window
from sshload_contract.wire.codec import to_json, to_plain
from sshload_contract.wire.report import EncodedHistogram, LoginFailure, Report
from sshload_worker.coordination.connected_workers import WorkerLine, WorkerRegistry
from sshload_worker.summary.totals import Totals

READERS = (
    "_on_hello",
    "_on_ready",
    "_on_target_problem",
    "_on_logged_in",
    "_on_login_failed",
    "_on_report",
    "_on_finished",
    "_on_fault",
    "_on_not_allowed",
    "_on_leave",
)


REASON = {"worker": 0, "message": "why"}
FAILURE = LoginFailure(0, 0, "192.0.2.7", 22, Outcome.REFUSED, "Connection refused")


@dataclass
class Heard:
    """A master, as far as it is told something."""

    totals: Totals = field(default_factory=Totals)
    ends: list[tuple[RunEnd, str]] = field(default_factory=list)
    lasted_s: list[float] = field(default_factory=list)

    def take_report(self, report: Report) -> bool:
        return self.totals.add(report)

    def note_load_end(self, worker: int, after_s: float) -> None:
        assert worker == 0
        self.lasted_s.append(after_s)

    def note_target_problem(self, problem: str) -> None: ...

    def note_change(self) -> None: ...

    def note_login_failure(self, failure: LoginFailure) -> None:
        self.end_early(RunEnd.LOGIN_FAILED, failure.message)

    def end_early(self, end: RunEnd, message: str) -> None:
        self.ends.append((end, message))


def hear(reader: str, fields: Any, worker: str = "node") -> Heard:
    """Return what was heard of one message of `node`, where `worker` is the client that is the worker."""
    heard, worker_registry = Heard(), WorkerRegistry(1)
    worker_registry.register(0, worker, 0.0)
    line = WorkerLine("test-run", worker_registry, heard)
    getattr(line, reader)(SimpleNamespace(data=fields, node_id="node"))
    return heard


def test_a_report_is_counted() -> None:
    heard = hear("_on_report", {"report": to_json(REPORT)})
    assert heard.totals.window(Window.MEASURED).succeeded == 6
    assert heard.ends == []


def test_neither_a_report_nor_an_end_of_one_that_was_replaced_is_counted() -> None:
    heard = hear("_on_report", {"report": to_json(REPORT)}, worker="another")
    assert (heard.totals, heard.ends) == (Totals(), [])
    finished = {"worker": 0, "after_s": 1.5}
    assert hear("_on_finished", finished).lasted_s == [1.5]
    assert hear("_on_finished", finished, worker="another").lasted_s == []


@pytest.mark.parametrize(
    ("reader", "fields", "end"),
    [
        ("_on_fault", REASON, RunEnd.GENERATOR_FAULT),
        ("_on_not_allowed", REASON, RunEnd.TARGET_NOT_ALLOWED),
        ("_on_login_failed", to_plain(FAILURE), RunEnd.LOGIN_FAILED),
    ],
)
def test_what_hinders_a_worker_ends_the_run_unless_it_was_replaced(reader: str, fields: Any, end: RunEnd) -> None:
    assert [ended for ended, _ in hear(reader, fields).ends] == [end]
    assert hear(reader, fields, worker="another").ends == []


@pytest.mark.parametrize("fields", [None, 7, "x", [], {}, {"worker": "0"}, {"worker": 0, "message": []}, {"report": 1}])
@pytest.mark.parametrize("reader", READERS)
def test_a_message_that_cannot_be_read_ends_the_run_as_the_generators_fault(reader: str, fields: Any) -> None:
    ((end, message),) = hear(reader, fields).ends
    assert end is RunEnd.GENERATOR_FAULT
    assert message.startswith("a worker's message cannot be read: ")


@pytest.mark.parametrize(
    "report",
    [
        pytest.param(
            replace(REPORT, histograms=(EncodedHistogram("total", Window.MEASURED, Outcome.OK, 1, "no histogram"),)),
            id="a histogram that is none",
        ),
        pytest.param(replace(REPORT, worker=1), id="a worker that the run has none of"),
        pytest.param(replace(REPORT, sequence=0), id="a report before the first"),
        pytest.param(replace(REPORT, in_flight=-1), id="a negative count"),
    ],
)
def test_nothing_of_a_report_counts_where_a_part_of_it_cannot_be_read(report: Report) -> None:
    heard = hear("_on_report", {"report": to_json(report)})
    ((end, _),) = heard.ends
    assert end is RunEnd.GENERATOR_FAULT
    assert heard.totals == Totals()
