"""Pages of reports are made by a process of their own, of what the API server gave, within a bound of memory."""

import base64
import gzip
import json
import subprocess
import sys
from typing import Any

import finished_runs
import plans
import pytest
import reported
from sshload_operator.control.pages.rendering import page_of
from sshload_operator.manifests.results import results_config_map
from sshload_operator.report.saved_run import KeptObject, ReportError

RUN = finished_runs.a_test()


def as_object(kept: Any) -> dict[str, Any]:
    metadata = {"name": kept.name, "namespace": kept.namespace}
    return {"metadata": metadata, "spec": kept.spec, "status": kept.status}


def asked(kind: str, kept: Any, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "object": as_object(kept), "home": "/ui/ns", **more}


def made(request: dict[str, Any]) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "sshload_operator.control.pages.rendering"]
    return subprocess.run(command, input=json.dumps(request).encode(), capture_output=True, check=False, env={})


def page(answer: bytes) -> str:
    policy, _, packed = answer.partition(b"\n")
    assert policy.startswith(b"default-src 'none'")
    return gzip.decompress(packed).decode()


def test_each_kind_has_a_page_with_a_way_back() -> None:
    schedule, tests = reported.a_schedule()
    requests = (
        asked("test", RUN, configMap=None),
        asked("comparison", reported.a_comparison("a", "b")),
        asked("schedule", schedule, tests=list(map(as_object, tests))),
    )
    for request in requests:
        assert '<a href="/ui/ns">' in page(page_of(request))


def test_a_test_that_was_held_against_a_baseline_is_laid_over_it() -> None:
    before = {"object": as_object(finished_runs.a_test(points=5)), "configMap": None}
    assert '"against":{' in page(page_of(asked("test", RUN, baseline=before)))
    again = {"object": {**before["object"], "status": {"phase": "Running"}}, "configMap": None}
    for baseline in (again, None):
        assert '"against":{' not in page(page_of(asked("test", RUN, baseline=baseline)))


@pytest.mark.slow
def test_the_largest_page_is_made_within_the_bound_of_memory() -> None:
    run = finished_runs.largest()
    assert run.summary is not None
    answer = made(asked("test", run, configMap=results_config_map(plans.plan(), run.summary)))
    assert answer.returncode == 0, answer.stderr
    assert "a-step-with-a-long-name-179" in page(answer.stdout)


@pytest.mark.slow
def test_a_summary_that_takes_too_much_memory_costs_its_page() -> None:
    many = ",".join(["[]"] * 13_000_000)
    bomb = base64.b64encode(gzip.compress(f"[{many}]".encode())).decode()
    answer = made(asked("test", RUN, configMap={"binaryData": {"summary.json.gz": bomb}}))
    assert answer.returncode == 1
    assert b"there is no page" in answer.stderr


def test_what_is_no_object_has_no_page() -> None:
    with pytest.raises(ReportError):
        page_of(asked("test", KeptObject("one", "ns", {}, {"phase": "Running"})))
