"""What the master makes of what workers say. What cannot be read ends the run by name, and is not counted by half."""

from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest
from reports import REPORT
from sshload_contract.vocabulary import Outcome, RunEnd, Window
from sshload_contract.wire.codec import to_json, to_plain
from sshload_contract.wire.report import EncodedHistogram, LoginFailure, Report
from sshload_worker.coordination import connected_workers, messages
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
    better_kex: list[str] = field(default_factory=list)

    def take_report(self, report: Report) -> bool:
        return self.totals.add(report)

    def note_load_end(self, worker: int, after_s: float) -> None:
        assert worker == 0
        self.lasted_s.append(after_s)

    def note_target_problem(self, problem: str) -> None: ...

    def note_change(self) -> None: ...

    def note_better_kex(self, names: str) -> None:
        self.better_kex.append(names)

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


def test_what_a_server_would_rather_have_done_is_told_by_a_worker_of_the_run_alone() -> None:
    logged_in = {"worker": 0, "accepted": True, "better_kex": "mlkem768x25519-sha256"}
    assert hear("_on_logged_in", logged_in).better_kex == ["mlkem768x25519-sha256"]
    assert hear("_on_logged_in", logged_in, worker="another").better_kex == []


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


@dataclass
class Runner:
    """Locust's end of the line: what is registered with it, and what it sends."""

    listeners: dict[str, Any] = field(default_factory=dict)
    heartbeats: list[Any] = field(default_factory=list)
    sent: list[tuple[str, dict[str, Any], str | None]] = field(default_factory=list)
    did: list[str] = field(default_factory=list)
    address: tuple[str, int] | None = None
    server: str = "the server"

    @property
    def events(self) -> Any:
        return SimpleNamespace(heartbeat_sent=SimpleNamespace(add_listener=self.heartbeats.append))

    @property
    def greenlet(self) -> Any:
        return SimpleNamespace(kill=lambda: self.did.append("kill"))

    def create_master_runner(self, host: str, port: int) -> "Runner":
        self.address = (host, port)
        return self

    def register_message(self, kind: str, listener: Any) -> None:
        self.listeners[kind] = listener

    def send_message(self, kind: str, fields: dict[str, Any], client_id: str | None = None) -> None:
        self.sent.append((kind, fields, client_id))


@dataclass
class Line:
    """A line that listens, with its registry, and how often its master was told of a change."""

    runner: Runner
    registry: WorkerRegistry
    master: "Changes"
    line: WorkerLine

    def say(self, kind: str, client: str = "node", **fields: Any) -> None:
        """Let a client say something."""
        self.runner.listeners[kind](SimpleNamespace(data=fields, node_id=client))


@dataclass
class Changes(Heard):
    """A master that counts the changes, and notes the problems, that it is told of."""

    changes: int = 0
    problems: list[str] = field(default_factory=list)

    def note_change(self) -> None:
        self.changes += 1

    def note_target_problem(self, problem: str) -> None:
        self.problems.append(problem)


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch) -> Line:
    runner, registry, heard = Runner(), WorkerRegistry(2), Changes()
    monkeypatch.setattr(connected_workers, "Environment", lambda: runner)
    monkeypatch.setattr(connected_workers, "monotonic", lambda: 50.0)
    made = WorkerLine("test-run", registry, heard)
    made.listen("::", 5557)
    return Line(runner, registry, heard, made)


def test_a_line_listens_to_all_that_workers_say(line: Line) -> None:
    assert line.runner.address == ("::", 5557)
    said = {
        messages.HELLO,
        messages.READY,
        messages.TARGET_PROBLEM,
        messages.LOGGED_IN,
        messages.LOGIN_FAILED,
        messages.REPORT,
        messages.FINISHED,
        messages.FAULT,
        messages.NOT_ALLOWED,
        messages.LEAVE,
    }
    assert line.runner.listeners.keys() == said


