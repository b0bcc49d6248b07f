"""The report as one page of HTML that asks for nothing else: style, scripts and the document are inside."""

import base64
import hashlib
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from typing import Any, Final

from sshload_operator.report.document import json_text

_SCRIPTS: Final = ("vendor/d3.min.js", "vendor/plot.umd.min.js", "report.js")

_NOTHING: Final = "default-src 'none'; base-uri 'none'; form-action 'none'"


def html_page(document: Mapping[str, Any]) -> str:
    """Return the page of a report. Its policy lets run no script but its own three, and load nothing."""
    page = files(__package__).joinpath("page")
    scripts = [page.joinpath(*name.split("/")).read_text(encoding="utf-8") for name in _SCRIPTS]
    hashes = " ".join(f"'sha256-{_sha256(script)}'" for script in scripts)
    parts = {
        "@POLICY@": f"{_NOTHING}; script-src {hashes}; style-src 'unsafe-inline'",
        "@TITLE@": escape(f"{document['test']['name']}: {document['verdict']['word'] or 'no verdict'}"),
        "@STYLE@": page.joinpath("report.css").read_text(encoding="utf-8"),
        "@DOCUMENT@": json_text(document),
        "@SCRIPTS@": "\n".join(f"<script>{script}</script>" for script in scripts),
    }
    found = page.joinpath("report.html").read_text(encoding="utf-8")
    pieces: list[str] = []
    for name, text in parts.items():  # each once and in this order, so that no text is taken for a place
        before, _, found = found.partition(name)
        pieces += (before, text)
    return "".join((*pieces, found))


def _sha256(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
