"""TrialCourse: what the master keeps of one trial, from its order to its summary. It gets the time as an argument."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from statistics import mean
from typing import Final

from sshload_contract.steal import stolen_share
from sshload_contract.vocabulary import InPath, RunEnd
from sshload_contract.wire.program import ProgramStats, ProgramUse
from sshload_contract.wire.report import Report
from sshload_contract.wire.reporting import oldest_report_s
from sshload_contract.wire.run_config import RunConfig
from sshload_contract.wire.run_summary import SERVER_POINTS_LIMIT, EarlyEnd, Paused, RunSummary, ServerPoint, Trial
from sshload_contract.wire.target import TargetStats

from sshload_worker.pacing.share import TrialOrder
from sshload_worker.summary.early_end import unrecoverable_threshold
from sshload_worker.summary.progress import NOTHING_YET, Progress, Series, adds_enough, progress
from sshload_worker.summary.run_summary import RunCourse, run_summary
from sshload_worker.summary.totals import Totals

_SHORTEST_SERVER_INTERVAL_S: Final = 2.0
_CHECK_AGAIN_AFTER_S = 5.0
"""The pause between checks for an early end: the summary for each costs the master up to seconds of CPU."""


class HeldRange:
    """The most and the fewest held sessions in the time in which all are to be held, None without any mark.

    A mark counts when every worker's latest report is of that time, because a busy worker reports late.
    """

    def __init__(self, config: RunConfig) -> None:
        load = config.trial_load
        self._holds = load.held_sessions > 0
        self._begin_s = config.warm_up_s + load.before_iterations_s
        self._end_s = config.warm_up_s + load.lasts_s
        self.most: int | None = None
        self.least: int | None = None

    def observe(self, mark: Progress) -> None:
        """Add a mark, if it is of that time."""
        if self._holds and self._begin_s <= mark.oldest_report_at_s and mark.at_s < self._end_s:
            self.most = mark.held if self.most is None else max(self.most, mark.held)
            self.least = mark.held if self.least is None else min(self.least, mark.held)


class ServerSeries:
    """What the managed target used over time, from its counts at times of a trial, in seconds since its load began.

    `interval_s` is how often to fetch them: each answer costs the server CPU time, and there are at most
    SERVER_POINTS_LIMIT points.
    """

    def __init__(self, planned_s: float) -> None:
        self.interval_s = max(_SHORTEST_SERVER_INTERVAL_S, planned_s / SERVER_POINTS_LIMIT)
        self._counts: list[tuple[float, TargetStats]] = []

    def add(self, at_s: float, stats: TargetStats) -> None:
        """Add the target's counts, unless no time has passed by its own clock, or there are enough points."""
        if len(self._counts) > SERVER_POINTS_LIMIT:
            return
        if not self._counts or (at_s > self._counts[-1][0] and stats.at_unix_s > self._counts[-1][1].at_unix_s):
            self._counts.append((at_s, stats))

    def points(self) -> tuple[ServerPoint, ...]:
        """Return the intervals between the counts, without those in which the target was restarted."""
        return tuple(
            ServerPoint(
                at_s=at_s,
                cores=cores,
                stolen_share=stolen_share(before.machine_cpu, after.machine_cpu),
                sessions=after.sessions,
                memory_bytes=after.memory_bytes,
            )
            for (_, before), (at_s, after) in pairwise(self._counts)
            if after.cpu_s >= before.cpu_s and (cores := after.cores_since(before)) is not None
        )


