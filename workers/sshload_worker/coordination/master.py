"""The master: waits for its workers and the target, orders the start, follows the run, and prints the summary."""

import logging
import time
from dataclasses import dataclass
from time import monotonic
from typing import Any

import gevent
from gevent.event import Event
from locust.env import Environment
from sshload_contract.codec import from_json
from sshload_contract.errors import ContractError
from sshload_contract.master_log import snapshot_line, summary_lines
from sshload_contract.run_config import RunConfig
from sshload_contract.sample import Report
from sshload_contract.target_stats import TargetStats
from sshload_contract.vocabulary import RunEnd

from sshload_worker.coordination import messages
from sshload_worker.coordination.managed_target import TargetSilentError, check_ready, fetch_stats
from sshload_worker.coordination.roll_call import RollCall
from sshload_worker.pacing.load import duration_s
from sshload_worker.summary.held import HeldRange
from sshload_worker.summary.live import run_stage, snapshot
from sshload_worker.summary.merge import Totals
from sshload_worker.summary.progress import NOTHING_YET, Series, progress
from sshload_worker.summary.report import RunCourse, run_summary

SNAPSHOT_INTERVAL_S = 1.0
_READY_POLL_S = 0.1
_FINAL_REPORTS_TIMEOUT_S = 5.0
_LINGER_MS = 1_000

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _End:
    """Why the run ends before its time."""

    end: RunEnd
    message: str


