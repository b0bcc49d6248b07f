"""The other examples of comparisons, one round of each, which shows what their variants do.

Not in every run: what is in the path is also measured by itself, and the rest without a cluster, by tests of
tests/integration/local_run and tests/integration/worker.
"""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from live_cluster import Comparison, LiveCluster, compared, load_test
from short_examples import short_example
from sshload_operator.api.comparison.spec import merged
from statuses import steps_of


def one_round(name: str) -> list[dict[str, Any]]:
    """Return the objects of an example with one round of its tests."""
    objects = short_example(name)
    for item in objects:
        if item["kind"] == "SSHLoadTestComparison":
            item["spec"]["repeats"] = 1
    return objects


def every_test_was_measured(comparison: Comparison) -> bool:
    return [variant["measured"] for variant in comparison.status["results"]["variants"]] == [1] * len(
        comparison.variants
    )


@pytest.mark.full
def test_each_library_agreed_on_algorithms_of_its_own(cluster: LiveCluster) -> None:
    libraries = compared(cluster, one_round("16-two-libraries"))
    assert every_test_was_measured(libraries), libraries.status
    ssh2, paramiko = (
        {(one["kex"], one["cipher"]) for test in libraries.of(variant) for one in test["results"]["negotiated"]}
        for variant in libraries.variants
    )
    assert (len(ssh2), len(paramiko)) == (1, 1)
    assert ssh2 != paramiko


@pytest.mark.full
def test_each_variant_agreed_on_its_own_key_exchange(cluster: LiveCluster) -> None:
    post_quantum = compared(cluster, one_round("17-post-quantum"))
    assert every_test_was_measured(post_quantum), post_quantum.status
    agreed = {
        variant: {one["kex"] for test in post_quantum.of(variant) for one in test["results"]["negotiated"]}
        for variant in post_quantum.variants
    }
    assert agreed == {"curve25519": {"curve25519-sha256"}, "mlkem768": {"mlkem768x25519-sha256"}}


@pytest.mark.full
def test_each_value_of_a_sweep_is_offered(cluster: LiveCluster) -> None:
    objects = one_round("25-rates")
    objects[0]["spec"]["sweep"]["values"] = "10,20"
    rates = compared(cluster, objects)
    assert every_test_was_measured(rates), rates.status
    results = rates.status["results"]
    assert results["swept"] == "load.arrivals.rate"
    assert [(one["name"], one["value"]) for one in results["variants"]] == [("10", "10"), ("20", "20")]
    offered = {variant: rates.of(variant)[0]["results"]["offeredRate"] for variant in rates.variants}
    assert offered == {"10": pytest.approx(10, rel=0.1), "20": pytest.approx(20, rel=0.1)}


GATEWAYS = {
    "gateway-login-8": None,
    "gateway-user-8": 1,
    "gateway-pool-8": 4,
    "nginx-gateway-8": 4,
}
"""What of the example's gateways is tried, and how many logins the server sees at most; None: one of each command."""


def key(folder: Path, name: str) -> Path:
    path = folder / name
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", path], check=True)
    return path


@pytest.fixture
def bastion(cluster: LiveCluster, target_image: str, tmp_path: Path) -> list[dict[str, Any]]:
    """The objects of the comparison of ways, after the two things that its example says come first."""
    host_key, login_key = key(tmp_path, "host_key"), key(tmp_path, "login_key")
    known_hosts = tmp_path / "known_hosts"
    known_hosts.write_text(f"[bastion]:2222 {host_key.with_suffix('.pub').read_text()}")
    secret = ("create", "secret", "generic")
    cluster.kubectl(
        *secret, "bastion-server", f"--from-file={host_key}", f"--from-file=authorized_keys={login_key}.pub"
    )
    cluster.kubectl(*secret, "bastion-login", f"--from-file=id={login_key}", f"--from-file={known_hosts}")
    objects = one_round("18-in-the-path")
    (pod,) = (item for item in objects if item["kind"] == "Pod")
    (example,) = (item for item in objects if item["kind"] == "SSHLoadTestComparison")
    variants = [variant.get("patch", {}) for variant in example["spec"]["variants"]]
    for load in (part["load"] for part in (example["spec"]["base"], *variants) if "load" in part):
        for stage in load["users"]["stages"]:
            stage["duration"] = "4s"
    # What eight users do through a gateway, one does too.
    variants = example["spec"]["variants"]
    example["spec"]["variants"] = [one for one in variants if one["name"] in GATEWAYS or "gateway" not in one["name"]]
    pod["spec"]["containers"][0]["image"] = target_image
    return objects


