"""A comparison on the cluster, followed to its end by `sshload compare`."""

import itertools
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from generator_reruns import lagged_comparison, rerun_while_lagging
from live_cluster import LiveCluster, Manifest

SSHLOAD = Path(sys.executable).parent / "sshload"
WITHIN_S = 900

Status = dict[str, Any]
Figure = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison that has ended: its status, those of its tests, and what `sshload compare` printed."""

    cluster: LiveCluster
    name: str
    printed: str
    exit_code: int
    status: Status
    tests: dict[str, Status]

    @property
    def variants(self) -> list[str]:
        """The names of the variants, the first one first."""
        return [variant["name"] for variant in self.status["results"]["variants"]]

    def of(self, variant: str) -> list[Status]:
        """Return the statuses of a variant's tests."""
        return [self.tests[run["test"]] for run in self.status["tests"] if run["variant"] == variant]

    def figures(self, variant: str) -> dict[str, Figure]:
        """Return a variant's figures by step and name, as `total.p50Ms`."""
        found = next(item for item in self.status["results"]["variants"] if item["name"] == variant)
        return {".".join(filter(None, (one.get("step"), one["figure"]))): one for one in found["figures"]}


def compared(cluster: LiveCluster, objects: Sequence[Manifest]) -> Comparison:
    """Apply a comparison with what belongs to it, and follow it to its end.

    All of this is done again, with new objects, where the machine kept the generator of one of its tests from the CPU
    each time that the operator made it.
    """
    name = next(item["metadata"]["name"] for item in objects if item["kind"] == "SSHLoadTestComparison")
    attempts = itertools.count()

    def compare_once() -> Comparison:
        if next(attempts):
            cluster.delete("sltc", name)
            cluster.gone(lambda: cluster.labelled("slt", f"sshload.dev/comparison={name}"), "tests of the one before")
        cluster.apply(*objects)
        return _followed(cluster, name)

    found = rerun_while_lagging(compare_once, lambda done: lagged_comparison(done.status))
    assert "results" in found.status, f"{found.printed}{found.status['message']}"
    return found


def _followed(cluster: LiveCluster, name: str) -> Comparison:
    where = ["--namespace", cluster.namespace, "--kubeconfig", str(cluster.kubeconfig), "--timeout", str(WITHIN_S)]
    command = [str(SSHLOAD), "compare", name, "--verbose", *where]
    wide = {**os.environ, "COLUMNS": "200"}
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=WITHIN_S + 30, env=wide)
    status = cluster.get("sltc", name)["status"]
    tests = {run["test"]: cluster.status(run["test"]) for run in status.get("tests", ())}
    return Comparison(cluster, name, ended.stdout, ended.returncode, status, tests)
