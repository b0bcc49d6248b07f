"""A master whose workers report faster than it reads goes on with all else: snapshots, deadlines, an abort."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count

import gevent
import pytest
from free_ports import free_port
from gevent import Timeout
from gevent.monkey import get_original
from locust import __version__ as locust_version
from locust.rpc.protocol import Message
from locust.rpc.zmqrpc import Client
from reports import REPORT
from run_configs import TOKEN
from sshload_contract.vocabulary import RunEnd
from sshload_contract.wire.codec import to_json
from sshload_contract.wire.report import LoginFailure, Report
from sshload_worker.coordination import messages
from sshload_worker.coordination.connected_workers import WorkerLine, WorkerRegistry
from sshload_worker.coordination.messages import encrypt_lines

REPORTS = 200
PATIENCE_S = 300.0
ALL_COME_WITHIN_S = 1.0
NAME = "worker"


@dataclass
class Turns:
    """Whoever hears of reports, and how many turns another greenlet had had at each of them."""

    taken: Iterator[int] = field(default_factory=count)
    last: int = 0
    at_reports: list[int] = field(default_factory=list)

    def take(self) -> None:
        while True:
            self.last = next(self.taken)
            gevent.sleep(0)

    def take_report(self, report: Report) -> bool:
        del report
        self.at_reports.append(self.last)
        return True

    def note_load_end(self, worker: int, after_s: float) -> None:
        """Take how long the load of a worker was."""

    def note_target_problem(self, problem: str) -> None:
        pytest.fail(problem)

    def note_change(self) -> None:
        """Take that there is one worker."""

    def end_early(self, end: RunEnd, message: str) -> None:
        pytest.fail(f"{end}: {message}")

    def note_login_failure(self, failure: LoginFailure) -> None:
        pytest.fail(failure.message)


def test_reports_that_wait_to_be_read_let_everything_else_run_between_them() -> None:
    encrypt_lines(TOKEN)
    port, turns = free_port(), Turns()
    line = WorkerLine("test-run", WorkerRegistry(1), turns)
    line.listen("127.0.0.1", port)
    worker = Client("127.0.0.1", port, NAME)
    worker.send(Message("client_ready", locust_version, NAME))
    worker.send(Message(messages.HELLO, {"run_id": "test-run", "worker": 0}, NAME))
    worker.recv()  # the line's acknowledgement: from here on it is connected
    for sequence in range(1, REPORTS + 1):
        report = replace(REPORT, sequence=sequence)
        worker.send(Message(messages.REPORT, {"report": to_json(report)}, NAME))
    get_original("time", "sleep")(ALL_COME_WITHIN_S)  # no greenlet runs, and the reports gather
    taking = gevent.spawn(turns.take)
    with Timeout(PATIENCE_S):
        while len(turns.at_reports) < REPORTS:
            gevent.sleep(0.01)
    taking.kill()
    line.close()
    assert len(set(turns.at_reports)) == REPORTS
