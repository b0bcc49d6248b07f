"""A worker's report, as its master gets it.

The course of a run, and the counts of a summary, of which every one agrees with every other.
"""

from dataclasses import replace
from typing import Any

from runs import NEGOTIATED
from sshload_contract.vocabulary import Outcome, RunEnd, Window
from sshload_contract.wire.report import (
    ArrivalCounts,
    ByteCount,
    EndCount,
    ErrorCount,
    Health,
    NegotiatedCount,
    Report,
    StageCounts,
)
from sshload_contract.wire.run_summary import RunSummary
from sshload_worker.recording.histogram import LatencyHistogram
from sshload_worker.summary.run_summary import RunCourse

REPORT = Report(
    run_id="test-run",
    worker=0,
    trial=0,
    sequence=1,
    until_s=0.5,
    final=False,
    in_flight=2,
    users=0,
    held=0,
    counts={Window.MEASURED: ArrivalCounts(9, 8, 6, 2, 6, 1, 0)},
    stages=(StageCounts(2, ArrivalCounts(4, 4, 3, 1, 3, 0, 0)),),
    histograms=(),
    ended=(EndCount("read", Window.MEASURED, 5),),
    moved=(ByteCount("read", Window.MEASURED, 700), ByteCount("read", None, 70)),
    errors=(ErrorCount("auth", Outcome.AUTH_REJECTED, Window.MEASURED, 2, "refused"),),
    negotiated=(NegotiatedCount(NEGOTIATED, 6),),
    health=Health(0.1, 0.0, None, 1, 1, 1, 2, 2, 3, 28_232, 0),
)
"""A report without latencies."""


def course(elapsed_s: float, end: RunEnd = RunEnd.COMPLETED, **changes: Any) -> RunCourse:
    """Return the course of a run that went well, by one worker and against a target that reports nothing."""
    facts = RunCourse(
        end=end,
        message="",
        started_unix_s=1.0,
        finished_unix_s=1.0 + elapsed_s,
        elapsed_s=elapsed_s,
        workers_connected=1,
        workers_lost=0,
        target_before=None,
        target_held=None,
        target_after=None,
        held_most=None,
        held_least=None,
        series_interval_s=1.0,
        series=(),
    )
    return replace(facts, **changes)


def counts_of(summary: RunSummary, outcome: Outcome | None = None) -> int:
    """Return how many totals of the measured window the histograms hold."""
    return sum(
        histogram.count
        for histogram in summary.histograms
        if histogram.step == "total"
        and histogram.window is Window.MEASURED
        and (outcome is None or histogram.outcome is outcome)
    )


def assert_reconciled(summary: RunSummary) -> None:
    """Every count of a summary agrees with every other."""
    load = summary.trial.load
    assert load.scheduled == load.started + load.dropped
    assert load.started == load.succeeded + load.failed == counts_of(summary)
    assert load.succeeded == counts_of(summary, Outcome.OK)
    assert load.failed == sum(error.count for error in summary.trial.errors if error.window is Window.MEASURED)
    assert all(LatencyHistogram.decode(one.data).count == one.count for one in summary.histograms)
    in_windows = sum(one.count for one in summary.histograms if one.step == "total")
    assert sum(point.succeeded + point.failed for point in summary.series) == in_windows
    assert summary.trial.generator.reports_missing == 0
