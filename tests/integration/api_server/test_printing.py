"""What kubectl shows of the API: columns, names, and a description of every field."""

import json
import re
from typing import Any

import pytest
from live_cluster import LiveCluster
from plans import plan
from runs import snapshot, summary
from searches import found_118, invalid, search_plan, strained
from specs.small import SMALL
from sshload_contract.thresholds import LatencyThreshold
from sshload_contract.wire.master_log import SearchProgress
from statuses import capacity_json, progress_json, results_json, threshold_json

PROGRESS = {
    "elapsedSeconds": 12,
    "remainingSeconds": 23,
    "workersConnected": 2,
    "users": 0,
    "inFlight": 3,
    "offeredRate": 20,
    "completedRate": 19.5,
    "iterations": 240,
    "failures": 6,
    "p99Ms": 81.2,
    "errorPercent": 2.5,
}
RESULTS = {
    "durationSeconds": 30,
    "offeredRate": 20,
    "achievedRate": 20,
    "completedRate": 19.967,
    "iterations": 600,
    "failures": 1,
    "p99Ms": 84.213,
    "errorPercent": 0.167,
}
HEADINGS = ("NAME", "PHASE", "VERDICT", "RATE", "P99MS", "ERROR%", "CAPACITY", "AGE")
CONDITION = {"status": "True", "reason": "Fine", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}


@pytest.fixture
def test_object(cluster: LiveCluster) -> LiveCluster:
    """Return a namespace with one test in it, which is called `shown`."""
    metadata = {"name": "shown"}
    cluster.apply({"apiVersion": "sshload.dev/v1alpha1", "kind": "SSHLoadTest", "metadata": metadata, "spec": SMALL})
    return cluster


def write_status(cluster: LiveCluster, **status: Any) -> None:
    """Write the status of the test through its subresource."""
    patch = json.dumps({"status": status})
    cluster.kubectl("patch", "slt", "shown", "--subresource=status", "--type=merge", "-p", patch)


def row(cluster: LiveCluster, *options: str) -> dict[str, str]:
    """Return the columns that `kubectl get` prints, by their headings, which are single words."""
    headings, line = cluster.kubectl("get", "slt", *options).splitlines()
    starts = [match.start() for match in re.finditer(r"\S+", headings)]
    ends = [*starts[1:], None]
    return {headings[a:b].strip(): line[a:b].strip() for a, b in zip(starts, ends, strict=True)}


def test_each_column_has_a_heading_of_one_word(test_object: LiveCluster) -> None:
    assert tuple(row(test_object)) == HEADINGS
    assert tuple(row(test_object, "-o", "wide")) == (*HEADINGS[:-1], "REASON", "MESSAGE", "AGE")


def test_a_finished_search_fits_a_terminal_of_120_columns(test_object: LiveCluster) -> None:
    capacity = {"inWords": "118 arrivals/s", "unit": "arrivals/s", "end": "found", "trials": []}
    write_status(test_object, phase="Finished", verdict="Inconclusive", results=RESULTS, capacity=capacity)
    lines = test_object.kubectl("get", "slt").splitlines()
    assert max(map(len, lines)) - len("shown") + 40 <= 120, "with a name as long as can be"


def test_the_message_is_a_column_of_the_wide_form(test_object: LiveCluster) -> None:
    write_status(test_object, phase="Finished", verdict="Error", reason="InvalidSpec", message="spec.load: missing")
    found = row(test_object, "-o", "wide")
    assert (found["REASON"], found["MESSAGE"]) == ("InvalidSpec", "spec.load: missing")


def test_a_new_test_has_empty_columns(test_object: LiveCluster) -> None:
    found = row(test_object)
    assert found.pop("AGE")
    assert found.pop("NAME") == "shown"
    assert set(found.values()) == {""}


def test_a_running_test_shows_its_progress(test_object: LiveCluster) -> None:
    write_status(test_object, phase="Running", progress=PROGRESS)
    found = row(test_object)
    assert (found["PHASE"], found["RATE"], found["P99MS"], found["ERROR%"]) == ("Running", "19.5", "81.2", "2.5")


def test_a_finished_test_shows_its_results_whatever_is_left_of_its_progress(test_object: LiveCluster) -> None:
    write_status(test_object, phase="Finished", verdict="Passed", progress=PROGRESS, results=RESULTS)
    found = row(test_object)
    assert found["VERDICT"] == "Passed"
    assert (found["RATE"], found["P99MS"], found["ERROR%"]) == ("19.967", "84.213", "0.167")


