"""Several tests after each other without a cluster: the variants of a comparison, and the values of a sweep."""

import csv
import io
import json
import signal
from pathlib import Path
from typing import Any

import yaml
from generator_reruns import rerun_while_lagging
from local_cli import Ended, interrupt, sshload, start, wait_until, write_test


def write_comparison(folder: Path, repeats: int = 1) -> Path:
    base: dict[str, Any] = yaml.safe_load(write_test(folder).read_text())["spec"]
    slow = {"scenario": {"steps": [{"exec": {"command": "sleep 0.3; echo here", "expectStdout": "here"}}]}}
    spec = {"base": base, "variants": [{"name": "a"}, {"name": "b", "patch": slow}], "repeats": repeats}
    kind = "SSHLoadTestComparison"
    path = folder / "comparison.yaml"
    metadata = {"name": "cmp"}
    path.write_text(
        yaml.safe_dump({"apiVersion": "sshload.dev/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec})
    )
    return path


def test_a_comparison_is_run_here_with_the_status_that_a_cluster_would_have(tmp_path: Path) -> None:
    ended = sshload("compare", "-f", write_comparison(tmp_path), "--output", "json")
    compared = json.loads(ended.out)
    assert compared["kind"] == "SSHLoadTestComparison"
    status = compared["status"]
    assert (ended.code, status["verdict"]) == (2, "Inconclusive"), ended.err
    assert [test["test"] for test in status["tests"]] == ["cmp-1-a", "cmp-1-b"]
    figures = {one["name"]: one["figures"] for one in status["results"]["variants"]}
    total = {
        name: next(one["value"] for one in found if (one.get("step"), one["figure"]) == ("total", "p50Ms"))
        for name, found in figures.items()
    }
    assert total["b"] > total["a"] + 250


def test_ctrl_c_ends_a_comparison_with_what_was_measured(tmp_path: Path) -> None:
    started = start("compare", "-f", write_comparison(tmp_path, repeats=9), "--output", "json")
    wait_until(lambda: "cmp-1-b is being made" in started.said(), "the second test")
    interrupt(started, signal.SIGINT)
    ended = started.wait()
    status = json.loads(ended.out)["status"]
    assert (ended.code, status["verdict"]) == (5, "Aborted"), ended.err
    assert [test["test"] for test in status["tests"]][:1] == ["cmp-1-a"]
    assert started.left_behind() == []


def test_a_sweep_runs_the_test_at_each_value(tmp_path: Path) -> None:
    over = "load.users.stages.0.users=1,3"
    command = ("sweep", write_test(tmp_path), "--over", over, "--output", "csv", "--logs", tmp_path / "logs")
    rows = rerun_while_lagging(lambda: rows_of(sshload(*command)), worst)
    assert [row["load.users.stages.0.users"] for row in rows] == ["1", "3"]
    assert float(rows[1]["completedRate"]) > float(rows[0]["completedRate"])
    assert sorted(path.name for path in (tmp_path / "logs").iterdir()) == ["small-1", "small-2"]


def rows_of(ended: Ended) -> list[dict[str, str]]:
    """Return the rows of a sweep's CSV."""
    return list(csv.DictReader(io.StringIO(ended.out)))


def worst(rows: list[dict[str, str]]) -> dict[str, str]:
    """Return the row of a sweep that is Invalid, else an empty one."""
    return next((row for row in rows if row["verdict"] == "Invalid"), {})


def test_no_value_is_run_where_one_is_not_valid(tmp_path: Path) -> None:
    ended = sshload("sweep", write_test(tmp_path), "--over", "workers.replicas=1,0")
    assert (ended.code, ended.out) == (4, "")
    assert "workers.replicas = 0" in ended.err
    assert "Preparing" not in ended.err
