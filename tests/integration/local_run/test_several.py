"""Several tests after each other without a cluster: the variants of a comparison, and the values of a sweep."""

import csv
import io
import json
import signal
from pathlib import Path
from typing import Any

import yaml
from generator_reruns import lagged_comparison, rerun_while_lagging
from local_cli import Ended, interrupt, sshload, start, wait_until, write_test

ARRIVALS = {"arrivals": {"rate": 5, "duration": "2s"}}


def write_comparison(folder: Path, repeats: int = 1) -> Path:
    """Write a comparison of a command that takes a second with one that takes two.

    They make samples enough however busy the machine is, and a generator's delay has to be long to spoil them.
    """
    base: dict[str, Any] = yaml.safe_load(write_test(folder, load=ARRIVALS, scenario=sleeping(1)).read_text())["spec"]
    variants = [{"name": "a"}, {"name": "b", "patch": {"scenario": sleeping(2)}}]
    spec = {"base": base, "variants": variants, "repeats": repeats}
    kind = "SSHLoadTestComparison"
    path = folder / "comparison.yaml"
    metadata = {"name": "cmp"}
    path.write_text(
        yaml.safe_dump({"apiVersion": "sshload.dev/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec})
    )
    return path


def sleeping(seconds: int) -> dict[str, Any]:
    return {"steps": [{"exec": {"command": f"sleep {seconds}; echo here", "expectStdout": "here"}}]}


def test_a_comparison_is_run_here_with_the_status_that_a_cluster_would_have(tmp_path: Path) -> None:
    path = write_comparison(tmp_path)
    ended = rerun_while_lagging(
        lambda: sshload("compare", "-f", path, "--output", "json"), lambda done: lagged_comparison(done.status)
    )
    status = ended.status
    assert json.loads(ended.out)["kind"] == "SSHLoadTestComparison"
    assert (ended.code, status["verdict"]) == (2, "Inconclusive"), ended.err
    assert [test["test"] for test in status["tests"]] == ["cmp-1-a", "cmp-1-b"]
    figures = {one["name"]: one["figures"] for one in status["results"]["variants"]}
    total = {
        name: next(one["value"] for one in found if (one.get("step"), one["figure"]) == ("total", "p50Ms"))
        for name, found in figures.items()
    }
    assert total["a"] >= 1_000
    assert total["b"] >= 2_000


def test_ctrl_c_ends_a_comparison_with_what_was_measured(tmp_path: Path) -> None:
    started = start("compare", "-f", write_comparison(tmp_path, repeats=9), "--output", "json")
    wait_until(lambda: "cmp-1-b is being made" in started.said(), "the second test")
    interrupt(started, signal.SIGINT)
    ended = started.wait()
    status = json.loads(ended.out)["status"]
    assert (ended.code, status["verdict"]) == (5, "Aborted"), ended.err
    assert [test["test"] for test in status["tests"]][:1] == ["cmp-1-a"]
    assert status["message"] == "it was ended early, after 1 of its 18 tests. Run it again to compare"
    assert "spec.abort" not in ended.out
    assert started.left_behind() == []


def test_a_sweep_runs_the_test_at_each_value(tmp_path: Path) -> None:
    over = "load.arrivals.rate=1,5"
    on_one_session = {"sessionReuse": "pool", "poolSize": 1, "steps": [{"exec": {"command": "true"}}]}
    test = write_test(tmp_path, load={"arrivals": {"rate": 1, "duration": "4s"}}, scenario=on_one_session)
    command = ("sweep", test, "--over", over, "--output", "csv", "--logs", tmp_path / "logs")
    rows = rerun_while_lagging(lambda: rows_of(sshload(*command)), worst)
    assert [row["load.arrivals.rate"] for row in rows] == ["1", "5"]
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