def test_jsonpath_prints_each_figure_of_a_step_and_of_a_threshold_as_a_number(test_object: LiveCluster) -> None:
    checks = [threshold_json(LatencyThreshold("login", 99, 2.0), "90 ms", met=True, value=90.0)]
    write_status(test_object, phase="Finished", results=results_json(plan(), summary()), thresholds=checks)

    def printed(path: str) -> str:
        return test_object.kubectl("get", "slt", "shown", "-o", f"jsonpath={{{path}}}")

    login = '.status.results.steps[?(@.step=="login")]'
    figures = ("count", "rate", "minMs", "meanMs", "p50Ms", "p90Ms", "p95Ms", "p99Ms", "maxMs")
    assert [float(printed(f"{login}.{figure}")) for figure in figures] == [600, 20, 40, 50, 45, 60, 70, 90, 130]
    assert printed(f"{login}.intervals[?(@.percentile==99)].lowMs") == "85.5"
    assert printed('.status.results.parts[?(@.step=="connect")].p99Ms') == "90"
    assert printed('.status.thresholds[?(@.kind=="latency")].value') == "90"
    assert printed(".status.thresholds[0].met") == "true"


def test_a_search_is_shown_by_the_capacity_in_words(test_object: LiveCluster) -> None:
    found = found_118(strained(121, cpu_s=76, limits={"cpu_limit_cores": 2.0}), invalid(118))
    write_status(test_object, phase="Finished", verdict="Passed", capacity=capacity_json(search_plan(), found))
    assert row(test_object)["CAPACITY"] == "118 arrivals/s"
    assert test_object.status("shown")["capacity"] == capacity_json(search_plan(), found)


def test_where_a_search_stands_is_accepted(test_object: LiveCluster) -> None:
    under_way = snapshot(search=SearchProgress(trial=4, amount=120.5, lower=100, upper=None))
    write_status(test_object, phase="Running", progress=progress_json(search_plan(), under_way))
    assert test_object.status("shown")["progress"] == progress_json(search_plan(), under_way)


@pytest.mark.parametrize("name", ["slt", "sshload", "sshloadtest", "sshloadtests.sshload.dev"])
def test_a_test_is_found_under_every_name(test_object: LiveCluster, name: str) -> None:
    assert test_object.kubectl("get", name, "-o", "name").strip() == "sshloadtest.sshload.dev/shown"


def test_a_person_cannot_write_the_status_with_the_spec(test_object: LiveCluster) -> None:
    patch = json.dumps({"status": {"phase": "Finished", "verdict": "Passed"}})
    test_object.kubectl("patch", "slt", "shown", "--type=merge", "-p", patch)
    assert not {"phase", "verdict"} & test_object.status("shown").keys()


@pytest.mark.parametrize(
    ("status", "field"),
    [
        pytest.param({"phase": "Done"}, "status.phase", id="an-unknown-phase"),
        pytest.param({"verdict": "Fine"}, "status.verdict", id="an-unknown-verdict"),
        pytest.param({"results": {**RESULTS, "p99Ms": -1}}, "status.results.p99Ms", id="a-negative-latency"),
        pytest.param({"progress": {"users": 1}}, "status.progress.elapsedSeconds", id="progress-with-gaps"),
        pytest.param({"capacity": {"unit": "logins"}}, "status.capacity.unit", id="an-unknown-unit"),
        pytest.param(
            {"conditions": [{**CONDITION, "type": "Happy"}]},
            "status.conditions[0].type",
            id="an-unknown-condition",
        ),
    ],
)
def test_a_status_that_is_not_in_the_schema_is_refused(
    test_object: LiveCluster, status: dict[str, Any], field: str
) -> None:
    with pytest.raises(AssertionError) as caught:
        write_status(test_object, **status)
    assert field in str(caught.value)


def test_kubectl_explains_every_field(cluster: LiveCluster) -> None:
    lines = cluster.kubectl("explain", "slt", "--recursive").splitlines()
    assert any(line.strip().startswith("maxStartups\t<string>") for line in lines)
    explained = cluster.kubectl("explain", "slt.spec.load.arrivals.stages.rate")
    assert "Iterations begun per second, over all workers." in explained
