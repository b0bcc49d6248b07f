"""A run's pods reach what they need, and nobody else reaches them."""

from dataclasses import replace
from typing import Any

import plans
import pytest
from plans import PROOF_SHA256
from sshload_contract.allow_list import AllowedTarget, DeniedRange
from sshload_operator.manifests import children
from sshload_operator.planning.installation import Installation, Resolvers
from sshload_operator.planning.plan import Plan

FORWARDS = {
    "itself": {"host": "localhost", "port": 9200},
    "address": {"host": "192.0.2.7", "port": 80},
    "name": {"host": "db.example.com", "port": 5432},
}


def policies(plan: Plan) -> dict[str, dict[str, Any]]:
    made = (manifest for manifest in children(plan, PROOF_SHA256) if manifest["kind"] == "NetworkPolicy")
    return {policy["spec"]["podSelector"]["matchLabels"]["sshload.dev/role"]: policy["spec"] for policy in made}


def external(host: str, installation: Installation = plans.INSTALLATION) -> Plan:
    target = {"external": {**plans.EXTERNAL, "host": host, "port": 2022}}
    return plans.plan(plans.quickstart(target=target), installation=installation)


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


THROUGH_A_PROXY = {"managed": {"proxy": {"kind": "haproxy"}}}


def roles(rule: dict[str, Any], direction: str) -> list[str]:
    return [peer["podSelector"]["matchLabels"]["sshload.dev/role"] for peer in rule.get(direction, ())]


def test_through_a_proxy_the_workers_reach_it_and_it_alone_reaches_the_target() -> None:
    found = policies(plans.plan(plans.quickstart(target=THROUGH_A_PROXY)))
    assert set(found) == {"target", "proxy", "master", "worker"}
    assert roles(found["worker"]["egress"][0], "to") == ["proxy"]
    assert [roles(rule, "from") for rule in found["proxy"]["ingress"]] == [["worker"], ["master"]]
    assert ports(found["proxy"]["ingress"]) == {2222, 9202}
    assert [roles(rule, "to") for rule in found["master"]["egress"][:2]] == [["target"], ["proxy"]]
    assert (roles(found["proxy"]["egress"][0], "to"), ports(found["proxy"]["egress"])) == (["target"], {2222, 53})
    assert roles(found["target"]["ingress"][0], "from") == ["proxy"]


def test_nginx_stands_between_the_workers_and_the_gateway_which_alone_reaches_the_target() -> None:
    managed = {"proxy": {"kind": "nginx"}, "gateway": {"policy": "pool"}}
    spec = plans.quickstart(target={"managed": managed}, scenario={"steps": [{"exec": {"command": "true"}}]})
    found = policies(plans.plan(spec))
    assert set(found) == {"target", "proxy", "gateway", "master", "worker"}
    assert roles(found["worker"]["egress"][0], "to") == ["proxy"]
    assert (roles(found["proxy"]["egress"][0], "to"), ports(found["proxy"]["egress"])) == (["gateway"], {8080, 53})
    assert [roles(rule, "from") for rule in found["gateway"]["ingress"]] == [["proxy"], ["master"]]
    assert [roles(rule, "to") for rule in found["master"]["egress"][:3]] == [["target"], ["proxy"], ["gateway"]]
    assert roles(found["target"]["ingress"][0], "from") == ["gateway"]


def test_behind_jump_hosts_anybody_reaches_the_proxy_and_still_nobody_else_the_target() -> None:
    via = [{**plans.EXTERNAL, "host": "bastion.example.com"}]
    found = policies(plans.plan(plans.quickstart(target=THROUGH_A_PROXY, via=via), installation=plans.LISTING))
    assert [roles(rule, "from") for rule in found["proxy"]["ingress"]] == [[], ["master"]]
    assert roles(found["target"]["ingress"][0], "from") == ["proxy"]


