"""The examples of comparisons on the real cluster: what differs, by how much, and how sure that is."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from live_cluster import LiveCluster

EXAMPLES = Path(__file__).parents[2] / "examples"
SSHLOAD = Path(sys.executable).parent / "sshload"
WITHIN_S = 900
ROUNDS = 3

Status = dict[str, Any]
Figure = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison that has come to its end, as `sshload compare` printed it, with the statuses of its tests."""

    cluster: LiveCluster
    name: str
    printed: str
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


def manifests(file: str, image: str = "") -> list[dict[str, Any]]:
    """Return the objects of an example, its pods made from this image."""
    found = list(yaml.safe_load_all((EXAMPLES / file).read_text()))
    for item in found:
        if item["kind"] == "Pod":
            item["spec"]["containers"][0]["image"] = image
    return found


def follow(cluster: LiveCluster, name: str) -> subprocess.CompletedProcess[str]:
    """Follow a comparison as people do, to its end."""
    where = ["--namespace", cluster.namespace, "--kubeconfig", cluster.kubeconfig, "--timeout", str(WITHIN_S)]
    command = [SSHLOAD, "compare", name, *where]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=WITHIN_S + 30)


def compared(cluster: LiveCluster, file: str, image: str = "") -> Comparison:
    """Apply an example and follow its comparison to its end."""
    objects = manifests(file, image)
    name = objects[0]["metadata"]["name"]
    cluster.apply(*objects)
    ended = follow(cluster, name)
    status = cluster.get("sltc", name)["status"]
    tests = {run["test"]: cluster.status(run["test"]) for run in status["tests"]}
    assert ended.returncode == 0, f"{ended.stderr[-2000:]}{status['message']}"
    return Comparison(cluster, name, ended.stdout, status, tests)


@pytest.fixture(scope="module")
def max_startups(module_cluster: LiveCluster) -> Comparison:
    return compared(module_cluster, "15-max-startups.yaml")


@pytest.fixture(scope="module")
def libraries(module_cluster: LiveCluster) -> Comparison:
    return compared(module_cluster, "16-two-libraries.yaml")


@pytest.fixture(scope="module")
def post_quantum(module_cluster: LiveCluster) -> Comparison:
    return compared(module_cluster, "17-post-quantum.yaml")


def key(folder: Path, name: str) -> Path:
    path = folder / name
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", path], check=True)
    return path


@pytest.fixture(scope="module")
def bastion(
    module_cluster: LiveCluster, operator: Any, target_image: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Comparison]:
    """The comparison through a bastion, after the two things that its example says come first."""
    folder = tmp_path_factory.mktemp("keys")
    host_key, login_key = key(folder, "host_key"), key(folder, "login_key")
    known_hosts = folder / "known_hosts"
    known_hosts.write_text(f"[bastion]:2222 {host_key.with_suffix('.pub').read_text()}")
    secret = ("create", "secret", "generic")
    module_cluster.kubectl(
        *secret, "bastion-server", f"--from-file={host_key}", f"--from-file=authorized_keys={login_key}.pub"
    )
    module_cluster.kubectl(*secret, "bastion-login", f"--from-file=id={login_key}", f"--from-file={known_hosts}")
    operator.install("--set", "externalTargets[0].host=bastion")
    yield compared(module_cluster, "18-through-a-bastion.yaml", target_image)
    operator.install()


@pytest.fixture(params=["max_startups", "libraries", "post_quantum", "bastion"])
def comparison(request: pytest.FixtureRequest) -> Comparison:
    """Each of them."""
    found: Comparison = request.getfixturevalue(request.param)
    return found


def test_every_round_has_every_variant_each_time_another_one_first(comparison: Comparison) -> None:
    first, second = comparison.variants
    order = [(run["round"], run["variant"]) for run in comparison.status["tests"]]
    assert order == [(1, first), (1, second), (2, second), (2, first), (3, first), (3, second)]


def test_never_two_tests_ran_at_once(comparison: Comparison) -> None:
    times = [(test["startTime"], test["completionTime"]) for test in comparison.tests.values()]
    assert all(ended <= begun for (_, ended), (begun, _) in pairwise(times)), times


def test_it_is_conclusive_because_every_test_was_measured(comparison: Comparison) -> None:
    status = comparison.status
    assert (status["verdict"], status["reason"], status["progress"]) == ("Conclusive", "Compared", "6/6"), status
    assert [variant["measured"] for variant in status["results"]["variants"]] == [ROUNDS, ROUNDS]


