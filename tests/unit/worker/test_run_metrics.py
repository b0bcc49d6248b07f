"""The metrics of a run: of all its trials, windows and workers, in base units."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from prometheus_client.parser import text_string_to_metric_families
from reports import REPORT
from run_configs import NOWHERE, arrivals, run_config
from sshload_contract.vocabulary import Outcome, Window
from sshload_contract.wire.report import ArrivalCounts, Report
from sshload_worker.coordination.run_metrics import metrics
from sshload_worker.recording.histogram import LatencyHistogram
from sshload_worker.summary.totals import Totals

CONFIG = run_config(NOWHERE, arrivals(1, 10), workers=3)


def counts(times: int) -> ArrivalCounts:
    one = ArrivalCounts(scheduled=1, started=2, succeeded=3, failed=4, completed=5, late=6, dropped=7)
    return ArrivalCounts(
        scheduled=times * one.scheduled,
        started=times * one.started,
        succeeded=times * one.succeeded,
        failed=times * one.failed,
        completed=times * one.completed,
        late=times * one.late,
        dropped=times * one.dropped,
    )


def totals(times: int, *reports: Report) -> Totals:
    """Return the totals of a trial whose warm-up and measured window each had so many of everything."""
    found = Totals()
    for report in reports:
        found.add(replace(report, counts={}, errors=(), ended=(), moved=(), stages=(), negotiated=()))
    for window in Window:
        found.counts[window] = counts(times)
        found.histograms["total", window, Outcome.OK] = LatencyHistogram([2_000] * times)
        found.histograms["total", window, Outcome.THROTTLED] = LatencyHistogram([9] * times)
        found.moved["sftpRead", window] = 10 * times
    return found


def published(before: Totals, now: Totals, lost: int = 1) -> dict[str, float]:
    """Return the metrics by name and labels other than those of the test."""
    registry = SimpleNamespace(connected=2, losses=("gone",) * lost)
    master: Any = SimpleNamespace(
        config=CONFIG, totals=(before, now), trial=SimpleNamespace(totals=now), worker_registry=registry
    )
    found = {}
    for family in text_string_to_metric_families(metrics(master).decode()):
        for sample in family.samples:
            labels = dict(sample.labels)
            assert (labels.pop("namespace"), labels.pop("test")) == ("tests", "loopback")
            found[
                " ".join(
                    (
                        sample.name.removeprefix("sshload_"),
                        *(value for _, value in sorted(labels.items(), reverse=True)),
                    )
                )
            ] = sample.value
    return found


def test_iterations_are_those_of_all_trials_and_both_windows() -> None:
    found = published(totals(10), totals(1))
    named = ("scheduled", "started", "succeeded", "failed", "late", "dropped")
    assert [found[f"iterations_{name}_total"] for name in named] == [22, 44, 66, 88, 132, 154]


def test_steps_are_counted_by_outcome_and_their_latencies_are_those_of_successes_in_seconds() -> None:
    found = published(totals(10), totals(1))
    assert (found["steps_total total ok"], found["steps_total total throttled"]) == (22, 22)
    latency = "step_latency_seconds"
    assert found[f"{latency}_count total"] == 22
    assert abs(found[f"{latency}_sum total"] - 22 * 0.002) < 1e-4
    limits = [name.rpartition(" ")[2] for name in found if name.startswith(f"{latency}_bucket total ")]
    assert limits == [
        *("0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5"),
        *("1.0", "2.5", "5.0", "10.0", "30.0", "60.0", "+Inf"),
    ]
    buckets = [(limit, found[f"{latency}_bucket total {limit}"]) for limit in ("0.001", "0.0025", "60.0", "+Inf")]
    assert buckets == [("0.001", 0), ("0.0025", 22), ("60.0", 22), ("+Inf", 22)]


def test_bytes_are_those_that_moved_in_all_trials() -> None:
    assert published(totals(10), totals(1))["step_bytes_total sftpRead"] == 220


def test_what_is_there_now_is_that_of_all_workers_of_the_present_trial_and_health_that_of_the_worst() -> None:
    health = replace(
        REPORT.health,
        cpu_share=0.5,
        run_delay_share=0.25,
        stolen_share=0.125,
        loop_lag_p99_us=3_000,
        ports_used=7,
        ports_available=100,
    )
    better = replace(health, cpu_share=0.1, run_delay_share=0.0, stolen_share=0.0, loop_lag_p99_us=1, ports_used=1)
    one = replace(REPORT, worker=0, in_flight=1, users=2, held=3, health=health)
    two = replace(REPORT, worker=1, in_flight=10, users=20, held=30, health=replace(better, ports_available=200))
    found = published(totals(5, replace(one, worker=9)), totals(1, one, two))
    assert [found[name] for name in ("iterations_in_flight", "users", "held_sessions")] == [11, 22, 33]
    assert [found[f"workers_{name}"] for name in ("connected", "expected", "lost")] == [2, 3, 1]
    assert {name: value for name, value in found.items() if name.startswith("generator_")} == {
        "generator_cpu_ratio": 0.5,
        "generator_run_delay_ratio": 0.25,
        "generator_stolen_ratio": 0.125,
        "generator_loop_lag_p99_seconds": 0.003,
        "generator_ports_used": 7,
        "generator_ports_available": 100,
    }


def test_a_figure_that_no_worker_has_and_the_health_of_no_worker_are_not_published() -> None:
    unknown = replace(REPORT.health, cpu_share=None, run_delay_share=None, stolen_share=None)
    found = published(Totals(), totals(1, replace(REPORT, health=unknown)), lost=0)
    assert {name for name in found if name.startswith("generator_")} == {
        "generator_loop_lag_p99_seconds",
        "generator_ports_used",
        "generator_ports_available",
    }
    assert not [name for name in published(Totals(), Totals()) if name.startswith("generator_")]
