"""WorkerLine: the master's line to its workers. Who is there is noted in the roll call, all else is handed on."""

from time import monotonic
from typing import Any, Protocol, TypeVar

import gevent
from locust.env import Environment
from sshload_contract.vocabulary import RunEnd
from sshload_contract.wire.bounds import ContractError
from sshload_contract.wire.codec import from_json, from_plain
from sshload_contract.wire.report import Report
from sshload_contract.wire.run_summary import LoginFailure

from sshload_worker.coordination import messages
from sshload_worker.coordination.locust_line import flush_and_close
from sshload_worker.coordination.worker_registry import WorkerRegistry

_LINGER_MS = 1_000

M = TypeVar("M")


class MessageHandler(Protocol):
    """The receiver of what workers report."""

    def take_report(self, report: Report) -> bool:
        """Handle a report; return False for one that changes nothing. Raises EncodingError where it cannot be read."""

    def note_load_end(self, worker: int, after_s: float) -> None:
        """Handle the duration of a worker's load that was ended before its time."""

    def note_target_problem(self, problem: str) -> None:
        """Handle the reason why the target is not ready yet."""

    def note_change(self) -> None:
        """Handle a change of the registry."""

    def end_early(self, end: RunEnd, message: str) -> None:
        """Handle that the run cannot go on."""

    def note_login_failure(self, failure: LoginFailure) -> None:
        """Handle that the run cannot go on, because a worker cannot log in."""


class WorkerLine:
    """The messages of one run, to and from all its workers."""

    def __init__(self, run_id: str, worker_registry: WorkerRegistry, handler: MessageHandler) -> None:
        self._run_id = run_id
        self._worker_registry = worker_registry
        self._handler = handler
        self._environment: Any = Environment()
        self._runner: Any = None

    def listen(self, host: str, port: int) -> None:
        """Accept workers from now on."""
        self._runner = self._environment.create_master_runner(host, port)
        for kind, listener in (
            (messages.HELLO, self._on_hello),
            (messages.READY, self._on_ready),
            (messages.TARGET_PROBLEM, self._on_target_problem),
            (messages.LOGGED_IN, self._on_logged_in),
            (messages.LOGIN_FAILED, self._on_login_failed),
            (messages.REPORT, self._on_report),
            (messages.FINISHED, self._on_finished),
            (messages.FAULT, self._on_fault),
            (messages.NOT_ALLOWED, self._on_not_allowed),
            (messages.LEAVE, self._on_leave),
        ):
            self._runner.register_message(kind, listener)
        self._environment.events.heartbeat_sent.add_listener(self._on_heartbeat)

    def send(self, kind: str, **fields: object) -> None:
        """Send a message to all workers."""
        self._runner.send_message(kind, fields)

    def close(self) -> None:
        """Stop listening, once what was sent is on its way, after a second at most."""
        self._runner.greenlet.kill()
        flush_and_close(self._runner.server, _LINGER_MS)

    def _on_hello(self, msg: Any, **_: object) -> None:
        hello = self._read(messages.Hello, msg.data)
        if hello is not None and hello.run_id == self._run_id:
            self._worker_registry.register(hello.worker, msg.node_id, monotonic())
            self._handler.note_change()

    def _on_ready(self, msg: Any, **_: object) -> None:
        ready = self._read(messages.Ready, msg.data)
        if ready is not None:
            self._worker_registry.note_ready(ready.worker)
            self._handler.note_change()

    def _on_target_problem(self, msg: Any, **_: object) -> None:
        said = self._read(messages.WorkerReason, msg.data)
        if said is not None:
            self._handler.note_target_problem(said.message)

    def _on_logged_in(self, msg: Any, **_: object) -> None:
        said = self._read(messages.LoggedIn, msg.data)
        if said is not None:
            self._worker_registry.note_login(said.worker, accepted=said.accepted)
            self._handler.note_change()

    def _on_login_failed(self, msg: Any, **_: object) -> None:
        failure = self._read(LoginFailure, msg.data)
        if failure is not None:
            self._handler.note_login_failure(failure)

    def _on_report(self, msg: Any, **_: object) -> None:
        gevent.sleep(0)  # Locust's listener waits only where no message has come: many would keep all else from running
        self._worker_registry.note_message(msg.node_id, monotonic())
        sent = self._read(messages.SentReport, msg.data)
        if sent is None:
            return
        try:
            report = from_json(Report, sent.report)
            self._worker_registry.check_expected(report.worker)
            is_new = report.run_id == self._run_id and self._handler.take_report(report)
        except ValueError as error:  # ContractError, and EncodingError of a histogram
            self._end_on_unreadable(error)
            return
        if is_new and report.final:
            self._worker_registry.note_final_report(report.worker)
            self._handler.note_change()

    def _on_finished(self, msg: Any, **_: object) -> None:
        said = self._read(messages.Finished, msg.data)
        if said is not None:
            self._handler.note_load_end(said.worker, said.after_s)

    def _on_fault(self, msg: Any, **_: object) -> None:
        self._end_by(RunEnd.GENERATOR_FAULT, msg.data)

    def _on_not_allowed(self, msg: Any, **_: object) -> None:
        self._end_by(RunEnd.TARGET_NOT_ALLOWED, msg.data)

    def _on_leave(self, msg: Any, **_: object) -> None:
        said = self._read(messages.WorkerReason, msg.data)
        if said is not None:
            self._worker_registry.note_leave(said.worker, said.message)
            self._handler.note_change()

    def _on_heartbeat(self, client_id: str, **_: object) -> None:
        self._worker_registry.note_message(client_id, monotonic())

    def _end_by(self, end: RunEnd, data: object) -> None:
        said = self._read(messages.WorkerReason, data)
        if said is not None:
            self._handler.end_early(end, f"worker {said.worker}: {said.message}")

    def _read(self, kind: type[M], data: object) -> M | None:
        """Return a message's fields. Where they cannot be read the run ends: Locust would only log what is raised."""
        try:
            return from_plain(kind, data)
        except ContractError as error:
            self._end_on_unreadable(error)
            return None

    def _end_on_unreadable(self, error: ValueError) -> None:
        self._handler.end_early(RunEnd.GENERATOR_FAULT, f"what a worker says cannot be read: {error}")
