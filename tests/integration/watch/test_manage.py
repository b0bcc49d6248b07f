"""`sshload apply`, `list`, `abort`, `rerun` and `advise` at a real API server; the test writes the status."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from live_cluster import WITHIN_S, LiveCluster, load_test
from local_cli import Ended, sshload, start, wait_until
from statuses import RESULTS

PASSED: dict[str, Any] = {
    "observedGeneration": 1,
    "phase": "Finished",
    "verdict": "Passed",
    "reason": "ThresholdsMet",
    "message": "all were met",
    "results": RESULTS,
}


def write_status(cluster: LiveCluster, status: dict[str, Any], name: str = "one") -> None:
    cluster.change("slt", name, {"status": status}, "status")


def ask(cluster: LiveCluster, *words: str | Path) -> Ended:
    return sshload(*words, "--namespace", cluster.namespace, "--kubeconfig", str(cluster.kubeconfig))


def write(folder: Path, *documents: dict[str, Any]) -> Path:
    path = folder / "file.yaml"
    path.write_text(yaml.safe_dump_all(documents))
    return path


def test_what_is_applied_is_as_it_is_written(cluster: LiveCluster, tmp_path: Path) -> None:
    test = load_test("one")
    test["metadata"]["labels"] = {"team": "login"}
    ended = ask(cluster, "apply", "-f", write(tmp_path, test))
    assert ended.code == 0, ended.err
    found = cluster.get("slt", "one")
    assert found["metadata"]["labels"] == {"team": "login"}
    assert found["spec"]["scenario"]["steps"] == test["spec"]["scenario"]["steps"]


def test_apply_with_wait_ends_with_the_result_and_the_code_of_the_verdict(cluster: LiveCluster, tmp_path: Path) -> None:
    path = write(tmp_path, load_test("one"))
    options = ["-n", cluster.namespace, "--kubeconfig", str(cluster.kubeconfig), "--timeout", str(WITHIN_S)]
    started = start("apply", "-f", path, "--wait", *options)
    wait_until(lambda: "Pending" in started.said(), "word of the test")
    write_status(cluster, {**PASSED, "verdict": "Failed"})
    ended = started.wait()
    assert ended.code == 1, ended.err
    assert ended.out.startswith("Failed (ThresholdsMet)")


def test_what_is_no_object_of_ours_is_named_and_not_applied(cluster: LiveCluster, tmp_path: Path) -> None:
    other = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}, "data": {}}
    ended = ask(cluster, "apply", "-f", write(tmp_path, load_test("one"), other))
    assert ended.code == 0, ended.err
    assert "ConfigMap other" in ended.err
    assert not cluster.exists("configmaps", "other")


def test_a_field_that_somebody_else_has_set_is_not_taken_over_unasked(cluster: LiveCluster, tmp_path: Path) -> None:
    cluster.apply(load_test("one", warmUp="7s"))
    path = write(tmp_path, load_test("one", warmUp="9s"))
    refused = ask(cluster, "apply", "-f", path)
    assert refused.code == 4
    assert "--force-conflicts" in refused.err
    assert cluster.get("slt", "one")["spec"]["warmUp"] == "7s"
    assert ask(cluster, "apply", "-f", path, "--force-conflicts").code == 0
    assert cluster.get("slt", "one")["spec"]["warmUp"] == "9s"


def test_a_file_that_is_not_valid_is_named_with_the_field(cluster: LiveCluster, tmp_path: Path) -> None:
    ended = ask(cluster, "apply", "-f", write(tmp_path, load_test("one", lod=1)))
    assert ended.code == 4
    assert "lod" in ended.err
    assert not cluster.exists("slt", "one")


def test_the_list_shows_how_each_object_stands(cluster: LiveCluster) -> None:
    cluster.apply(load_test("one"), load_test("two"))
    write_status(cluster, PASSED)
    ended = ask(cluster, "list")
    assert ended.code == 0, ended.err
    rows = [line.split() for line in ended.out.splitlines()]
    assert rows[0][:4] == ["kind", "name", "phase", "verdict"]
    assert rows[1][:5] == ["test", "one", "Finished", "Passed", "20.0"]
    assert rows[2][:4] == ["test", "two", "Pending", "-"]


def test_the_list_of_all_namespaces_names_them(cluster: LiveCluster) -> None:
    cluster.apply(load_test("one"))
    ended = ask(cluster, "list", "-A", "-o", "csv")
    rows = list(csv.DictReader(io.StringIO(ended.out)))
    assert (cluster.namespace, "one") in {(row["namespace"], row["name"]) for row in rows}


def test_an_empty_list_says_where_to_look(cluster: LiveCluster) -> None:
    ended = ask(cluster, "list")
    assert (ended.code, ended.out) == (0, "")
    assert "-A" in ended.err


def test_the_list_as_json_has_the_whole_objects(cluster: LiveCluster) -> None:
    cluster.apply(load_test("one"))
    (item,) = json.loads(ask(cluster, "list", "-o", "json").out)["items"]
    assert item["spec"] == cluster.get("slt", "one")["spec"]


def test_abort_sets_what_the_operator_looks_at(cluster: LiveCluster) -> None:
    cluster.apply(load_test("one"))
    assert ask(cluster, "abort", "one").code == 0
    assert cluster.get("slt", "one")["spec"]["abort"] is True


def test_rerun_is_a_change_that_starts_a_new_run_and_takes_an_abort_back(cluster: LiveCluster) -> None:
    cluster.apply(load_test("one"))
    assert ask(cluster, "abort", "one").code == 0
    before = cluster.get("slt", "one")
    assert ask(cluster, "rerun", "one").code == 0
    after = cluster.get("slt", "one")
    assert after["spec"]["abort"] is False
    assert after["spec"]["triggers"]["run-again"]
    assert after["metadata"]["generation"] > before["metadata"]["generation"]


@pytest.mark.parametrize("command", ["abort", "rerun", "advise"])
def test_a_test_that_is_not_there_is_named_with_where_to_look(cluster: LiveCluster, command: str) -> None:
    ended = ask(cluster, command, "none")
    assert (ended.code, ended.out) == (4, "")
    assert f"there is no SSHLoadTest none in the namespace {cluster.namespace}" in ended.err
    assert "sshload list -A" in ended.err


def test_the_namespace_is_the_contexts_where_none_is_named(cluster: LiveCluster, tmp_path: Path) -> None:
    config = yaml.safe_load(cluster.kubeconfig.read_text())
    config["contexts"][0]["context"]["namespace"] = cluster.namespace
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(yaml.safe_dump(config))
    cluster.apply(load_test("one"))
    write_status(cluster, PASSED)
    ended = sshload("watch", "one", "--kubeconfig", kubeconfig, "--timeout", str(WITHIN_S))
    assert ended.code == 0, ended.err
    assert "one" in sshload("list", "--kubeconfig", kubeconfig).out


def test_advice_has_the_line_to_paste(cluster: LiveCluster) -> None:
    cluster.apply(load_test("one"))
    startups = {"setting": "10:30:100", "recommended": "50:30:100", "observedDropPercent": 12.0, "message": "too few"}
    write_status(cluster, {**PASSED, "results": {**RESULTS, "maxStartups": startups}})
    ended = ask(cluster, "advise", "one")
    assert ended.code == 0, ended.err
    assert "\n    MaxStartups 50:30:100\n" in ended.out