class TrialCourse:
    """One trial: its totals, its time series and the target's counts around it. `config` is the trial's own.

    `start_s` is the agreed start, None before the order. `target_activity` is the target's remaining activity when the
    trial began, `server_series` what the target used during the trial. `in_path_before` and `in_path_after` are the
    usage of the programs in the path to it, as far as these reported it.
    """

    def __init__(self, order: TrialOrder, run: RunConfig, mark_interval_s: float) -> None:
        self.order = order
        self.config = order.config(run)
        self.planned_s = self.config.warm_up_s + self.config.trial_load.lasts_s
        self.totals = Totals()
        self.target_activity = ""
        self.target_before: TargetStats | None = None
        self.target_held: TargetStats | None = None
        self.target_after: TargetStats | None = None
        self.in_path_before: Mapping[InPath, ProgramStats] = {}
        self.in_path_after: Mapping[InPath, ProgramStats] = {}
        self._mark_interval_s = mark_interval_s
        self._series = Series(mark_interval_s)
        self.server_series = ServerSeries(self.planned_s)
        self._held = HeldRange(self.config)
        self._before = self._last = NOTHING_YET
        self.start_s: float | None = None
        self._started_unix_s = 0.0
        self.early_end: EarlyEnd | None = None
        self.paused: Paused | None = None
        self._lasted_s: dict[int, float] = {}
        self._check_again_s = 0.0
        self._end_s: float | None = None
        self._finished_unix_s = 0.0

    @property
    def started(self) -> bool:
        """Whether the start was ordered."""
        return self.start_s is not None

    @property
    def is_over(self) -> bool:
        """Whether the trial has ended, for whatever reason."""
        return self._end_s is not None

    def start(self, at_s: float, at_unix_s: float) -> None:
        """Note the agreed start, by the clock of all other arguments, and by the wall clock."""
        self.start_s, self._started_unix_s = at_s, at_unix_s

    def end(self, now_s: float, now_unix_s: float) -> None:
        """Note the end, and end the series if the trial has started."""
        self._end_s, self._finished_unix_s = now_s, now_unix_s
        if self.started:
            self._series.observe(self._progress(now_s), final=True)

    def at_s(self, now_s: float) -> float:
        """Return the time since the start, after the end that from start to end, 0 before the start."""
        if self.start_s is None:
            return 0.0
        return max((now_s if self._end_s is None else self._end_s) - self.start_s, 0.0)

    def planned_at_s(self, now_s: float) -> float:
        """Return the time by the plan. An early end of the load counts as the planned end."""
        at_s = self.at_s(now_s)
        return at_s if self.early_end is None else self.planned_s + at_s - self.early_end.after_s

    def note_pause(self, read_s: float) -> None:
        """Note when the target's directory paused in this trial, by its counts after it, read at `read_s`."""
        directory = None if self.target_after is None else self.target_after.ldap
        pause = None if directory is None else directory.paused
        if pause is None or self.start_s is None:
            return
        from_s, to_s = (read_s - ago_s - self.start_s for ago_s in (pause.began_ago_s, pause.ended_ago_s))
        if from_s >= 0:  # else it was in an earlier trial
            self.paused = Paused(from_s, to_s)

    def end_if_hopeless(self, now_s: float) -> bool:
        """End the load early if a threshold with `abort_on_fail` will stay broken; return whether it was ended now."""
        at_s = self.at_s(now_s)
        if self.early_end is not None or not self.config.warm_up_s <= at_s < self.planned_s:
            return False
        if at_s < self._check_again_s:
            return False
        unreported_s = self.planned_s - at_s + oldest_report_s(self.config.workers)
        broken = unrecoverable_threshold(self.config, self.totals, unreported_s, lambda: self._so_far(at_s))
        if broken is None:
            return False
        self.early_end = EarlyEnd(at_s, broken.words)
        return True

    def note_load_end(self, worker: int, after_s: float) -> None:
        """Note how long a worker's load lasted that was ended early: the order takes time to reach a busy worker.

        Of a population whose users log in once, a worker ends its load itself when none is left for it.

        The load's duration is the mean of its workers', so that rates are per second of the time in which it was made.
        """
        if worker not in range(self.config.workers):
            return
        self._lasted_s[worker] = min(after_s, self.planned_s)
        if self.early_end is None and self.config.ends_with_users:
            self.early_end = EarlyEnd(after_s, "")
        if self.early_end is not None:
            self.early_end = replace(self.early_end, after_s=mean(self._lasted_s.values()))

    def _so_far(self, at_s: float) -> Trial:
        """Return the trial as if the load had ended `at_s` after its start, without what is known only at the end."""
        self._check_again_s = at_s + _CHECK_AGAIN_AFTER_S
        return run_summary(self.config, self.totals, self._course(RunEnd.COMPLETED, "", at_s, 0, 0)).trial

    def add(self, report: Report) -> bool:
        """Add a report; return False for one of another trial, and for one that was added before."""
        return report.trial == self.order.number and self.totals.add(report)

    def mark(self, now_s: float) -> tuple[Progress, Progress]:
        """Return an earlier progress, with enough less reported to compute rates, and the present one."""
        now = self._progress(now_s)
        if self.is_over:
            return now, now
        if adds_enough(self._last, now, self._mark_interval_s):
            self._before, self._last = self._last, now
        if self.started:
            self._series.observe(now)
            self._held.observe(now)
        return self._before, now

    def _progress(self, now_s: float) -> Progress:
        return progress(self.totals, self.at_s(now_s), self.config.workers)

    def summary(self, end: RunEnd, message: str, workers_connected: int, workers_lost: int) -> RunSummary:
        """Return the trial's own summary, after its end."""
        elapsed_s = self.at_s(self._end_s or 0.0)
        if self.early_end is not None:
            elapsed_s = min(elapsed_s, self.early_end.after_s)
        elif self._lasted_s and end is not RunEnd.COMPLETED:
            elapsed_s = min(elapsed_s, mean(self._lasted_s.values()))
        course = self._course(end, message, elapsed_s, workers_connected, workers_lost)
        return replace(run_summary(self.config, self.totals, course), early_end=self.early_end)

    def _course(
        self, end: RunEnd, message: str, elapsed_s: float, workers_connected: int, workers_lost: int
    ) -> RunCourse:
        return RunCourse(
            end=end,
            message=message,
            started_unix_s=self._started_unix_s,
            finished_unix_s=self._finished_unix_s,
            elapsed_s=elapsed_s,
            workers_connected=workers_connected,
            workers_lost=workers_lost,
            target_before=self.target_before,
            target_held=self.target_held,
            target_after=self.target_after,
            held_most=self._held.most,
            held_least=self._held.least,
            series_interval_s=self._series.interval_s,
            series=self._series.points(),
            server_series=self.server_series.points(),
            in_path=dict(self._used_in_path()),
            paused=self.paused,
        )

    def _used_in_path(self) -> Iterator[tuple[InPath, ProgramUse]]:
        for part, before in self.in_path_before.items():
            if part in self.in_path_after:
                yield part, ProgramUse(before, self.in_path_after[part])