class Master:
    """One run, from waiting for the workers to the printed summary."""

    def __init__(self, config: RunConfig) -> None:
        self.config = config
        self.totals = Totals()
        self.roll_call = RollCall(config.workers)
        self._environment: Any = Environment()
        self._series = Series(SNAPSHOT_INTERVAL_S)
        self._held = HeldRange(config)
        self._last = NOTHING_YET
        self._planned_s = config.warm_up_s + duration_s(config.load)
        self._early: _End | None = None
        self._changed = Event()
        self._start_s: float | None = None
        self._started_unix_s = 0.0
        self._target_ready = not config.stats_url
        self._target_problem = ""
        self._runner: Any = None

    @property
    def started(self) -> bool:
        """Whether all workers were there and were ordered to start."""
        return self._start_s is not None

    def listen(self, host: str, port: int) -> None:
        """Take workers in from now on."""
        self._runner = self._environment.create_master_runner(host, port)
        for kind, listener in (
            (messages.HELLO, self._on_hello),
            (messages.READY, self._on_ready),
            (messages.TARGET_PROBLEM, self._on_target_problem),
            (messages.REPORT, self._on_report),
            (messages.FAULT, self._on_fault),
            (messages.LEAVE, self._on_leave),
        ):
            self._runner.register_message(kind, listener)
        self._environment.events.heartbeat_sent.add_listener(self._on_heartbeat)

    def run(self) -> None:
        """Follow the run to its end, whatever that is, and print the summary."""
        printer = gevent.spawn(self._print_snapshots)
        before = after = None
        self._await_start()
        if self._early is None:
            before = self._stats()
            self._start()
            self._await_end()
        elapsed_s = self._elapsed_s()
        finished_unix_s = time.time()
        printer.kill()
        if self.started:
            after = self._stats()
        self._print_summary(elapsed_s, finished_unix_s, before, after)
        self._runner.send_message(messages.END, {})
        self._runner.greenlet.kill()
        self._runner.server.close(linger=_LINGER_MS)

    def stop(self, reason: str) -> None:
        """End the run now; its summary says STOPPED."""
        self._end_early(RunEnd.STOPPED, reason)

    def _await_start(self) -> None:
        if self.config.stats_url:
            gevent.spawn(self._await_managed_target)
        deadline_s = monotonic() + self.config.workers_timeout_s
        while self._early is None and not (self._target_ready and self.roll_call.all_ready):
            left_s = deadline_s - monotonic()
            if left_s <= 0:
                self._give_up_waiting()
                return
            self._wait(left_s)

    def _give_up_waiting(self) -> None:
        waited = f"within {self.config.workers_timeout_s:g} s"
        if self.roll_call.all_connected:
            problem = self._target_problem or "no answer"
            self._end_early(RunEnd.TARGET_UNREACHABLE, f"the target was not ready {waited}: {problem}")
        else:
            absent = ", ".join(str(index) for index in self.roll_call.absent)
            self._end_early(RunEnd.WORKERS_MISSING, f"workers {absent} did not come {waited}")

    def _await_managed_target(self) -> None:
        while not self._target_ready:
            try:
                check_ready(self.config.stats_url)
            except TargetSilentError as problem:
                self._target_problem = str(problem)
                gevent.sleep(_READY_POLL_S)
            else:
                self._target_ready = True
                self._changed.set()

    def _start(self) -> None:
        lead_s = self.config.start_lead_s
        self._runner.send_message(messages.START, {"lead_s": lead_s, "of": self.config.workers})
        self._start_s = monotonic() + lead_s
        self._started_unix_s = time.time() + lead_s
        self.roll_call.started(monotonic())

    def _await_end(self) -> None:
        """Wait for all final reports; after an early end, or when they are overdue, only for a short while."""
        overdue_s = monotonic() + self.config.start_lead_s + self._planned_s + self.config.drain_s
        deadline_s = overdue_s + _FINAL_REPORTS_TIMEOUT_S
        stopping = False
        while not self.roll_call.all_done and monotonic() < deadline_s:
            if self._early is not None and not stopping:
                stopping = True
                self._runner.send_message(messages.STOP, {})
                deadline_s = monotonic() + _FINAL_REPORTS_TIMEOUT_S
            self._wait(min(SNAPSHOT_INTERVAL_S, max(deadline_s - monotonic(), 0)))
            self._note_losses()
        if not self.roll_call.all_done:
            self._end_early(RunEnd.WORKER_LOST, "a worker's final report did not come")

    def _note_losses(self) -> None:
        self.roll_call.note_silence(monotonic())
        if self.roll_call.losses:
            self._end_early(RunEnd.WORKER_LOST, "; ".join(self.roll_call.losses))

    def _end_early(self, end: RunEnd, message: str) -> None:
        if self._early is None:
            self._early = _End(end, message)
            log.warning("the run ends early: %s", message)
            self._changed.set()

    def _wait(self, seconds: float) -> None:
        self._changed.wait(seconds)
        self._changed.clear()

    def _elapsed_s(self) -> float:
        return max(monotonic() - self._start_s, 0.0) if self._start_s is not None else 0.0

    def _stats(self) -> TargetStats | None:
        if not self.config.stats_url:
            return None
        try:
            return fetch_stats(self.config.stats_url)
        except TargetSilentError as problem:
            log.warning("no counts from the target: %s", problem)
            return None

    def _print_summary(
        self, elapsed_s: float, finished_unix_s: float, before: TargetStats | None, after: TargetStats | None
    ) -> None:
        early = self._early or _End(RunEnd.COMPLETED, "")
        if self.started:
            self._series.observe(progress(self.totals, elapsed_s), final=True)
        course = RunCourse(
            end=early.end,
            message=early.message,
            started_unix_s=self._started_unix_s,
            finished_unix_s=finished_unix_s,
            elapsed_s=elapsed_s,
            workers_connected=self.roll_call.connected,
            workers_lost=len(self.roll_call.losses),
            target_before=before,
            target_after=after,
            held_most=self._held.most,
            held_least=self._held.least,
            series_interval_s=self._series.interval_s,
            series=self._series.points(),
        )
        print("\n".join(summary_lines(run_summary(self.config, self.totals, course))), flush=True)  # noqa: T201

    def _print_snapshots(self) -> None:
        while True:
            now = progress(self.totals, self._elapsed_s())
            stage = run_stage(self.config, now.at_s, started=self.started)
            told = snapshot(self.config, stage, self.roll_call.connected, self._last, now)
            print(snapshot_line(told), flush=True)  # noqa: T201 - stdout is the master's wire
            if self.started:
                self._series.observe(now)
                self._held.observe(now)
            self._last = now
            gevent.sleep(SNAPSHOT_INTERVAL_S)

    def _on_hello(self, msg: Any, **_: object) -> None:
        if msg.data["run_id"] == self.config.run_id:
            self.roll_call.hello(msg.data["worker"], msg.node_id, monotonic())
            self._changed.set()

    def _on_ready(self, msg: Any, **_: object) -> None:
        self.roll_call.ready(msg.data["worker"])
        self._changed.set()

    def _on_target_problem(self, msg: Any, **_: object) -> None:
        self._target_problem = msg.data["message"]

    def _on_report(self, msg: Any, **_: object) -> None:
        try:
            report = from_json(Report, msg.data["report"])
        except ContractError as error:
            self._end_early(RunEnd.GENERATOR_FAULT, f"a worker's report cannot be read: {error}")
            return
        self.roll_call.seen(msg.node_id, monotonic())
        if report.run_id == self.config.run_id and self.totals.add(report) and report.final:
            self.roll_call.final(report.worker)
            self._changed.set()

    def _on_fault(self, msg: Any, **_: object) -> None:
        self._end_early(RunEnd.GENERATOR_FAULT, f"worker {msg.data['worker']}: {msg.data['message']}")

    def _on_leave(self, msg: Any, **_: object) -> None:
        self.roll_call.left(msg.data["worker"], msg.data["message"])
        self._changed.set()

    def _on_heartbeat(self, client_id: str, **_: object) -> None:
        self.roll_call.seen(client_id, monotonic())
