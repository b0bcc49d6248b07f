"""How often workers report, and how many workers' reports one master can process.

A master is one Python process and uses one CPU. Each report costs it about a millisecond of CPU time, and each worker
a little more for its heartbeats (docs/measurements/master.md). So the more workers there are, the less often each
reports, up to an interval with which the figures of a run are still right. A run with more workers than that allows is
refused before it starts.
"""

from typing import Final

_REPORTS_PER_S: Final = 200
_SHORTEST_INTERVAL_S: Final = 0.5
_LONGEST_INTERVAL_S: Final = 2.5
_OLDEST_REPORT_INTERVALS: Final = 2
MOST_WORKERS: Final = round(_REPORTS_PER_S * _LONGEST_INTERVAL_S)
"""The most workers (processes of all pods together) whose reports one master can process."""


def report_interval_s(workers: int) -> float:
    """Return the time that one report of each of so many workers covers."""
    return max(_SHORTEST_INTERVAL_S, workers / _REPORTS_PER_S)


def oldest_report_s(workers: int) -> float:
    """Return how old the last report of each of so many workers may be when the master reads it."""
    return _OLDEST_REPORT_INTERVALS * report_interval_s(workers)


def first_report_s(index: int, workers: int) -> float:
    """Return when the worker with this index reports first: the workers take turns within the interval.

    So in each second about as much of the load is reported as was generated in it, even if the interval is longer.
    """
    return report_interval_s(workers) * (index % workers + 1) / workers
