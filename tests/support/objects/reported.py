"""What is reported besides runs: a comparison, a sweep, a schedule with its tests, and a run beside another."""

from dataclasses import replace
from functools import cache
from typing import Any

import finished_runs
from baselines import asked, finished, run_to_end, seen, slower
from plans import quickstart
from runs import retold
from schedules import SimSchedule, at, schedule_spec
from sim_comparison import SimComparison, comparison_spec, measured
from sshload_contract.wire.run_summary import ServerPoint
from sshload_operator.report.comparison import comparison_document
from sshload_operator.report.document import report_document
from sshload_operator.report.saved_run import KeptObject, SavedRun, kept_object
from sshload_operator.report.schedule import schedule_document
from sshload_operator.report.sweep import SavedSweep, sweep_document

RELEASE = "0.1.0"
_AGREED = {
    "kex": "mlkem768x25519-sha256",
    "cipher": "aes256-gcm@openssh.com",
    "mac": "implicit",
    "hostKey": "ssh-ed25519",
    "serverVersion": "SSH-2.0-OpenSSH_10.0",
    "count": 600,
}
_P50_MS = {"a": 40.0, "b": 80.0, "c": 30.0, "d": 40.0}


@cache
def a_comparison(*variants: str, rounds: int = 5, over: int | None = None) -> KeptObject:
    """Return a comparison whose variants differ (b is slow, c fast, d like a); of `over` tests, None for all."""
    names = variants or ("a", "b", "c", "d")
    world = SimComparison(spec=comparison_spec(*names, repeats=rounds))
    world.settle()
    for number in range(rounds * len(names) if over is None else over):
        (name,) = world.under_way()
        variant = name.rpartition("-")[2]
        ended = measured(_P50_MS[variant] * (1 + 0.02 * (number % 3)), error_percent=2.0 if variant == "b" else 0.1)
        ended["results"]["negotiated"] = [_AGREED]
        world.end(name, ended)
        world.settle()
    return kept_object(
        {"metadata": {"name": "cmp", "namespace": "load-tests"}, "spec": world.spec, "status": dict(world.status)}
    )


def a_swept_comparison() -> KeptObject:
    """Return a comparison whose variants are values of a rate."""
    comparison = a_comparison("a", "b", "c")
    results = comparison.status["results"]
    variants = [{**one, "value": value} for one, value in zip(results["variants"], ("10", "20", "40.5"), strict=True)]
    swept = {**comparison.status, "results": {"variants": variants, "swept": "load.arrivals.rate"}}
    return replace(comparison, status=swept)


def swept_report() -> dict[str, Any]:
    """Return the report of a comparison that sweeps a field."""
    return comparison_document(a_swept_comparison(), RELEASE)


def comparison_report(**changes: Any) -> dict[str, Any]:
    """Return the report of a comparison."""
    return comparison_document(a_comparison(**changes), RELEASE)


def a_sweep() -> SavedSweep:
    """Return a sweep over a rate, which fails at its last but one value and could not be measured at its last."""
    points = []
    for number, rate in enumerate((10, 20, 40, 80), start=1):
        spec = quickstart(load={"arrivals": {"rate": rate, "duration": "30s"}})
        test = finished(slower(1 + rate / 40), spec, name=f"nightly-{number}")
        status = {**test["status"]}
        if rate == 40:
            status |= {"verdict": "Failed", "reason": "ThresholdBroken", "message": "p99 of total was 2 s"}
        if rate == 80:
            status |= {"verdict": "Invalid", "reason": "CpuStolen", "message": "the host took the CPU"}
        points.append((rate, kept_object({**test, "status": status})))
    return SavedSweep("nightly", "load.arrivals.rate", 5, tuple(points))


def sweep_report() -> dict[str, Any]:
    """Return the report of a sweep."""
    return sweep_document(a_sweep(), RELEASE)


def a_schedule() -> tuple[KeptObject, list[KeptObject]]:
    """Return a schedule of which four runs have ended, with its tests: each is held against the first one."""
    world = SimSchedule(created=at("09:30"), now=at("09:30"), spec=schedule_spec(successfulTestsHistoryLimit=10))
    first = finished(slower(1.0), asked())
    kept = []
    for hour, times in enumerate((1.0, 1.02, 1.3, 1.05), start=10):
        world.go_to(f"{hour}:00")
        name = world.active[-1]
        against_first = run_to_end(asked(), slower(times), seen(first))
        world.finish(name, **against_first.status)
        metadata = {"name": name, "namespace": "load-tests"}
        kept.append(kept_object({"metadata": metadata, "spec": asked(), "status": world.tests[name]["status"]}))
    body = {"metadata": {"name": "hourly", "namespace": "load-tests"}, "spec": world.spec, "status": dict(world.status)}
    return kept_object(body), kept


def schedule_report() -> dict[str, Any]:
    """Return the history of a schedule."""
    return schedule_document(*a_schedule(), RELEASE)


def with_cpu(run: SavedRun) -> SavedRun:
    """Return a run whose summary tells what the server used and what was stolen, with a stretch of much steal."""
    found = run.summary
    assert found is not None
    series = tuple(
        replace(point, stolen_share=0.2 if 20 <= number < 30 else 0.005) for number, point in enumerate(found.series)
    )
    server = tuple(
        ServerPoint(2.0 * number, 0.4 + 0.01 * number, 0.01, 3, 200_000_000 + number) for number in range(1, 40)
    )
    return replace(run, summary=retold(found, series=series, server_series=server))


def beside_report() -> dict[str, Any]:
    """Return the report of a run beside an earlier one, which was faster."""
    run, other = with_cpu(finished_runs.a_test()), finished_runs.a_test(points=60)
    return report_document(run, RELEASE, replace(other, name="before"))
