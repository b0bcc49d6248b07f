"""Comparisons, schedules and sweeps, as `sshload report` and the operator's pages read them of a file or a cluster.

Input: the JSON of the object, or of a file of `sshload sweep --save`.
Oracle: only ReportError is raised by reading it. Of what is read a document, a page and Markdown are made, without an
error and in text that UTF-8 can write; the page is bounded, and no text ends its scripts.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import reported
from json_mutation import mutate_json
from sshload_operator.report.comparison import comparison_document
from sshload_operator.report.html_page import html_page
from sshload_operator.report.markdown import markdown_text
from sshload_operator.report.saved_run import KeptObject, ReportError, kept_object, saved_json
from sshload_operator.report.schedule import schedule_document
from sshload_operator.report.sweep import saved_sweep_of, saved_sweep_text, sweep_document

_PAGE_LIMIT_BYTES = 1_500_000
_SCRIPTS = 5
_RELEASE = "0.1.0"


def seeds() -> Iterator[bytes]:
    """Yield a comparison, a schedule with a test of its own, and a sweep."""
    schedule, tests = reported.a_schedule()
    yield json.dumps(_object(reported.a_comparison("a", "b", rounds=3))).encode()
    yield json.dumps({**_object(schedule), "tests": [_object(tests[-1])]}).encode()
    sweep = reported.a_sweep()
    points = [(value, _object(test)) for value, test in sweep.points[-2:]]
    yield saved_sweep_text(sweep.name, sweep.field, sweep.planned, points).encode()


def _object(kept: KeptObject) -> dict[str, Any]:
    metadata = {"name": kept.name, "namespace": kept.namespace}
    return {"metadata": metadata, "spec": kept.spec, "status": kept.status}


def mutate(data: bytes, seed: int) -> bytes:
    """Change the file as JSON."""
    return mutate_json(data, seed)


def check(data: bytes) -> None:
    """Read an object, and write all that a report can be."""
    try:
        document = _document(saved_json(data))
    except ReportError:
        return
    page = html_page(document).encode()
    assert len(page) <= _PAGE_LIMIT_BYTES
    assert page.count(b"</script") == _SCRIPTS
    markdown_text(document).encode()


def _document(found: Any) -> Mapping[str, Any]:
    parts = found if isinstance(found, dict) else {}
    if "points" in parts:
        return sweep_document(saved_sweep_of(parts), _RELEASE)
    if isinstance(parts.get("tests"), list):
        return schedule_document(kept_object(parts), tuple(map(kept_object, parts["tests"])), _RELEASE)
    return comparison_document(kept_object(parts), _RELEASE)
