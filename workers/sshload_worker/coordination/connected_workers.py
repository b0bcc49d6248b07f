"""The workers as the master sees them. WorkerRegistry has who is connected, ready or lost, WorkerLine the messages.

Both last for all trials of a run. The registry has no clock: it gets the time as an argument.
"""

from dataclasses import dataclass
from time import monotonic
from typing import Any, Protocol, TypeVar

import gevent
from locust.env import Environment
from sshload_contract.bounds import ContractError
from sshload_contract.vocabulary import RunEnd
from sshload_contract.wire.codec import from_json, from_plain
from sshload_contract.wire.report import LoginFailure, Report

from sshload_worker.coordination import messages
from sshload_worker.coordination.messages import flush_and_close

_CHECKED_EVERY_S = 2.0
"""A master that checks less often than this was delayed itself, and has unread messages."""

_LINGER_MS = 1_000

M = TypeVar("M")


@dataclass(slots=True)
class _Member:
    client_id: str
    seen_s: float
    ready: bool = False
    logged_in: bool = False
    final: bool = False
    gone: str = ""
    lost: str = ""


class WorkerRegistry:
    """The workers of one run by their index, from their hello to the final report of their last trial.

    What a client says counts only while it has the place of its index: one that was replaced may still say something.
    """

    def __init__(self, expected: int) -> None:
        self._expected = expected
        self._members: dict[int, _Member] = {}
        self._started = False
        self._checked_s = 0.0
        self._accepted = 0

    def register(self, index: int, client_id: str, now_s: float) -> None:
        """Register a worker. It replaces an earlier worker of this index. After the start, that one is lost."""
        known = self._members.get(index)
        if known is not None and self._started:
            known.lost = known.lost or f"worker {index} was replaced during the run"
        elif index in range(self._expected):
            self._members[index] = _Member(client_id=client_id, seen_s=now_s)

    def check_expected(self, index: int) -> None:
        """Raise ValueError if the run has no worker of this index."""
        if index not in range(self._expected):
            raise ValueError(f"it is from worker {index}, but the run has {self._expected}, counted from 0")

    def has(self, index: int, client_id: str) -> bool:
        """Return whether a client is the worker of this index."""
        return index in self._members and self._members[index].client_id == client_id

    def note_ready(self, index: int, client_id: str) -> None:
        """Note that a worker is ready to start, for the first time or again."""
        if self.has(index, client_id):
            self._members[index].ready = True

    def note_login(self, index: int, client_id: str, *, accepted: bool) -> None:
        """Note that a worker's login before the load has ended, and whether the servers accepted it."""
        self._accepted += accepted
        if self.has(index, client_id):
            self._members[index].logged_in = True

    def note_start(self, now_s: float) -> None:
        """Note that the start of a trial was ordered. From now on, a silent worker is lost."""
        self._started = True
        self._checked_s = now_s
        for member in self._members.values():
            member.seen_s, member.ready = now_s, False

    def expect_next_trial(self) -> None:
        """Note that another trial follows. A worker that has left is lost, even if its final report has arrived."""
        for member in self._members.values():
            member.final = False
            member.lost = member.lost or member.gone

    def note_message(self, client_id: str, now_s: float) -> None:
        """Note that a client sent a message, so it is alive."""
        for member in self._members.values():
            if member.client_id == client_id:
                member.seen_s = now_s

    def note_final_report(self, index: int, client_id: str) -> None:
        """Note a worker's final report of the trial in progress."""
        if self.has(index, client_id):
            self._members[index].final = True

    def note_leave(self, index: int, client_id: str, reason: str) -> None:
        """Note that a worker left. After its final report it is not lost, unless another trial follows."""
        if not self.has(index, client_id):
            return
        if not self._started:
            del self._members[index]
        else:
            member = self._members[index]
            member.gone = f"worker {index} left: {reason}"
            member.lost = member.lost or ("" if member.final else member.gone)

    def note_silence(self, now_s: float) -> None:
        """Count each worker as lost that was silent for too long and has not sent its final report.

        Call this about once a second. A time in which the master did not check does not count as silence.
        """
        unheard_s = max(now_s - self._checked_s - _CHECKED_EVERY_S, 0.0)
        self._checked_s = now_s
        for index, member in self._members.items():
            member.seen_s = min(member.seen_s + unheard_s, now_s)
            silent_s = now_s - member.seen_s
            if self._started and not member.final and not member.lost and silent_s > messages.LOST_AFTER_S:
                member.lost = f"worker {index} was silent for {silent_s:.1f} s"

    @property
    def client_ids(self) -> tuple[str, ...]:
        """The clients that are the workers."""
        return tuple(member.client_id for member in self._members.values())

    @property
    def connected(self) -> int:
        """How many workers are connected, or were connected when the start was ordered."""
        return len(self._members)

    @property
    def all_connected(self) -> bool:
        """Whether every worker has connected."""
        return len(self._members) == self._expected

    @property
    def all_ready(self) -> bool:
        """Whether every worker has connected and is ready to start."""
        return self.all_connected and all(member.ready for member in self._members.values())

    @property
    def all_logged_in(self) -> bool:
        """Whether every worker has connected, and its login before the load has ended."""
        return self.all_connected and all(member.logged_in for member in self._members.values())

    @property
    def accepted(self) -> int:
        """How many logins before the load were accepted, including those of workers that were replaced later."""
        return self._accepted

    @property
    def all_done(self) -> bool:
        """Whether each worker has sent its final report or is lost."""
        return all(member.final or member.lost for member in self._members.values())

    @property
    def losses(self) -> tuple[str, ...]:
        """Why each lost worker is lost."""
        return tuple(member.lost for _, member in sorted(self._members.items()) if member.lost)

    @property
    def absent(self) -> tuple[int, ...]:
        """The indexes of the workers that have not connected."""
        return tuple(index for index in range(self._expected) if index not in self._members)


