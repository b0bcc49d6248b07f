"""The master: waits for the workers and the target, orders one or more trials, and prints snapshots and the summary."""

import logging
import time
from dataclasses import dataclass, replace
from time import monotonic

import gevent
from gevent.event import Event
from gevent.pool import Group
from sshload_contract.vocabulary import RunEnd
from sshload_contract.wire.codec import to_json
from sshload_contract.wire.master_log import RunState, Snapshot, Stage, snapshot_line, summary_lines
from sshload_contract.wire.report import LoginFailure, Report
from sshload_contract.wire.run_config import Endpoint, RunConfig
from sshload_contract.wire.run_summary import RunSummary
from sshload_contract.wire.target import TargetStats

from sshload_worker.coordination import messages
from sshload_worker.coordination.connected_workers import WorkerLine, WorkerRegistry
from sshload_worker.coordination.settling import Settling
from sshload_worker.coordination.stats import stats_in_path
from sshload_worker.pacing.share import TrialOrder
from sshload_worker.recording.health import TIME_WAIT_S
from sshload_worker.summary.progress import remaining_s, run_stage, snapshot
from sshload_worker.summary.search_course import SearchCourse
from sshload_worker.summary.totals import Totals
from sshload_worker.summary.trial_course import TrialCourse

SNAPSHOT_INTERVAL_S = 1.0
_STOP_TIMEOUT_S = 5.0
"""How long workers have for their final reports after STOP: a terminating pod has 30 s for everything."""

_PORTS_TIMEOUT_S = TIME_WAIT_S + 15.0
_PROBLEM_LASTS_S = 10.0
"""A problem of the target counts as solved if it is not reported again for so long, which is longer than an attempt."""

