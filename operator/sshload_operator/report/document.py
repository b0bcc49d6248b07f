"""The report as a JSON document, `report.v1`: the only source of the numbers of the page and of the Markdown."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

import yaml
from sshload_contract.steal import stolen_share
from sshload_contract.vocabulary import Verdict
from sshload_contract.wire.run_summary import RunSummary
from sshload_contract.wire.target import TargetStats

from sshload_operator.api.load_test import parse
from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.api.shapes.forms import timestamp_text
from sshload_operator.api.shapes.reading import read_fitting
from sshload_operator.api.status.comparison import ComparisonStatus, ComparisonVerdict
from sshload_operator.api.status.figures import percent, rounded
from sshload_operator.api.status.head import written
from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.api.status.measured import figures_of_run
from sshload_operator.api.status.results import Results
from sshload_operator.report.against import against
from sshload_operator.report.distribution import distributions
from sshload_operator.report.over_time import MOST_POINTS, over_time
from sshload_operator.report.saved_run import SavedRun
from sshload_operator.report.waterfall import waterfall

REPORT_VERSION: Final = "report.v1"
_LIMIT_CHARACTERS: Final = 950_000
"""With the page's own scripts, a page stays below 1.5 MB."""

_HELD: Final = {Verdict.PASSED: True, Verdict.FAILED: False, ComparisonVerdict.CONCLUSIVE: True}
_NO_SUMMARY: Final = "the summary of the run was not kept, so there is no course over time and no distribution"
_NOT_OVER_TIME: Final = "the generator's lag is known of the whole run, not over time"
_NO_SERVER_OVER_TIME: Final = "what the server used is not known over time: it is external, or the run too short"
_NO_STEAL_OVER_TIME: Final = "steal of the workers' machines is not known over time"
_OLD_SERIES: Final = "the run is of a release that kept only the 99th percentile over time, and no outcomes"
_TOO_LARGE: Final = {
    "overTime": "the course over time is left out: the report would be too large",
    "distributions": "the distributions are left out: the report would be too large",
    "waterfall": "the parts of an iteration are left out: the report would be too large",
    "against": "the other run is left out: the report would be too large",
}


def report_document(run: SavedRun, release: str, other: SavedRun | None = None) -> dict[str, Any]:
    """Return the report of a run, made by this release, beside another run if given: at most a megabyte of JSON.

    Units stand in the names, as in a status. What is not known is absent or null, and `lacks` says so in words.
    `results`, `thresholds` and `capacity` are those of the status, except that `results.steps` has the parts of steps
    too, and that each threshold has its words, and is not judged
    where the run was not measured. `figures` are those of the whole run.
    """
    status = read_fitting(TestStatus, run.status)
    stated = written(status)
    summary, results = run.summary, status.results
    document: dict[str, Any] = {
        "version": REPORT_VERSION,
        "release": release,
        "test": {"name": run.name, "namespace": run.namespace},
        "verdict": verdict_of(status),
        "thresholds": [{**written(one), "words": one.words} for one in status.judged],
        "baseline": stated.get("baseline"),
        "results": None if results is None else _results(results),
        "figures": [{"figure": one.name, **one.interval, "unit": one.unit} for one in figures_of_run(status)],
        "capacity": stated.get("capacity"),
        "trials": [] if summary is None else list(_trials(summary)),
        "warmUpSeconds": _warm_up_s(run),
        "overTime": None if summary is None else over_time(summary),
        "distorted": list(_distorted(status, summary)),
        "distributions": [] if summary is None else distributions(summary),
        "waterfall": [] if results is None else waterfall(results),
        "server": None
        if summary is None
        else _server(summary.trial.target_before, summary.trial.target_held, summary.trial.target_after),
        "spec": spec_text(run.spec),
        "lacks": list(_lacks(summary)),
    }
    if other is not None:
        document["against"] = against(run, other)
        document["lacks"] += [f"of {other.name}, {said}" for said in _lacks(other.summary)]
    return within_limit(document, _TOO_LARGE)


def _results(results: Results) -> dict[str, Any]:
    """Return results with the steps and their parts together, as they happen."""
    return {"steps": [], **written(replace(results, steps=results.all_steps, parts=()))}


def verdict_of(status: TestStatus | ComparisonStatus) -> dict[str, Any]:
    """Return the verdict of a run; `passed` is None if it is neither that the run passed nor that it failed."""
    return {
        "word": status.verdict,
        "reason": status.reason,
        "message": status.message,
        "passed": None if status.verdict is None else _HELD.get(status.verdict),
        "startTime": time_text(status.start_time),
        "completionTime": time_text(status.completion_time),
    }


