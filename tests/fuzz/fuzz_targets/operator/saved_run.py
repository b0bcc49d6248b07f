"""A file of `sshload run --save`, as `sshload report` reads it.

Input: the file.
Oracle: only ReportError is raised by reading it. Of what is read a document, a page and Markdown are made, without an
error and in text that UTF-8 can write; the page is bounded, and no text of the run ends its scripts.
"""

import json
from collections.abc import Iterator

import finished_runs
from json_mutation import mutate_json
from runs import summary
from sshload_operator.report.document import report_document
from sshload_operator.report.html_page import html_page
from sshload_operator.report.markdown import markdown_text
from sshload_operator.report.saved_run import ReportError, SavedRun, saved_json, saved_run_of, saved_run_text

_PAGE_LIMIT_BYTES = 1_500_000
_SCRIPTS = 5


def seeds() -> Iterator[bytes]:
    """Yield a test and a search with few intervals, and a test as `sshload run -o json` prints it."""
    small = finished_runs.a_test(points=3, message=finished_runs.HOSTILE, histograms=finished_runs.histograms()[:1])
    searched = finished_runs.a_search()
    for run in (small, searched):
        whole = None if run.summary is None else summary(series=run.summary.series[:3], search=run.summary.search)
        yield saved_run_text(_object(run), whole).encode()
    yield json.dumps(_object(small)).encode()


def _object(run: SavedRun) -> dict[str, object]:
    metadata = {"name": run.name, "namespace": run.namespace}
    return {"kind": "SSHLoadTest", "metadata": metadata, "spec": run.spec, "status": run.status}


def mutate(data: bytes, seed: int) -> bytes:
    """Change the file as JSON."""
    return mutate_json(data, seed)


def check(data: bytes) -> None:
    """Read a file, and write all that a report can be."""
    try:
        run = saved_run_of(saved_json(data))
    except ReportError:
        return
    document = report_document(run, "0.1.0")
    page = html_page(document).encode()
    assert len(page) <= _PAGE_LIMIT_BYTES
    assert page.count(b"</script") == _SCRIPTS
    markdown_text(document).encode()