@pytest.mark.parametrize("name", ["haproxy-1", "nginx-gateway-8"])
def test_what_is_in_the_path_is_deployed_and_what_it_takes_is_told(cluster: LiveCluster, name: str) -> None:
    (spec,) = (item["spec"] for item in short_example("18-in-the-path") if item["kind"] == "SSHLoadTestComparison")
    (variant,) = (variant for variant in spec["variants"] if variant["name"] == name)
    test = merged(spec["base"], variant["patch"])
    for stage in test["load"]["users"]["stages"]:
        stage["duration"] = "4s"
    status = cluster.run({**load_test(name), "spec": test})
    assert (status["verdict"], status["reason"]) == ("Passed", "ThresholdsMet"), status["message"]
    assert status["results"]["failures"] == 0
    used, target = status["results"]["proxy"], status["results"]["target"]
    assert 1_000_000 < used["memoryPeakBytes"] < 300_000_000
    if "gateway" in name:
        assert steps_of(status)["command"].count == status["results"]["iterations"]
        assert 0 < target["accepted"] <= GATEWAYS[name]
        assert status["results"]["gateway"]["cpuPerIterationMs"] > 0.1
        assert used["cpuPerIterationMs"] > 0
        assert "cpuPerLoginMs" not in used
    else:
        assert target["accepted"] == target["clientLogins"] > 0
        assert 0 < used["cpuPerLoginMs"] < target["cpuSeconds"] * 1_000 / target["accepted"]
        assert "gateway" not in status["results"]


def tells_what_it_adds(found: Comparison, variant: str, reference: str) -> bool:
    """Tell whether a variant has a difference in milliseconds where both have a median, and one that fits its ratio.

    A closed load makes so few iterations on a slow server that there may be none.
    """
    ours, theirs = (found.figures(one).get("total.p50Ms") for one in (variant, reference))
    if ours is None or theirs is None:
        return True
    return "differenceMs" in ours and (ours["ratio"] - 1) * ours["differenceMs"] >= 0


@pytest.mark.full
def test_each_way_is_measured_beside_the_direct_one_at_its_concurrency(
    cluster: LiveCluster, bastion: list[dict[str, Any]]
) -> None:
    found = compared(cluster, bastion)
    assert every_test_was_measured(found), found.status
    results = {one["name"]: one for one in found.status["results"]["variants"]}
    assert {name: one.get("reference") for name, one in results.items() if name.endswith("-8")} == {
        "direct-8": None,
        "haproxy-8": "direct-8",
        "nginx-8": "haproxy-8",
        "jump-host-8": "direct-8",
        **dict.fromkeys(GATEWAYS, "direct-8"),
        "nginx-gateway-8": "gateway-pool-8",
    }
    ways = {name: one.get("reference", "direct-1") for name, one in results.items() if not name.startswith("direct")}
    assert [name for name, reference in ways.items() if not tells_what_it_adds(found, name, reference)] == []
    for users in (1, 8):
        (through,) = found.of(f"jump-host-{users}")
        steps = steps_of(through)
        both = steps["via1.login"], steps["login"]
        assert {step.count for step in (*both, steps["total"])} == {through["results"]["iterations"]}
        for way in ("direct", "haproxy"):
            (test,) = found.of(f"{way}-{users}")
            assert "via1.login" not in steps_of(test)
            assert test["results"]["target"]["accepted"] == test["results"]["target"]["clientLogins"] > 0
    for way in ("haproxy-1", "haproxy-8", "nginx-8"):
        (test,) = found.of(way)
        used, target = test["results"]["proxy"], test["results"]["target"]
        assert target["accepted"] == target["clientLogins"] > 0
        assert 0 < used["cpuPerLoginMs"] < target["cpuSeconds"] * 1_000 / target["accepted"]
        assert 1_000_000 < used["memoryPeakBytes"] < 300_000_000
        assert found.figures(way)["proxyCpuPerLoginMs"]["value"] == pytest.approx(used["cpuPerLoginMs"], rel=1e-3)
    assert found.figures("nginx-8")["proxyCpuPerLoginMs"]["ratio"] > 0
    assert "proxy" not in found.of("direct-1")[0]["results"]
    for name, most_logins in GATEWAYS.items():
        (test,) = found.of(name)
        iterations = test["results"]["iterations"]
        assert steps_of(test)["command"].count == iterations > 0
        logins = test["results"]["target"]["accepted"]
        assert logins >= iterations if most_logins is None else 0 < logins <= most_logins
        used = test["results"]["gateway"]
        assert used["cpuPerIterationMs"] > 0.1  # HTTP, a token and SSH in Python: what idles costs less
        assert 20_000_000 < used["memoryPeakBytes"] < 400_000_000
        of_gateway = found.figures(name)["gatewayCpuPerIterationMs"]
        assert of_gateway["value"] == pytest.approx(used["cpuPerIterationMs"], rel=1e-3)
    (before_gateway,) = found.of("nginx-gateway-8")
    assert before_gateway["results"]["failures"] == 0
    used = before_gateway["results"]["proxy"]
    assert used["cpuPerIterationMs"] > 0
    assert "cpuPerLoginMs" not in used
    assert found.figures("nginx-gateway-8")["proxyCpuPerIterationMs"]["value"] == pytest.approx(
        used["cpuPerIterationMs"], rel=1e-3
    )