def spec_text(spec: Mapping[str, Any]) -> str:
    """Return a spec as YAML."""
    return str(yaml.safe_dump(json.loads(json.dumps(spec)), sort_keys=False, allow_unicode=True))


def time_text(moment: datetime | None) -> str | None:
    """Return a time as a status has it."""
    return None if moment is None else timestamp_text(moment)


def json_text(document: Mapping[str, Any]) -> str:
    """Return a report as JSON for a script element of HTML: no text in it ends the script."""
    plain = json.dumps(document, separators=(",", ":"), allow_nan=False)
    return plain.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def within_limit(document: dict[str, Any], parts: Mapping[str, str]) -> dict[str, Any]:
    """Return a document without those parts that would make its page too large; `lacks` then names them."""
    for name, said in parts.items():
        if len(json_text(document)) <= _LIMIT_CHARACTERS:
            break
        if document.get(name):
            left: Any = [] if isinstance(document[name], list) else None
            document = {**document, name: left, "lacks": [*document["lacks"], said]}
    return document


def _warm_up_s(run: SavedRun) -> float | None:
    try:
        return parse(run.spec).warm_up_s
    except SpecError:  # of another release
        return None


def _lacks(summary: RunSummary | None) -> Iterator[str]:
    if summary is None:
        yield _NO_SUMMARY
        return
    yield from (f"the summary was too large, and is without {what}" for what in summary.omitted)
    if len(summary.series) > MOST_POINTS:
        yield f"the course over time ends after its first {MOST_POINTS} intervals"
    yield _NOT_OVER_TIME
    if summary.series and not summary.trial.server_series:
        yield _NO_SERVER_OVER_TIME
    if summary.series and all(point.stolen_share is None for point in summary.series):
        yield _NO_STEAL_OVER_TIME
    if any(point.p99_us is not None and point.p50_us is None for point in summary.series):
        yield _OLD_SERIES
        return
    unstated = [
        name
        for name, values in (
            ("p50", [point.p50_us for point in summary.series]),
            ("p90", [point.p90_us for point in summary.series]),
            ("p99", [point.p99_us for point in summary.series]),
        )
        if values and all(value is None for value in values)
    ]
    if unstated:
        interval = f"an interval of {summary.series_interval_s:g} s"
        yield f"{', '.join(unstated)} over time: too few iterations succeed in {interval} to state it"


def _distorted(status: TestStatus, summary: RunSummary | None) -> Iterator[dict[str, Any]]:
    """Yield the periods whose figures cannot be trusted, and why."""
    if summary is None or not summary.series:
        return
    if status.verdict is Verdict.INVALID:
        last_s = summary.series[:MOST_POINTS][-1].at_s
        yield {"fromSeconds": 0, "toSeconds": rounded(last_s), "message": f"the whole run: {status.reason}"}
    course = over_time(summary)
    yield from sorted((*course["stalled"], *course["stolen"]), key=lambda one: float(one["fromSeconds"]))


def _trials(summary: RunSummary) -> Iterator[dict[str, Any]]:
    """Yield what the status lacks about the trials of a search."""
    for trial in summary.trials if summary.search else ():
        yield {
            "number": trial.number,
            "stolenPercent": percent(trial.generator.stolen_share),
            "cpuPercent": percent(trial.generator.cpu_cores),
            "server": _server(trial.target_before, trial.target_held, trial.target_after),
        }


def _server(before: TargetStats | None, held: TargetStats | None, after: TargetStats | None) -> dict[str, Any] | None:
    """Return what the managed target used between its two answers, and when the most sessions were held."""
    if before is None or after is None or after.at_unix_s <= before.at_unix_s:
        return None
    lasted_s = after.at_unix_s - before.at_unix_s
    most, cores = held or after, after.cores_since(before)
    return {
        "seconds": rounded(lasted_s),
        "cores": None if cores is None else rounded(cores),
        "coresLimit": after.cpu_limit_cores,
        "stolenPercent": percent(stolen_share(before.machine_cpu, after.machine_cpu)),
        "sessions": most.sessions,
        "processes": most.processes,
        "memoryBytes": most.memory_bytes,
        "memoryPeakBytes": after.memory_peak_bytes,
        "memoryLimitBytes": after.memory_limit_bytes,
        "droppedMaxStartups": max(after.dropped_max_startups - before.dropped_max_startups, 0),
        "droppedPenalty": max(after.dropped_penalty - before.dropped_penalty, 0),
        "droppedIsLowerBound": after.dropped_is_lower_bound,
    }