def test_a_worker_is_connected_ready_and_logged_in_as_it_says_and_the_master_hears_of_each_change(line: Line) -> None:
    line.say(messages.HELLO, "a", run_id="test-run", worker=0)
    assert (line.registry.connected, line.registry.client_ids, line.master.changes) == (1, ("a",), 1)
    line.say(messages.HELLO, "b", run_id="test-run", worker=1)
    line.say(messages.READY, "a", worker=0)
    assert not line.registry.all_ready
    line.say(messages.READY, "b", worker=1)
    assert (line.registry.all_ready, line.master.changes) == (True, 4)
    line.say(messages.LOGGED_IN, "a", worker=0, accepted=True, better_kex=None)
    line.say(messages.LOGGED_IN, "b", worker=1, accepted=False, better_kex=None)
    assert (line.registry.all_logged_in, line.registry.accepted, line.master.changes) == (True, 1, 6)
    line.say(messages.LEAVE, "b", worker=1, message="told to terminate")
    assert (line.registry.absent, line.master.changes) == ((1,), 7)


def test_a_worker_of_another_run_is_none(line: Line) -> None:
    line.say(messages.HELLO, "a", run_id="another", worker=0)
    assert (line.registry.connected, line.master.changes, line.master.ends) == (0, 0, [])


def test_a_problem_of_the_target_is_told_on(line: Line) -> None:
    line.say(messages.TARGET_PROBLEM, worker=0, message="no route")
    assert line.master.problems == ["no route"]


def test_the_cause_names_the_worker(line: Line) -> None:
    line.say(messages.HELLO, "a", run_id="test-run", worker=0)
    line.say(messages.FAULT, "a", worker=0, message="out of memory")
    assert line.master.ends == [(RunEnd.GENERATOR_FAULT, "worker 0: out of memory")]


@pytest.fixture
def started(line: Line) -> Line:
    """Return a line of two workers whose load began at 40 s; it is 50 s."""
    for index, client in enumerate("ab"):
        line.registry.register(index, client, 40.0)
        line.registry.note_ready(index, client)
    line.registry.note_start(40.0)
    return line


def silent(line: Line) -> tuple[str, ...]:
    for now_s in range(50, 60):
        line.registry.note_silence(float(now_s))
    return line.registry.losses


def test_whoever_reports_or_beats_is_alive_and_whoever_does_neither_is_silent(started: Line) -> None:
    started.say(messages.REPORT, "a", report=to_json(REPORT))
    (beat,) = started.runner.heartbeats
    beat("b")
    assert silent(started) == ()
    assert started.master.totals.window(Window.MEASURED).succeeded == 6


def test_whoever_says_nothing_is_silent(started: Line) -> None:
    started.runner.heartbeats[0]("a")
    assert [loss.partition(" was")[0] for loss in silent(started)] == ["worker 1"]


def test_a_final_report_is_the_workers_last_word_and_counts_once(started: Line) -> None:
    final = replace(REPORT, final=True)
    started.say(messages.REPORT, "a", report=to_json(REPORT))
    assert started.master.changes == 0
    started.say(messages.REPORT, "a", report=to_json(replace(final, sequence=2)))
    started.say(messages.REPORT, "a", report=to_json(replace(final, sequence=2)))
    assert started.master.changes == 1
    started.say(messages.REPORT, "b", report=to_json(replace(final, worker=1)))
    assert (started.registry.all_done, started.master.changes) == (True, 2)


def test_a_report_of_another_run_is_not_counted(started: Line) -> None:
    started.say(messages.REPORT, "a", report=to_json(replace(REPORT, run_id="another")))
    assert (started.master.totals, started.master.ends) == (Totals(), [])


def test_orders_go_to_all_who_have_connected_and_the_start_to_none_but_the_workers(started: Line) -> None:
    started.line.send(messages.STOP)
    started.line.send_start(trial=0, amount=1.0)
    assert started.runner.sent == [
        (messages.STOP, {}, None),
        (messages.START, {"trial": 0, "amount": 1.0}, "a"),
        (messages.START, {"trial": 0, "amount": 1.0}, "b"),
    ]


def test_a_line_is_closed_once_all_is_sent_or_after_a_second(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        connected_workers, "flush_and_close", lambda server, within_ms: line.runner.did.append(f"{server} {within_ms}")
    )
    line.line.close()
    assert line.runner.did == ["kill", "the server 1000"]
