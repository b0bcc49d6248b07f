"""A report as one HTML page that loads nothing else: it contains the style, the scripts and the document."""

import base64
import hashlib
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from typing import Any, Final

from sshload_operator.report.comparison import COMPARISON_REPORT_VERSION
from sshload_operator.report.document import REPORT_VERSION, json_text
from sshload_operator.report.schedule import SCHEDULE_REPORT_VERSION
from sshload_operator.report.sweep import SWEEP_REPORT_VERSION

_SHARED_SCRIPTS: Final = ("vendor/d3.min.js", "vendor/plot.umd.min.js", "draw.js")
_SUBJECTS: Final = {
    REPORT_VERSION: "test",
    COMPARISON_REPORT_VERSION: "comparison",
    SWEEP_REPORT_VERSION: "sweep",
    SCHEDULE_REPORT_VERSION: "schedule",
}
"""The subject of a document by its version: the field with its name, and the name of its script."""

_NOTHING: Final = "default-src 'none'; base-uri 'none'; form-action 'none'"


def html_page(document: Mapping[str, Any], home: str = "") -> str:
    """Return the page of a report, with a link to `home` if there is one.

    By its policy, only its own scripts run, and it loads nothing.
    """
    subject = _SUBJECTS[document["version"]]
    page = files(__package__).joinpath("page")
    parts = {
        "@POLICY@": policy(document),
        "@TITLE@": escape(f"{document[subject]['name']}: {document['verdict']['word'] or 'no verdict'}"),
        "@STYLE@": page.joinpath("report.css").read_text(encoding="utf-8"),
        "@HOME@": f'<p><a href="{escape(home)}">All tests</a></p>' if home else "",
        "@DOCUMENT@": json_text(document),
        "@SCRIPTS@": "\n".join(f"<script>{script}</script>" for script in _scripts(document)),
    }
    found = page.joinpath("report.html").read_text(encoding="utf-8")
    pieces: list[str] = []
    for name, text in parts.items():  # each once and in this order, so that no text is taken for a place
        before, _, found = found.partition(name)
        pieces += (before, text)
    return "".join((*pieces, found))


def policy(document: Mapping[str, Any]) -> str:
    """Return the Content-Security-Policy of the page of a report."""
    hashes = " ".join(f"'sha256-{_sha256(script)}'" for script in _scripts(document))
    return f"{_NOTHING}; script-src {hashes}; style-src 'unsafe-inline'"


def _scripts(document: Mapping[str, Any]) -> list[str]:
    page = files(__package__).joinpath("page")
    names = (*_SHARED_SCRIPTS, f"{_SUBJECTS[document['version']]}.js")
    return [page.joinpath(*name.split("/")).read_text(encoding="utf-8") for name in names]


def _sha256(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
