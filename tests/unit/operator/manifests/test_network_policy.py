"""A run's pods reach what they need, and nobody else reaches them."""

from typing import Any

import plans
import pytest
from plans import PROOF_SHA256
from sshload_operator.manifests import children
from sshload_operator.planning.plan import Plan


def policies(plan: Plan) -> dict[str, dict[str, Any]]:
    made = (manifest for manifest in children(plan, PROOF_SHA256) if manifest["kind"] == "NetworkPolicy")
    return {policy["spec"]["podSelector"]["matchLabels"]["sshload.dev/role"]: policy["spec"] for policy in made}


def external(host: str) -> Plan:
    return plans.plan(plans.quickstart(target={"external": {**plans.EXTERNAL, "host": host, "port": 2022}}))


def ports(rules: list[dict[str, Any]]) -> set[int]:
    return {port["port"] for rule in rules for port in rule["ports"]}


def test_every_role_has_a_policy_for_both_directions() -> None:
    found = policies(plans.plan())
    assert set(found) == {"target", "master", "worker"}
    assert all(policy["policyTypes"] == ["Ingress", "Egress"] for policy in found.values())


def test_workers_reach_target_master_and_dns_only() -> None:
    worker = policies(plans.plan())["worker"]
    assert worker["ingress"] == []
    assert ports(worker["egress"]) == {2222, 5557, 53}


def test_ssh_is_for_the_workers_of_the_same_run() -> None:
    (ssh, _) = policies(plans.plan(run_id="f" * 10))["target"]["ingress"]
    (peer,) = ssh["from"]
    assert peer["podSelector"]["matchLabels"]["sshload.dev/run-id"] == "f" * 10
    assert peer["podSelector"]["matchLabels"]["sshload.dev/role"] == "worker"
    assert "namespaceSelector" not in peer


def test_a_target_reaches_nothing_unless_it_looks_up_names() -> None:
    assert policies(plans.plan())["target"]["egress"] == []
    looking_up = plans.plan(plans.quickstart(target={"managed": {"sshd": {"useDNS": True}}}))
    assert ports(policies(looking_up)["target"]["egress"]) == {53}


@pytest.mark.parametrize(
    ("host", "cidr"),
    [
        pytest.param("192.0.2.7", "192.0.2.7/32", id="IPv4"),
        pytest.param("2001:db8:0::1", "2001:db8::1/128", id="IPv6"),
    ],
)
def test_an_external_address_is_the_only_one_that_workers_reach(host: str, cidr: str) -> None:
    rule = policies(external(host))["worker"]["egress"][0]
    assert rule == {"to": [{"ipBlock": {"cidr": cidr}}], "ports": [{"port": 2022, "protocol": "TCP"}]}


def test_an_external_name_opens_its_port_only() -> None:
    rule = policies(external("bastion.example.com"))["worker"]["egress"][0]
    assert rule == {"ports": [{"port": 2022, "protocol": "TCP"}]}


@pytest.mark.parametrize(
    "target",
    [pytest.param({"external": plans.EXTERNAL}, id="external"), pytest.param({"managed": {}}, id="managed")],
)
def test_through_jump_hosts_workers_reach_the_first_of_them_and_not_the_target(target: dict[str, Any]) -> None:
    hops = [{**plans.EXTERNAL, "host": "192.0.2.7", "port": 2022}, {**plans.EXTERNAL, "port": 2023}]
    egress = policies(plans.plan(plans.quickstart(target=target, via=hops)))["worker"]["egress"]
    assert egress[0] == {"to": [{"ipBlock": {"cidr": "192.0.2.7/32"}}], "ports": [{"port": 2022, "protocol": "TCP"}]}
    assert ports(egress) == {2022, 5557, 53}


def test_behind_jump_hosts_a_managed_target_takes_ssh_from_anywhere() -> None:
    (ssh, _) = policies(plans.plan(plans.quickstart(via=[plans.EXTERNAL])))["target"]["ingress"]
    assert ssh == {"ports": [{"port": 2222, "protocol": "TCP"}]}


def test_the_master_of_an_external_run_reaches_nothing() -> None:
    found = policies(external("bastion.example.com"))
    assert set(found) == {"master", "worker"}
    assert found["master"]["egress"] == []
