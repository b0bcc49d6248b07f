"""The ConfigMap that keeps a run's results."""

import base64
import gzip
import json
from dataclasses import replace
from typing import Any

from sshload_contract.wire.codec import to_json, to_plain
from sshload_contract.wire.run_summary import RunSummary, shortened_summaries

from sshload_operator.manifests.labels import Part, metadata
from sshload_operator.manifests.run_config import cluster_places, run_config
from sshload_operator.planning.plan import Plan
from sshload_operator.state import Manifest

RESULTS_FILE = "results.json"
SUMMARY_FILE = "summary.json.gz"
RUN_FILE = "run.json"

_LIMIT_CHARACTERS = 900_000
# A spec has 32 KiB, and an allow-list of 1,000 entries several times as much.
_RUN_LIMIT_BYTES = 400_000


def results_config_map(plan: Plan, summary: RunSummary) -> Manifest:
    """Return the ConfigMap of the run's results, below the API server's limit of 1 MiB.

    `results.json` is for people: the summary without histograms and time series. `summary.json.gz` is the whole
    RunSummary, `run.json` the configuration of its master, because the installation may have changed since. If the
    whole is too large, `omitted` in both says what was left out. Raises ValueError if not even the totals fit, which no
    master of ours prints.
    """
    run_json = _run_json(plan, summary)
    smaller = shortened_summaries(replace(summary, run_json=""))
    fitting = next((texts for texts in map(_texts, smaller) if _fits(run_json, *texts)), None)
    if fitting is None:
        raise ValueError("the totals of all trials are too large for a ConfigMap")
    results_json, packed = fitting
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(plan, Part.RESULTS),
        "data": {RESULTS_FILE: results_json, RUN_FILE: run_json},
        "binaryData": {SUMMARY_FILE: packed},
    }


def _run_json(plan: Plan, summary: RunSummary) -> str:
    """Return the configuration that the master reports, with `?` for what is no Unicode text (lone surrogates).

    If it reports none, or one that is too large, return the one that follows from the plan.
    """
    said = summary.run_json.encode(errors="replace")
    return said.decode() if 0 < len(said) <= _RUN_LIMIT_BYTES else to_json(run_config(plan, cluster_places(plan)))


def _texts(summary: RunSummary) -> tuple[str, str]:
    plain: dict[str, Any] = to_plain(replace(summary, series=(), histograms=()))
    del plain["series"], plain["histograms"], plain["run_json"]
    results_json = json.dumps(plain, indent=2, allow_nan=False)
    packed = gzip.compress(to_json(summary).encode(), mtime=0)
    return results_json, base64.b64encode(packed).decode("ascii")


def _fits(*texts: str) -> bool:
    return sum(len(text.encode()) for text in texts) <= _LIMIT_CHARACTERS