class MessageHandler(Protocol):
    """The receiver of what workers report."""

    def take_report(self, report: Report) -> bool:
        """Handle a report; return False for one that changes nothing. Raises EncodingError if it cannot be read."""

    def note_load_end(self, worker: int, after_s: float) -> None:
        """Handle the duration of a worker's load that was ended early."""

    def note_target_problem(self, problem: str) -> None:
        """Handle the reason why the target is not ready yet."""

    def note_change(self) -> None:
        """Handle a change of the registry."""

    def end_early(self, end: RunEnd, message: str) -> None:
        """Handle that the run cannot continue."""

    def note_login_failure(self, failure: LoginFailure) -> None:
        """Handle that the run cannot continue, because a worker cannot log in."""

    def note_better_kex(self, names: str) -> None:
        """Handle which key exchanges the server would rather have done."""


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
        """Send a message to all who have connected."""
        self._runner.send_message(kind, fields)

    def send_start(self, **fields: object) -> None:
        """Order the start, of none but the workers: one that was replaced, and lives, would add to the load."""
        for client_id in self._worker_registry.client_ids:
            self._runner.send_message(messages.START, fields, client_id)

    def close(self) -> None:
        """Stop listening when all messages have been sent, after at most one second."""
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
            self._worker_registry.note_ready(ready.worker, msg.node_id)
            self._handler.note_change()

    def _on_target_problem(self, msg: Any, **_: object) -> None:
        said = self._read(messages.WorkerReason, msg.data)
        if said is not None:
            self._handler.note_target_problem(said.message)

    def _on_logged_in(self, msg: Any, **_: object) -> None:
        said = self._read(messages.LoggedIn, msg.data)
        if said is not None:
            self._worker_registry.note_login(said.worker, msg.node_id, accepted=said.accepted)
            if said.better_kex is not None and self._worker_registry.has(said.worker, msg.node_id):
                self._handler.note_better_kex(said.better_kex)
            self._handler.note_change()

    def _on_login_failed(self, msg: Any, **_: object) -> None:
        failure = self._read(LoginFailure, msg.data)
        if failure is not None and self._worker_registry.has(failure.worker, msg.node_id):
            self._handler.note_login_failure(failure)

    def _on_report(self, msg: Any, **_: object) -> None:
        gevent.sleep(0)  # Locust's listener never waits while messages arrive, and others must run too
        self._worker_registry.note_message(msg.node_id, monotonic())
        sent = self._read(messages.SentReport, msg.data)
        if sent is None:
            return
        try:
            report = from_json(Report, sent.report)
            self._worker_registry.check_expected(report.worker)
            is_ours = report.run_id == self._run_id and self._worker_registry.has(report.worker, msg.node_id)
            is_new = is_ours and self._handler.take_report(report)
        except ValueError as error:  # ContractError, and EncodingError of a histogram
            self._end_on_unreadable(error)
            return
        if is_new and report.final:
            self._worker_registry.note_final_report(report.worker, msg.node_id)
            self._handler.note_change()

    def _on_finished(self, msg: Any, **_: object) -> None:
        said = self._read(messages.Finished, msg.data)
        if said is not None and self._worker_registry.has(said.worker, msg.node_id):
            self._handler.note_load_end(said.worker, said.after_s)

    def _on_fault(self, msg: Any, **_: object) -> None:
        self._end_by(RunEnd.GENERATOR_FAULT, msg)

    def _on_not_allowed(self, msg: Any, **_: object) -> None:
        self._end_by(RunEnd.TARGET_NOT_ALLOWED, msg)

    def _on_leave(self, msg: Any, **_: object) -> None:
        said = self._read(messages.WorkerReason, msg.data)
        if said is not None:
            self._worker_registry.note_leave(said.worker, msg.node_id, said.message)
            self._handler.note_change()

    def _on_heartbeat(self, client_id: str, **_: object) -> None:
        self._worker_registry.note_message(client_id, monotonic())

    def _end_by(self, end: RunEnd, msg: Any) -> None:
        said = self._read(messages.WorkerReason, msg.data)
        if said is not None and self._worker_registry.has(said.worker, msg.node_id):
            self._handler.end_early(end, f"worker {said.worker}: {said.message}")

    def _read(self, kind: type[M], data: object) -> M | None:
        """Return a message's fields. If they cannot be read, end the run: Locust would only log an exception."""
        try:
            return from_plain(kind, data)
        except ContractError as error:
            self._end_on_unreadable(error)
            return None

    def _end_on_unreadable(self, error: ValueError) -> None:
        self._handler.end_early(RunEnd.GENERATOR_FAULT, f"a worker's message cannot be read: {error}")
