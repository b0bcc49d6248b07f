"""The ConfigMap that keeps a run's results."""

import base64
import gzip
import json
from dataclasses import replace
from typing import Any

from sshload_contract.codec import to_json, to_plain
from sshload_contract.run_summary import RunSummary, smaller_and_smaller

from sshload_operator.manifests.labels import metadata
from sshload_operator.manifests.names import Part
from sshload_operator.manifests.run_config import cluster_places, run_config
from sshload_operator.planning.plan import Plan
from sshload_operator.state import Manifest

RESULTS_FILE = "results.json"
SUMMARY_FILE = "summary.json.gz"
RUN_FILE = "run.json"

_LIMIT_CHARACTERS = 900_000


def results_config_map(plan: Plan, summary: RunSummary) -> Manifest:
    """Return the ConfigMap of the run's results, below the API server's limit of 1 MiB whatever the summary's size.

    `results.json` is for people: the summary without histograms and time series. `summary.json.gz` is the whole
    RunSummary, `run.json` what was run. Where the whole is too large, `omitted` in both says what was left out.
    """
    run_json = to_json(run_config(plan, cluster_places(plan)))
    results_json, packed = next(texts for texts in map(_texts, smaller_and_smaller(summary)) if _fits(run_json, *texts))
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(plan, Part.RESULTS),
        "data": {RESULTS_FILE: results_json, RUN_FILE: run_json},
        "binaryData": {SUMMARY_FILE: packed},
    }


def _texts(summary: RunSummary) -> tuple[str, str]:
    plain: dict[str, Any] = to_plain(replace(summary, series=(), histograms=()))
    del plain["series"], plain["histograms"]
    results_json = json.dumps(plain, indent=2, allow_nan=False)
    packed = gzip.compress(to_json(summary).encode(), mtime=0)
    return results_json, base64.b64encode(packed).decode("ascii")


def _fits(*texts: str) -> bool:
    return sum(len(text.encode()) for text in texts) <= _LIMIT_CHARACTERS