def test_each_step_of_each_variant_has_its_median_with_a_ratio_and_an_interval(comparison: Comparison) -> None:
    first, second = comparison.variants
    for variant in (first, second):
        figures = comparison.figures(variant)
        steps = {step["step"] for test in comparison.of(variant) for step in test["results"]["steps"]}
        assert {"connect", "login", "total"} <= steps
        for step in steps:
            figure = figures[f"{step}.p50Ms"]
            found = [item["p50Ms"] for test in comparison.of(variant) for item in test["results"]["steps"]
                     if item["step"] == step]  # fmt: skip
            assert min(found) <= figure["value"] <= max(found)
            is_compared = variant == second and f"{step}.p50Ms" in comparison.figures(first)
            assert ("low" in figure) == is_compared
            assert not is_compared or figure["low"] <= figure["ratio"] <= figure["high"]


def test_the_table_shows_both_variants_and_ends_with_the_verdict(comparison: Comparison) -> None:
    lines = comparison.printed.splitlines()
    assert lines[0].split()[:4] == ["figure", *comparison.variants, "ratio"]
    (total,) = (line for line in lines if line.startswith("total p50 ms"))
    assert f"{comparison.figures(comparison.variants[1])['total.p50Ms']['ratio']:.3f}" in total
    assert lines[-2] == "verdict    Conclusive (Compared)"


def test_a_tuned_max_startups_drops_significantly_fewer(max_startups: Comparison) -> None:
    errors = max_startups.figures("tuned")["errorPercent"]
    assert errors["difference"] == "lower", errors
    assert errors["high"] < 0
    assert max_startups.figures("default")["errorPercent"]["value"] > 5
    assert "errorPercent" in max_startups.status["message"]
    for test in max_startups.of("default"):
        assert test["results"]["errors"][0]["outcome"] == "throttled", test["results"]["errors"]
        assert test["results"]["target"]["dropped"]["maxStartups"] > 0
    for test in max_startups.of("tuned"):
        assert "throttled" not in {error["outcome"] for error in test["results"]["errors"]}
        assert test["results"]["target"]["dropped"]["maxStartups"] == 0
    assert [test["results"]["iterations"] for test in max_startups.tests.values()] == [500] * 6


def test_each_library_agreed_on_algorithms_of_its_own(libraries: Comparison) -> None:
    ssh2, paramiko = (
        {(one["kex"], one["cipher"]) for test in libraries.of(variant) for one in test["results"]["negotiated"]}
        for variant in libraries.variants
    )
    assert (len(ssh2), len(paramiko)) == (1, 1)
    assert ssh2 != paramiko


def test_each_variant_agreed_on_its_own_key_exchange(post_quantum: Comparison) -> None:
    agreed = {
        variant: {one["kex"] for test in post_quantum.of(variant) for one in test["results"]["negotiated"]}
        for variant in post_quantum.variants
    }
    assert agreed == {"curve25519": {"curve25519-sha256"}, "mlkem768": {"mlkem768x25519-sha256"}}


def test_the_way_through_the_bastion_is_dearer_by_the_login_to_it(bastion: Comparison) -> None:
    """Three rounds on a machine that others use may leave it open whether it is: the interval says so then."""
    total = bastion.figures("bastion")["total.p50Ms"]
    assert total["ratio"] > 1, total
    assert total["difference"] == ("slower" if total["low"] > 1 else "none"), total
    for test in bastion.of("bastion"):
        steps = {step["step"]: step for step in test["results"]["steps"]}
        both = steps["via1.login"], steps["login"]
        assert {step["count"] for step in (*both, steps["total"])} == {test["results"]["iterations"]}
        assert sum(step["meanMs"] for step in both) < steps["total"]["meanMs"]
    for test in bastion.of("direct"):
        assert "via1.login" not in {step["step"] for step in test["results"]["steps"]}


def owned(comparison: Comparison) -> list[dict[str, Any]]:
    return comparison.cluster.labelled("slt", f"sshload.dev/comparison={comparison.name}")


def test_a_deleted_comparison_takes_its_tests_with_it(max_startups: Comparison) -> None:
    assert len(owned(max_startups)) == 2 * ROUNDS
    max_startups.cluster.kubectl("delete", "sltc", max_startups.name)
    max_startups.cluster.gone(lambda: owned(max_startups), "tests")
