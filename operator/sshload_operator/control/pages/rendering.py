"""`python -m sshload_operator.control.pages.rendering`: makes the page of a report.

It is a process of its own, so that no page delays a pass, and the memory that a page takes is free afterwards. It reads
JSON with objects of the API server. It writes the page's Content-Security-Policy as one line, and then the page,
compressed by gzip.
"""

import gzip
import json
import resource
import sys
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, Final

from sshload_operator.report.comparison import comparison_document
from sshload_operator.report.document import report_document
from sshload_operator.report.html_page import html_page, policy
from sshload_operator.report.saved_run import ReportError, SavedRun, finished_run, kept_object, summary_in
from sshload_operator.report.schedule import schedule_document

MEMORY_LIMIT_BYTES: Final = 320 * 1024 * 1024
"""The limit of address space. A crafted summary can take more memory than the operator's pod has; it gets no page."""

_FAST: Final = 4


def page_of(asked: Mapping[str, Any]) -> bytes:
    """Return the policy and the page of a request, which has `kind`, `object` with what belongs to it, and `home`.

    Raises ReportError.
    """
    document = _document(asked)
    text = html_page(document, asked["home"])
    return policy(document).encode() + b"\n" + gzip.compress(text.encode(), _FAST)


def _document(asked: Mapping[str, Any]) -> Mapping[str, Any]:
    release = version("sshload")
    if asked["kind"] == "comparison":
        return comparison_document(kept_object(asked["object"]), release)
    if asked["kind"] == "schedule":
        return schedule_document(kept_object(asked["object"]), tuple(map(kept_object, asked["tests"])), release)
    return report_document(_run(asked), release, _baseline(asked.get("baseline")))


def _run(asked: Mapping[str, Any]) -> SavedRun:
    config_map = asked.get("configMap")
    return finished_run(asked["object"], summary_in(config_map) if config_map else None)


def _baseline(asked: Mapping[str, Any] | None) -> SavedRun | None:
    """Return the run of a baseline, None if it cannot be read: the baseline's test may just be running again."""
    try:
        return None if asked is None else _run(asked)
    except ReportError:
        return None


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT_BYTES, MEMORY_LIMIT_BYTES))
    try:
        sys.stdout.buffer.write(page_of(json.load(sys.stdin.buffer)))
    except (ReportError, MemoryError) as error:
        sys.exit(f"there is no page: {error or 'it would take too much memory'}")
