"""The counts of a summary, and that every one of them agrees with every other."""

from sshload_contract.vocabulary import Outcome, Window
from sshload_contract.wire.run_summary import RunSummary
from sshload_worker.recording.histogram import LatencyHistogram


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
    load = summary.load
    assert load.scheduled == load.started + load.dropped
    assert load.started == load.succeeded + load.failed == counts_of(summary)
    assert load.succeeded == counts_of(summary, Outcome.OK)
    assert load.failed == sum(error.count for error in summary.errors if error.window is Window.MEASURED)
    assert all(LatencyHistogram.decode(one.data).count == one.count for one in summary.histograms)
    in_windows = sum(one.count for one in summary.histograms if one.step == "total")
    assert sum(point.succeeded + point.failed for point in summary.series) == in_windows
    assert summary.generator.reports_missing == 0
