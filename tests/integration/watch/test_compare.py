"""`sshload compare` follows a comparison of a real API server; the test writes the status in the operator's place."""

import json
import signal
from typing import Any

import pytest
from live_cluster import WITHIN_S, LiveCluster, load_test
from local_cli import Started, interrupt, sshload, start, wait_until
from sim_comparison import SimComparison, comparison_spec, measured


def played(rounds: int, over: int) -> dict[str, Any]:
    """Return the status of a comparison of so many rounds after so many tests, of which b's took twice as long."""
    world = SimComparison(spec=comparison_spec("a", "b", repeats=rounds))
    world.settle()
    for _ in range(over):
        (name,) = world.under_way()
        world.end(name, measured(40.0 if name.endswith("-a") else 80.0))
        world.settle()
    return dict(world.status)


def apply(cluster: LiveCluster) -> None:
    spec = {"base": load_test("base")["spec"], "variants": [{"name": "a"}, {"name": "b"}]}
    metadata = {"name": "cmp"}
    kind = "SSHLoadTestComparison"
    cluster.apply({"apiVersion": "sshload.dev/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec})


def write_status(cluster: LiveCluster, status: dict[str, Any]) -> None:
    cluster.change("sltc", "cmp", {"status": status}, "status")


def options(cluster: LiveCluster) -> list[str]:
    return ["--namespace", cluster.namespace, "--kubeconfig", str(cluster.kubeconfig), "--timeout", str(WITHIN_S)]


def compare(cluster: LiveCluster, *more: str) -> Started:
    return start("compare", "cmp", *options(cluster), *more)


def test_a_comparison_is_followed_to_its_table(cluster: LiveCluster) -> None:
    apply(cluster)
    started = compare(cluster)
    wait_until(lambda: "Pending" in started.said(), "word of a comparison without status")
    write_status(cluster, played(3, over=4))
    wait_until(lambda: "Running: 4/6 tests over, " in started.said(), "word of the progress")
    write_status(cluster, played(3, over=6))
    ended = started.wait()
    assert ended.code == 0, ended.err
    total, more = (line.split() for line in ended.out.splitlines() if line.startswith("total p50 ms"))
    assert total == ["total", "p50", "ms", "40.0", "80.0", "2.000", "1.998", "to", "2.002", "slower"]
    assert more[:4] == ["total", "p50", "ms", "+40.0"]
    assert ended.out.startswith("Conclusive (Compared)")


@pytest.mark.parametrize(("rounds", "over", "code"), [(3, 6, 0), (2, 4, 2)])
def test_the_exit_code_is_the_verdicts(cluster: LiveCluster, rounds: int, over: int, code: int) -> None:
    apply(cluster)
    write_status(cluster, played(rounds, over))
    ended = compare(cluster, "--output", "json").wait()
    assert ended.code == code, ended.err
    assert json.loads(ended.out) == cluster.get("sltc", "cmp")


def test_ctrl_c_ends_the_watching_and_not_the_comparison(cluster: LiveCluster) -> None:
    apply(cluster)
    started = compare(cluster)
    wait_until(lambda: "Pending" in started.said(), "word of the comparison")
    interrupt(started, signal.SIGINT)
    ended = started.wait()
    assert ended.code == 130
    assert "the SSHLoadTestComparison goes on in the cluster" in ended.err
    assert cluster.exists("sltc", "cmp")


def test_a_test_of_that_name_is_no_comparison(cluster: LiveCluster) -> None:
    cluster.apply(load_test("one"))
    ended = sshload("compare", "one", *options(cluster))
    assert (ended.code, ended.out) == (4, "")
    said = f"sshload: there is no SSHLoadTestComparison one in the namespace {cluster.namespace}"
    assert ended.err.splitlines()[-1].startswith(said)