def test_of_a_gateway_the_workers_reach_http_alone_and_it_alone_reaches_the_target() -> None:
    through = {"managed": {"gateway": {"policy": "pool"}}}
    found = policies(plans.plan(plans.quickstart(target=through)))
    assert set(found) == {"target", "gateway", "master", "worker"}
    assert (roles(found["worker"]["egress"][0], "to"), ports(found["worker"]["egress"][:1])) == (["gateway"], {8080})
    assert [roles(rule, "from") for rule in found["gateway"]["ingress"]] == [["worker"], ["master"]]
    assert ports(found["gateway"]["ingress"]) == {8080, 9204}
    assert [roles(rule, "to") for rule in found["master"]["egress"][:2]] == [["target"], ["gateway"]]
    assert ports(found["master"]["egress"]) == {9200, 9204, 53}
    assert (roles(found["gateway"]["egress"][0], "to"), ports(found["gateway"]["egress"])) == (["target"], {2222, 53})
    assert roles(found["target"]["ingress"][0], "from") == ["gateway"]


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


def closed_to(rule: dict[str, Any]) -> dict[str, set[str]]:
    """Return what each block of addresses leaves out."""
    return {peer["ipBlock"]["cidr"]: set(peer["ipBlock"].get("except", ())) for peer in rule["to"]}


def test_an_external_name_opens_its_port_to_all_addresses_but_the_denied_ranges() -> None:
    rule = policies(external("bastion.example.com"))["worker"]["egress"][0]
    assert rule["ports"] == [{"port": 2022, "protocol": "TCP"}]
    found = closed_to(rule)
    assert set(found) == {"0.0.0.0/0", "::/0"}
    assert {"127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4"} <= found["0.0.0.0/0"]
    assert {"::1/128", "fe80::/10", "fd00:ec2::254/128"} <= found["::/0"]
    assert "169.254.169.254/32" not in found["0.0.0.0/0"]  # within 169.254.0.0/16


def test_the_installers_ranges_stay_closed_but_for_what_an_entry_lists() -> None:
    installation = plans.allowing(
        AllowedTarget("*.example.com", (2022,)),
        AllowedTarget("10.244.7.0/24", (2022,)),
        AllowedTarget("10.96.0.0/12", (2022,)),
        AllowedTarget("169.254.0.0/16", (22,)),
        denied=(
            DeniedRange("10.244.0.0/16", "pods"),
            DeniedRange("10.244.7.9/32", "x"),
            DeniedRange("10.96.0.0/12", "s"),
        ),
    )
    found = closed_to(policies(external("a.example.com", installation))["worker"]["egress"][0])
    assert set(found) == {"0.0.0.0/0", "::/0", "10.244.7.0/24"}
    assert {"10.244.0.0/16", "169.254.0.0/16"} <= found["0.0.0.0/0"]
    assert "10.96.0.0/12" not in found["0.0.0.0/0"]
    assert found["10.244.7.0/24"] == {"10.244.7.9/32"}


@pytest.mark.parametrize(
    ("denied", "left"),
    [
        pytest.param(("::/0",), {"0.0.0.0/0", "10.9.0.0/16"}, id="IPv6"),
        pytest.param(("0.0.0.0/0",), {"::/0", "10.9.0.0/16"}, id="IPv4"),
        pytest.param(("0.0.0.0/0", "::/0"), {"10.9.0.0/16"}, id="both"),
    ],
)
def test_a_family_that_is_denied_whole_has_no_block_of_which_nothing_is_left(
    denied: tuple[str, ...], left: set[str]
) -> None:
    """The API server refuses a block that leaves out all of its addresses."""
    ranges = tuple(DeniedRange(cidr, "not here") for cidr in (*denied, "10.0.0.0/8"))
    allowed = (AllowedTarget("*.example.com", (2022,)), AllowedTarget("10.9.0.0/16", (2022,)))
    installation = plans.allowing(*allowed, denied=ranges)
    found = closed_to(policies(external("a.example.com", installation))["worker"]["egress"][0])
    assert set(found) == left
    assert all(cidr not in excepted for cidr, excepted in found.items())


