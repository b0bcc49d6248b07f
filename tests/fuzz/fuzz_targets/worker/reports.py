"""The messages of workers, as the master takes them; a locustfile or an image of the tenant's may send anything.

Input: JSON, a list of messages, each a pair of its type and its fields. A report's fields may have the report itself in
place of its JSON text.
Oracle: no handler raises. Where the run was not ended early, the summary of all that was counted can be made, printed
and read again.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from fuzz_texts import assert_plain_text
from json_mutation import mutate_json
from reports import REPORT
from run_configs import NOWHERE, arrivals, run_config
from sshload_contract.vocabulary import Outcome, RunEnd, Window
from sshload_contract.wire.codec import to_json, to_plain
from sshload_contract.wire.master_log import read_master_log, summary_lines
from sshload_contract.wire.report import EncodedHistogram, LoginFailure, Report
from sshload_worker.coordination import messages
from sshload_worker.coordination.connected_workers import WorkerLine, WorkerRegistry
from sshload_worker.pacing.share import TrialOrder
from sshload_worker.recording.histogram import LatencyHistogram
from sshload_worker.summary.trial_course import TrialCourse

_CONFIG = run_config(NOWHERE, arrivals(10, 2), workers=2)
_LATENCIES = LatencyHistogram([900, 1_000, 70_000])
_FAILURE = LoginFailure(1, 0, "192.0.2.7", 22, Outcome.REFUSED, "Connection refused")
_NODE = "node"


class _Hearer:
    """What the master does with what it is told, without its line and its clock."""

    def __init__(self) -> None:
        self.trial = TrialCourse(TrialOrder(0, 0.0), _CONFIG, 1.0)
        self.ended_early = ""

    def take_report(self, report: Report) -> bool:
        return self.trial.add(report)

    def note_load_end(self, worker: int, after_s: float) -> None:
        self.trial.note_load_end(worker, after_s)

    def note_target_problem(self, problem: str) -> None:
        assert isinstance(problem, str)

    def note_change(self) -> None:
        pass

    def end_early(self, end: RunEnd, message: str) -> None:
        assert isinstance(end, RunEnd)
        self.ended_early = self.ended_early or message

    def note_better_kex(self, names: str) -> None:
        assert isinstance(names, str)

    def note_login_failure(self, failure: LoginFailure) -> None:
        self.end_early(RunEnd.LOGIN_FAILED, failure.message)
        assert_plain_text(failure)


def seeds() -> Iterator[bytes]:
    """Yield what the workers of a whole run say, and each of the other messages."""
    encoded = EncodedHistogram("total", Window.MEASURED, Outcome.OK, 3, _LATENCIES.encode())
    reported = replace(REPORT, histograms=(encoded,))
    final = replace(reported, sequence=2, final=True)
    whole = [
        [messages.HELLO, {"run_id": _CONFIG.run_id, "worker": 0}],
        [messages.READY, {"worker": 0}],
        [messages.REPORT, {"report": to_plain(reported)}],
        [messages.REPORT, {"report": to_plain(replace(reported, worker=1, sequence=2))}],
        [messages.REPORT, {"report": to_plain(final)}],
        [messages.LEAVE, {"worker": 0, "message": "was told to"}],
    ]
    yield json.dumps(whole).encode()
    yield json.dumps([[messages.REPORT, {"report": to_json(reported)}]]).encode()
    yield json.dumps([[messages.LOGGED_IN, {"worker": 1, "accepted": True, "better_kex": "b, c"}]]).encode()
    yield json.dumps([[messages.FINISHED, {"worker": 1, "after_s": 1.5}]]).encode()
    yield json.dumps([[messages.LOGIN_FAILED, to_plain(_FAILURE)]]).encode()
    for kind in (messages.TARGET_PROBLEM, messages.FAULT, messages.NOT_ALLOWED):
        yield json.dumps([[kind, {"worker": 1, "message": "why"}]]).encode()


def mutate(data: bytes, seed: int) -> bytes:
    """Change the messages as JSON."""
    return mutate_json(data, seed)


def check(data: bytes) -> None:
    """Let workers say this to a master."""
    handler, worker_registry = _Hearer(), WorkerRegistry(_CONFIG.workers)
    line = WorkerLine(_CONFIG.run_id, worker_registry, handler)
    on_sample = {
        messages.HELLO: line._on_hello,
        messages.READY: line._on_ready,
        messages.TARGET_PROBLEM: line._on_target_problem,
        messages.LOGGED_IN: line._on_logged_in,
        messages.LOGIN_FAILED: line._on_login_failed,
        messages.REPORT: line._on_report,
        messages.FINISHED: line._on_finished,
        messages.FAULT: line._on_fault,
        messages.NOT_ALLOWED: line._on_not_allowed,
        messages.LEAVE: line._on_leave,
    }
    handler.trial.start(0.0, 1_800_000_000.0)
    for index in range(_CONFIG.workers):
        worker_registry.register(index, _NODE, 0.0)
    worker_registry.note_start(0.0)
    for kind, fields in _messages(data):
        on_sample.get(kind, line._on_report)(SimpleNamespace(data=fields, node_id=_NODE))
    handler.trial.end(2.0, 1_800_000_002.0)
    assert worker_registry.connected <= _CONFIG.workers
    assert_plain_text(handler.ended_early)
    if not handler.ended_early:
        _assert_summary(handler)


def _messages(data: bytes) -> Iterator[tuple[str, Any]]:
    try:
        said = json.loads(data)
    except (ValueError, RecursionError):
        return
    for message in said if isinstance(said, list) else ():
        if isinstance(message, list) and len(message) == 2 and isinstance(message[0], str):
            kind, fields = message
            if isinstance(fields, dict) and isinstance(fields.get("report"), dict):
                fields = {**fields, "report": json.dumps(fields["report"])}
            yield kind, fields


def _assert_summary(handler: _Hearer) -> None:
    summary = handler.trial.summary(RunEnd.COMPLETED, "", 2, 0)
    assert_plain_text(summary)
    log = read_master_log("\n".join(summary_lines(summary, "token")))
    assert log.summary == summary, log.problem
