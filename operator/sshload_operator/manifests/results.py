"""The ConfigMap that keeps a run's results."""

import base64
import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from sshload_contract.codec import to_json, to_plain
from sshload_contract.run_summary import RunSummary

from sshload_operator.manifests.labels import metadata
from sshload_operator.manifests.names import Part
from sshload_operator.manifests.run_config import cluster_places, run_config
from sshload_operator.planning.plan import Plan
from sshload_operator.state import Manifest

RESULTS_FILE = "results.json"
SUMMARY_FILE = "summary.json.gz"
RUN_FILE = "run.json"

_LIMIT_CHARACTERS = 900_000
_FEW_ERRORS = 100
_SHORT_MESSAGE = 1_000


@dataclass(frozen=True, slots=True)
class _Kept:
    summary: RunSummary
    omitted: tuple[str, ...]


def results_config_map(plan: Plan, summary: RunSummary) -> Manifest:
    """Return the ConfigMap of the run's results, below the API server's limit of 1 MiB whatever the summary's size.

    `results.json` is for people: the summary without histograms and time series. `summary.json.gz` is the whole
    RunSummary, `run.json` what was run. Where the whole is too large, the time series goes first, then the histograms,
    then all but the first errors; `omitted` in results.json says what went.
    """
    run_json = to_json(run_config(plan, cluster_places(plan)))
    results_json, packed = next(texts for texts in map(_texts, _ever_smaller(summary)) if _fits(run_json, *texts))
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(plan, Part.RESULTS),
        "data": {RESULTS_FILE: results_json, RUN_FILE: run_json},
        "binaryData": {SUMMARY_FILE: packed},
    }


def _ever_smaller(summary: RunSummary) -> Iterator[_Kept]:
    yield _Kept(summary, ())
    without_series = replace(summary, series=())
    yield _Kept(without_series, ("series",))
    without_histograms = replace(without_series, histograms=())
    yield _Kept(without_histograms, ("series", "histograms"))
    few_errors = replace(without_histograms, errors=summary.errors[:_FEW_ERRORS])
    yield _Kept(few_errors, ("series", "histograms", f"errors after the first {_FEW_ERRORS}"))
    totals = replace(few_errors, steps=(), errors=(), negotiated=(), message=summary.message[:_SHORT_MESSAGE])
    yield _Kept(totals, ("all but the totals",))


def _texts(kept: _Kept) -> tuple[str, str]:
    plain: dict[str, Any] = to_plain(replace(kept.summary, series=(), histograms=()))
    del plain["series"], plain["histograms"]
    results_json = json.dumps({**plain, "omitted": list(kept.omitted)}, indent=2, allow_nan=False)
    packed = gzip.compress(to_json(kept.summary).encode(), mtime=0)
    return results_json, base64.b64encode(packed).decode("ascii")


def _fits(*texts: str) -> bool:
    return sum(len(text.encode()) for text in texts) <= _LIMIT_CHARACTERS