def test_a_name_opens_nothing_where_all_addresses_are_denied() -> None:
    """A rule that names no peer would open its port to all of them."""
    ranges = (DeniedRange("0.0.0.0/0", "not here"), DeniedRange("::/0", "not here"))
    installation = plans.allowing(AllowedTarget("*.example.com", (2022,)), denied=ranges)
    assert ports(policies(external("a.example.com", installation))["worker"]["egress"]) == {5557, 53}


@pytest.mark.parametrize("host", ["git", "git.forge.svc"])
def test_a_name_of_the_clusters_own_opens_its_port_to_pods_too(host: str) -> None:
    rule = policies(external(host))["worker"]["egress"][0]
    assert {"namespaceSelector": {}} in rule["to"]
    assert {"namespaceSelector": {}} not in policies(external("git.example.com"))["worker"]["egress"][0]["to"]


def test_dns_is_the_clusters_own() -> None:
    dns = policies(plans.plan())["worker"]["egress"][-1]
    assert dns["to"] == [
        {
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}},
            "podSelector": {
                "matchExpressions": [{"key": "k8s-app", "operator": "In", "values": ["kube-dns", "node-local-dns"]}]
            },
        },
        {"ipBlock": {"cidr": "169.254.20.10/32"}},
    ]
    assert dns["ports"] == [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]


def test_the_installer_adds_resolvers_and_their_ports() -> None:
    peer = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "openshift-dns"}}, "podSelector": {}}
    added = Resolvers(peers=(peer,), cidrs=("10.96.0.10/32",), ports=(5353,))
    plan = plans.plan(installation=replace(plans.INSTALLATION, resolvers=added))
    for role in ("worker", "master"):
        dns = policies(plan)[role]["egress"][-1]
        assert dns["to"][1:] == [
            peer,
            {"ipBlock": {"cidr": "169.254.20.10/32"}},
            {"ipBlock": {"cidr": "10.96.0.10/32"}},
        ]
        assert {port["port"] for port in dns["ports"]} == {53, 5353}


def test_a_managed_target_reaches_what_forward_steps_lead_to() -> None:
    steps = [{"forward": {"name": name, **to}} for name, to in FORWARDS.items()]
    (by_address, by_name, dns) = policies(plans.plan(plans.quickstart(scenario={"steps": steps})))["target"]["egress"]
    assert by_address == {"to": [{"ipBlock": {"cidr": "192.0.2.7/32"}}], "ports": [{"port": 80, "protocol": "TCP"}]}
    assert by_name["ports"] == [{"port": 5432, "protocol": "TCP"}]
    assert "169.254.0.0/16" in closed_to(by_name)["0.0.0.0/0"]
    assert ports([dns]) == {53}


def test_a_managed_target_that_connects_to_itself_and_to_addresses_needs_no_dns() -> None:
    steps = [{"forward": {"name": name, **FORWARDS[name]}} for name in ("itself", "address")]
    egress = policies(plans.plan(plans.quickstart(scenario={"steps": steps})))["target"]["egress"]
    assert ports(egress) == {80}


def test_what_an_external_target_is_asked_to_connect_to_opens_nothing() -> None:
    scenario = {"steps": [{"forward": FORWARDS["address"]}]}
    plan = plans.plan(plans.quickstart(target={"external": plans.EXTERNAL}, scenario=scenario))
    assert ports(policies(plan)["worker"]["egress"]) == {22, 5557, 53}


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


def test_only_whom_the_installer_names_may_scrape_a_run() -> None:
    prometheus = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}
    run_pods = replace(plans.INSTALLATION.run_pods, metrics_from=(prometheus,))
    for installation, scraped in (
        (plans.INSTALLATION, set()),
        (replace(plans.INSTALLATION, run_pods=run_pods), {9200, 9201}),
    ):
        found = policies(plans.plan(installation=installation))
        rules = [rule for policy in found.values() for rule in policy["ingress"]]
        assert ports([rule for rule in rules if prometheus in rule["from"]]) == scraped
        assert all(rule["from"] for rule in rules)
        assert all(peer == prometheus or "namespaceSelector" not in peer for rule in rules for peer in rule["from"])
