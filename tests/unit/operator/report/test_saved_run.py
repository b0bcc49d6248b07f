"""What is read of a kept run: the run, or a refusal that says what to do."""

import base64
import gzip
import json
from typing import Any

import finished_runs
import plans
import pytest
from sshload_operator.manifests.results import results_config_map
from sshload_operator.report.saved_run import (
    ReportError,
    SavedRun,
    finished_run,
    saved_json,
    saved_run_of,
    saved_run_text,
    summary_in,
)

RUN = finished_runs.a_test()
TEST: dict[str, Any] = {
    "apiVersion": "sshload.dev/v1alpha1",
    "kind": "SSHLoadTest",
    "metadata": {"name": RUN.name, "namespace": RUN.namespace},
    "spec": RUN.spec,
    "status": RUN.status,
}


def test_a_saved_run_is_read_back_whole() -> None:
    assert saved_run_of(saved_json(saved_run_text(TEST, RUN.summary).encode())) == RUN


def test_a_run_without_a_summary_is_saved_too() -> None:
    assert saved_run_of(saved_json(saved_run_text(TEST, None).encode())).summary is None


def test_what_sshload_run_printed_as_json_is_a_run_without_a_summary() -> None:
    expected = SavedRun(RUN.name, RUN.namespace, RUN.spec, RUN.status, None)
    assert saved_run_of(saved_json(json.dumps(TEST).encode())) == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param(b"", "is not a run", id="empty"),
        pytest.param(b"\xff", "is not a run", id="no UTF-8"),
        pytest.param(b"[]", "is not a run", id="a list"),
        pytest.param(b"[" * 100_000, "is not a run", id="nested deeply"),
        pytest.param(b'{"version": "savedRun.v1"}', "no metadata", id="no test"),
        pytest.param(json.dumps({**TEST, "status": {"phase": "Running"}}).encode(), "is not finished", id="under way"),
        pytest.param(json.dumps({**TEST, "metadata": {"name": "../x"}}).encode(), "is not a run", id="no name"),
        pytest.param(json.dumps({**TEST, "spec": {"x": "y" * 40_000}}).encode(), "is not a run", id="a huge spec"),
        pytest.param(
            json.dumps({**TEST, "spec": {"x": "?"}}).replace('"?"', "[" * 600 + "]" * 600).encode(),
            "nested more than 50 levels",
            id="a spec nested deeply",
        ),
        pytest.param(
            json.dumps({"version": "savedRun.v1", "test": TEST, "summary": {"version": "x"}}).encode(),
            "is not a run",
            id="no summary",
        ),
    ],
)
def test_what_is_no_finished_run_is_refused(text: bytes, problem: str) -> None:
    with pytest.raises(ReportError, match=problem):
        saved_run_of(saved_json(text))


def test_the_summary_of_a_cluster_is_read_out_of_its_config_map() -> None:
    assert RUN.summary is not None
    assert summary_in(results_config_map(plans.plan(), RUN.summary)) == RUN.summary


@pytest.mark.parametrize(
    "config_map",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"binaryData": {}}, id="no summary"),
        pytest.param({"binaryData": {"summary.json.gz": "?"}}, id="no base64"),
        pytest.param({"binaryData": {"summary.json.gz": "AAAA"}}, id="no gzip"),
        pytest.param(
            {"binaryData": {"summary.json.gz": base64.b64encode(gzip.compress(b" " * 50_000_000)).decode()}},
            id="a bomb",
        ),
    ],
)
def test_what_is_no_summary_is_refused(config_map: dict[str, Any]) -> None:
    with pytest.raises(ReportError, match="summary"):
        summary_in(config_map)


def test_a_test_that_was_never_run_is_refused() -> None:
    with pytest.raises(ReportError, match="wait until it is finished"):
        finished_run({**TEST, "status": None}, None)