_HELD_STATS_LEAD_S = 2.0
_HELD_STATS_AGAIN_S = 0.2
_FEW_SESSIONS = 100
_BETTER_KEX_CHARACTERS = 500
"""What a worker says has room in the summary, which else would be too large to print."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _End:
    """Why the run ends early."""

    end: RunEnd
    message: str


class Master:
    """One run, from waiting for the workers to the printed summary. `trial` is the one in progress, or the last one."""

    def __init__(self, config: RunConfig, token: str) -> None:
        self.config = config
        self._token = token
        self.worker_registry = WorkerRegistry(config.workers)
        self._search = SearchCourse(config)
        self.trial = TrialCourse(self._search.first_order(), config, SNAPSHOT_INTERVAL_S)
        self._totals_before = Totals()
        self._line = WorkerLine(config.run_id, self.worker_registry, self)
        self._early: _End | None = None
        self._login_failure: LoginFailure | None = None
        self._better_kex: str | None = None
        self._changed = Event()
        self._first_start_s: float | None = None
        self._is_settling = False
        self._target_problem = ""
        self._target_problem_s = -_PROBLEM_LASTS_S
        # What logs in for the workers keeps connections open between trials as part of its work.
        awaits_idle = isinstance(config.target, Endpoint)
        self._target = Settling(config.stats_url, self.note_target_problem, awaits_idle=awaits_idle)

    @property
    def started(self) -> bool:
        """Whether all workers were connected and were ordered to start."""
        return self._first_start_s is not None

    @property
    def totals(self) -> tuple[Totals, Totals]:
        """The totals of all earlier trials together, and those of this trial."""
        return self._totals_before, self.trial.totals

    def listen(self, host: str, port: int) -> None:
        """Accept workers from now on."""
        self._line.listen(host, port)

    def run(self) -> None:
        """Follow the run to its end, however it ends, and print the summary."""
        printer = gevent.spawn(self._print_snapshots)
        target_activity = self._settle_and_log_in()
        while target_activity is not None and self._run_trial(target_activity):
            target_activity = self._prepare_next()
        printer.kill()
        summary = replace(self._summary(), run_json=to_json(self.config), better_kex=self._better_kex)
        print("\n".join(summary_lines(summary, self._token)), flush=True)  # noqa: T201 - the operator reads stdout
        self._line.send(messages.END)
        self._line.close()

    def stop(self, reason: str) -> None:
        """End the run now. Its summary has the end STOPPED."""
        self.end_early(RunEnd.STOPPED, reason)

    def take_report(self, report: Report) -> bool:
        """Count a report; return False for one that was counted before, or is not of the trial in progress.

        Raises EncodingError if one of its histograms cannot be read.
        """
        return self.trial.add(report)

    def note_load_end(self, worker: int, after_s: float) -> None:
        """Remember how long a worker's load lasted that was ended early."""
        self.trial.note_load_end(worker, after_s)

    def note_target_problem(self, problem: str) -> None:
        """Remember why the target is not ready yet, or with an empty text that it is ready."""
        self._target_problem, self._target_problem_s = problem, monotonic() if problem else -_PROBLEM_LASTS_S

    def note_change(self) -> None:
        """Check the workers again."""
        self._changed.set()

    def end_early(self, end: RunEnd, message: str) -> None:
        """End the run now, unless it is ending already."""
        if self._early is None:
            self._early = _End(end, message)
            log.warning("the run ends early: %s", message)
            self._changed.set()

    def note_login_failure(self, failure: LoginFailure) -> None:
        """End the run now, because a worker cannot log in."""
        if self._early is None:
            self._login_failure = failure
        self.end_early(RunEnd.LOGIN_FAILED, f"worker {failure.worker}: {failure.message}")

    def note_better_kex(self, names: str) -> None:
        """Remember which key exchanges the server would rather have done."""
        self._better_kex = names[:_BETTER_KEX_CHARACTERS]

    def _settle_and_log_in(self) -> str | None:
        """Settle before the first trial, and have each worker log in once before it, if the run is configured so."""
        order = self.trial.order
        target_activity = self._settle(order)
        while self.config.log_in_first and target_activity is not None and not self.worker_registry.all_logged_in:
            self._await_logins()
            self._target.expect(self.worker_registry.accepted)
            target_activity = self._settle(order)
        return target_activity

    def _await_logins(self) -> None:
        """Have all workers log in. The order is repeated, for workers that replace others."""
        begin_s = monotonic()
        while self._early is None and not self.worker_registry.all_logged_in:
            if monotonic() - begin_s >= self.config.workers_timeout_s:
                self._give_up_waiting(monotonic() - begin_s)
            self._line.send(messages.LOG_IN)
            self._wait(SNAPSHOT_INTERVAL_S)

    def _prepare_next(self) -> str | None:
        """Prepare the next trial; return the target's remaining activity, None if no trial follows."""
        order = self._search.next_order() if self._early is None else None
        if order is None or not self._has_time_for(order, monotonic()):
            return None
        self.worker_registry.expect_next_trial()
        self._line.send(messages.AGAIN)
        self._is_settling = True
        target_activity = self._settle(order)
        if target_activity is None:
            return None
        self._totals_before.absorb(self.trial.totals)
        self.trial = TrialCourse(order, self.config, SNAPSHOT_INTERVAL_S)
        return target_activity

    def _has_time_for(self, order: TrialOrder, now_s: float) -> bool:
        return not self.started or self._search.has_time_for(order, self._since_first_start_s(now_s))

    def _settle(self, order: TrialOrder) -> str | None:
        """Wait until all workers and the target are ready; return the target's remaining activity.

        Return None if no trial follows. If the target is gone, that is the reason, even if the search's budget ends the
        wait.
        """
        self._target_problem = ""
        settling = gevent.spawn(self._target.settle)
        settling.link(lambda _: self._changed.set())
        begin_s = monotonic()
        while self._early is None and not (settling.ready() and self.worker_registry.all_ready):
            left_s = begin_s + self._patience_s() - monotonic()
            in_time = self._has_time_for(order, monotonic())
            if left_s <= 0 or (self._is_target_gone and not in_time):
                self._give_up_waiting(monotonic() - begin_s)
            elif not in_time:
                break
            self._wait(min(max(left_s, 0), SNAPSHOT_INTERVAL_S))
            self._note_losses()
        settling.kill()
        return settling.get() if self._early is None and self._has_time_for(order, monotonic()) else None

    def _patience_s(self) -> float:
        """Return how long to wait. Between trials it is long enough for ports, unless the target is gone."""
        patience_s = self.config.workers_timeout_s
        return max(patience_s, _PORTS_TIMEOUT_S) if self.started and not self._is_target_gone else patience_s

    @property
    def _is_target_gone(self) -> bool:
        return monotonic() - self._target_problem_s < _PROBLEM_LASTS_S

    def _give_up_waiting(self, after_s: float) -> None:
        waited = f"within {after_s:.0f} s"
        if self.worker_registry.all_connected:
            problem = self._target_problem or "no answer"
            again = " again" if self.started else ""
            self.end_early(RunEnd.TARGET_UNREACHABLE, f"the target was not ready{again} {waited}: {problem}")
        else:
            absent = ", ".join(str(index) for index in self.worker_registry.absent)
            self.end_early(RunEnd.WORKERS_MISSING, f"workers {absent} did not connect {waited}")

    def _run_trial(self, target_activity: str) -> bool:
        """Order the start, follow the trial to its end, and judge it; return False if there is not enough time for it.

        This is checked once more here, because the target may take long to report its counts.
        """
        trial = self.trial
        trial.target_activity = target_activity
        trial.target_before = self._target.stats()
        trial.in_path_before = stats_in_path(self.config.in_path)
        now_s = monotonic()
        if not self._has_time_for(trial.order, now_s):
            return False
        start_s = now_s + self.config.start_lead_s
        self._start(trial, start_s)
        fetching = Group()
        fetching.spawn(self._fetch_while_held, trial, start_s)
        fetching.spawn(self._fetch_over_time, trial, start_s)
        fetching.spawn(self._pause_directory, start_s)
        self._await_end(trial)
        trial.end(monotonic(), time.time())
        fetching.kill()
        trial.target_after = self._target.stats()
        trial.note_pause(monotonic())
        trial.in_path_after = stats_in_path(self.config.in_path)
        early = self._early or _End(RunEnd.COMPLETED, "")
        self._search.add(trial, self._summary_of(trial, early), self._since_first_start_s(start_s))
        return True

    def _start(self, trial: TrialCourse, start_s: float) -> None:
        """Order the start, for an instant before which no worker begins, however long the order takes to arrive.

        If the instant were later, the load would seem to have taken less time than it did.
        """
        lead_s, order = self.config.start_lead_s, trial.order
        trial.start(start_s, time.time() + start_s - monotonic())
        self._is_settling = False
        if self._first_start_s is None:
            self._first_start_s = start_s
        self.worker_registry.note_start(monotonic())
        self._line.send_start(trial=order.number, amount=order.amount, lead_s=lead_s, of=self.config.workers)
        self._print_snapshot()  # readers that wait for the load need not wait for the next snapshot

    def _fetch_while_held(self, trial: TrialCourse, start_s: float) -> None:
        """Fetch the target's counts shortly before held sessions end. Later counts say nothing about them.

        A probe that logs in meanwhile, or has just ended, may count as a process and not as a session, or the other way
        round, which matters where few sessions are held. So of several counts the least are kept: those of no probe,
        unless sessions that should be held have ended by then.
        """

        def rank(counts: TargetStats) -> tuple[int, int]:
            return max(load.held_sessions - counts.sessions, 0), counts.processes + counts.sessions

        load = trial.config.trial_load
        if not load.held_sessions:
            return
        end_s = start_s + trial.planned_s
        held_s = load.lasts_s - load.before_iterations_s
        gevent.sleep(max(end_s - min(_HELD_STATS_LEAD_S, held_s / 2) - monotonic(), 0))
        while (stats := self._target.stats()) is not None and monotonic() < end_s:
            least = trial.target_held or stats
            trial.target_held = min(least, stats, key=rank)
            if stats.sessions > _FEW_SESSIONS:
                return
            gevent.sleep(_HELD_STATS_AGAIN_S)

    def _fetch_over_time(self, trial: TrialCourse, start_s: float) -> None:
        """Fetch the target's counts from the start of the load to its end, for the target's usage over time."""
        interval_s = trial.server_series.interval_s
        if not self.config.stats_url or trial.planned_s < interval_s:
            return
        due_s = start_s
        while True:
            gevent.sleep(max(due_s - monotonic(), 0))
            stats = self._target.stats()
            if stats is not None:
                trial.server_series.add(max(monotonic() - start_s, 0.0), stats)
            due_s = max(due_s + interval_s, monotonic())

    def _pause_directory(self, start_s: float) -> None:
        """Have the target let its directory pause, at the declared time of the load."""
        after_s = self.config.pause_after_s
        if after_s is not None:
            gevent.sleep(max(start_s + after_s - monotonic(), 0))
            self._target.pause_directory()

    def _await_end(self, trial: TrialCourse) -> None:
        """Wait for all final reports. After an early end, or when they are overdue, wait only briefly."""
        overdue_s = monotonic() + self.config.start_lead_s + trial.planned_s + self.config.drain_s
        deadline_s = overdue_s + messages.LOST_AFTER_S
        stopping = False
        while not self.worker_registry.all_done and monotonic() < deadline_s:
            if self._early is not None and not stopping:
                stopping = True
                self._line.send(messages.STOP)
                deadline_s = monotonic() + _STOP_TIMEOUT_S
            elif not stopping and trial.end_if_hopeless(monotonic()):
                self._line.send(messages.FINISH)
                deadline_s = monotonic() + self.config.drain_s + messages.LOST_AFTER_S
            self._wait(min(SNAPSHOT_INTERVAL_S, max(deadline_s - monotonic(), 0)))
            self._note_losses()
        if not self.worker_registry.all_done:
            self.end_early(RunEnd.WORKER_LOST, "a worker's final report did not arrive")

    def _note_losses(self) -> None:
        self.worker_registry.note_silence(monotonic())
        if self.worker_registry.losses:
            self.end_early(RunEnd.WORKER_LOST, "; ".join(self.worker_registry.losses))

    def _wait(self, seconds: float) -> None:
        self._changed.wait(seconds)
        self._changed.clear()

    def _since_first_start_s(self, instant_s: float) -> float:
        """Return the time from the start of the first trial to an instant, 0 before that start."""
        return max(instant_s - self._first_start_s, 0.0) if self._first_start_s is not None else 0.0

    def _summary(self) -> RunSummary:
        early = self._early or _End(RunEnd.COMPLETED, "")
        if self.started:
            return self._search.summary(early.end, early.message)
        self.trial.end(monotonic(), time.time())
        return replace(self._summary_of(self.trial, early), login_failure=self._login_failure)

    def _summary_of(self, trial: TrialCourse, early: _End) -> RunSummary:
        return trial.summary(early.end, early.message, self.worker_registry.connected, len(self.worker_registry.losses))

    def _print_snapshots(self) -> None:
        while True:
            self._print_snapshot()
            gevent.sleep(SNAPSHOT_INTERVAL_S)

    def _print_snapshot(self) -> None:
        print(snapshot_line(self._snapshot()), flush=True)  # noqa: T201 - likewise

    def _snapshot(self) -> Snapshot:
        trial, now_s = self.trial, monotonic()
        at_s, elapsed_s = trial.planned_at_s(now_s), self._since_first_start_s(now_s)
        standing = RunState(
            stage=Stage.SETTLING if self._is_settling else run_stage(trial.config, at_s, started=trial.started),
            elapsed_s=elapsed_s,
            remaining_s=remaining_s(self.config, elapsed_s, trial.config, at_s),
            workers_connected=self.worker_registry.connected,
            search=self._search.progress(trial.order),
            problem=self._target_problem if self._is_target_gone else "",
        )
        return snapshot(self.config.run_id, standing, *trial.mark(now_s))
