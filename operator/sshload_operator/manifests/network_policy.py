"""Which pods of a run may connect to which. Probes come from the node and need no rule.

A policy has addresses, not names. So a host name opens its port to all addresses except the denied ranges, and the
workers check what the name resolves to: sshload_contract.allow_list.
"""

from collections.abc import Iterator
from ipaddress import ip_network
from itertools import pairwise
from typing import Any

from sshload_contract.addresses import Network, is_within, read_address
from sshload_contract.allow_list import closed_networks, is_of_the_cluster, reopened_networks

from sshload_operator.api.targets import ManagedTarget
from sshload_operator.manifests.in_path import STATS_PORTS, hops
from sshload_operator.manifests.labels import (
    DNS_PORT,
    KDC_PORT,
    LOCUST_PORT,
    MASTER_HTTP_PORT,
    SSH_PORT,
    TARGET_HTTP_PORT,
    metadata,
    role_selector,
)
from sshload_operator.planning.plan import Plan
from sshload_operator.planning.preflight import forwards, kdcs
from sshload_operator.state import Manifest, Role

_ANY_POD: dict[str, Any] = {"namespaceSelector": {}}
_ANY_ADDRESS = (ip_network("0.0.0.0/0"), ip_network("::/0"))
_CLUSTER_DNS: dict[str, Any] = {
    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}},
    "podSelector": {
        # With Cilium's local redirection, what is sent to kube-dns arrives at a pod of NodeLocal DNSCache.
        "matchExpressions": [{"key": "k8s-app", "operator": "In", "values": ["kube-dns", "node-local-dns"]}]
    },
}
_NODE_LOCAL_DNS = "169.254.20.10/32"  # where NodeLocal DNSCache listens on each node, unless it is told otherwise


def target_policy(plan: Plan, target: ManagedTarget) -> Manifest:
    """Return the target's policy.

    In: SSH from the program or the clients right before it, and counts for the master and whom the installer names.
    Out: only the destinations of `forward` steps, and DNS if names are looked up.
    """
    ssh_from = [pods(plan, hop.role) for hop in hops(target)[-2:-1]] or clients(plan)
    counts_for = [pods(plan, Role.MASTER), *_scrapers(plan)]
    ingress = [rule("from", ssh_from, SSH_PORT), rule("from", counts_for, TARGET_HTTP_PORT)]
    if target.has_kdc:
        ingress.append(rule("from", [pods(plan, Role.WORKER)], KDC_PORT))
    forwarded = tuple(forwards(plan.spec))
    egress = [rule for found in forwarded for rule in _external_egress(plan, found.host, found.port)]
    if target.sshd.use_dns or any(read_address(found.host) is None for found in forwarded):
        egress.append(dns(plan))
    return policy(plan, Role.TARGET, ingress, egress)


def in_path_policies(plan: Plan, target: ManagedTarget) -> Iterator[Manifest]:
    """Yield the policy of each program in the path: in from what is before it, its counts for the master, out to one.

    That is what is behind it, whose name is looked up.
    """
    before = clients(plan)
    for hop, behind in pairwise(hops(target)):
        ingress = [rule("from", before, hop.port), rule("from", [pods(plan, Role.MASTER)], STATS_PORTS[hop.role])]
        egress = [rule("to", [pods(plan, behind.role)], behind.port), dns(plan)]
        yield policy(plan, hop.role, ingress, egress)
        before = [pods(plan, hop.role)]


def clients(plan: Plan) -> list[dict[str, Any]]:
    """Return the peers that connect to the managed target: the workers; with jump hosts anybody (no peers).

    The last jump host is not a pod of the run, and its source address is not known.
    """
    return [] if plan.spec.via else [pods(plan, Role.WORKER)]


def master_policy(plan: Plan) -> Manifest:
    """Return the master's policy: Locust from this run's workers, metrics for the installer's peers, out to counts."""
    ingress = [rule("from", [pods(plan, Role.WORKER)], LOCUST_PORT)]
    if scrapers := _scrapers(plan):  # a rule without peers would open the port to everything
        ingress.append(rule("from", scrapers, MASTER_HTTP_PORT))
    counts = [rule("to", [pods(plan, role)], STATS_PORTS[role]) for role in plan.spec.target.pods]
    return policy(plan, Role.MASTER, ingress, [*counts, dns(plan)] if counts else [])


def _scrapers(plan: Plan) -> list[dict[str, Any]]:
    return list(map(dict, plan.installation.run_pods.metrics_from))


def workers_policy(plan: Plan) -> Manifest:
    """Return the workers' policy: nothing in; out to the first hop of the path to sshd, KDCs, the master and DNS."""
    asked = [rule for kdc in kdcs(plan.spec) for rule in _external_egress(plan, kdc.host, kdc.port)]
    if plan.spec.managed is not None and plan.spec.managed.has_kdc:
        asked.append(rule("to", [pods(plan, Role.TARGET)], KDC_PORT))
    egress = [*_ssh_egress(plan), *asked, rule("to", [pods(plan, Role.MASTER)], LOCUST_PORT), dns(plan)]
    return policy(plan, Role.WORKER, [], egress)


def _ssh_egress(plan: Plan) -> list[dict[str, Any]]:
    first = plan.spec.via[0] if plan.spec.via else plan.spec.target
    if first.managed is not None:
        hop = hops(first)[0]
        return [rule("to", [pods(plan, hop.role)], hop.port)]
    return _external_egress(plan, first.host, first.port)


def _external_egress(plan: Plan, host: str, port: int) -> list[dict[str, Any]]:
    """Return the egress to the address that `host` is, or to all addresses that its name may resolve to, if any.

    The cluster's own names resolve to pods, which an ipBlock does not cover with every network plugin.
    """
    address = read_address(host)
    if address is not None:
        return [rule("to", [{"ipBlock": {"cidr": str(ip_network(address))}}], port)]
    pods = [_ANY_POD] if is_of_the_cluster(host) else []
    peers = [*pods, *_named_addresses(plan, port)]
    return [rule("to", peers, port)] if peers else []  # a rule without peers would open the port to everything


def _named_addresses(plan: Plan, port: int) -> list[dict[str, Any]]:
    """Return all addresses except the denied ranges, and those parts of the ranges that the allow-list opens.

    A range that is wholly denied has no block: the API server refuses a block that excludes all its addresses.
    """
    allow_list = plan.installation.allow_list
    closed = closed_networks(allow_list, port)
    networks = (*_ANY_ADDRESS, *reopened_networks(allow_list, port))
    return [_ip_block(network, closed) for network in networks if network not in closed]


def _ip_block(network: Network, closed: tuple[Network, ...]) -> dict[str, Any]:
    inside = [one for one in closed if is_within(one, network)]
    widest = [str(one) for one in inside if not any(one != other and is_within(one, other) for other in inside)]
    return {"ipBlock": {"cidr": str(network), **({"except": widest} if widest else {})}}


def policy(plan: Plan, role: Role, ingress: list[dict[str, Any]], egress: list[dict[str, Any]]) -> Manifest:
    """Return the policy of a role's pods, which besides reach what the installer lets all pods reach."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata(plan, role),
        "spec": {
            "podSelector": {"matchLabels": role_selector(plan, role)},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": ingress,
            "egress": [*egress, *map(dict, plan.installation.run_pods.extra_egress)],
        },
    }


def pods(plan: Plan, role: Role) -> dict[str, Any]:
    """Return the run's pods of a role as a peer."""
    return {"podSelector": {"matchLabels": role_selector(plan, role)}}


def rule(direction: str, peers: list[dict[str, Any]], port: int) -> dict[str, Any]:
    """Return a rule for one port, `from` or `to` these peers; without any, from or to everything."""
    ports = [{"port": port, "protocol": "TCP"}]
    return {direction: peers, "ports": ports} if peers else {"ports": ports}


def dns(plan: Plan) -> dict[str, Any]:
    """Return the egress to the cluster's resolvers only: a query to any other address could carry out any data."""
    resolvers = plan.installation.resolvers
    cidrs = dict.fromkeys((_NODE_LOCAL_DNS, *(str(ip_network(cidr)) for cidr in resolvers.cidrs)))
    ports = dict.fromkeys((DNS_PORT, *resolvers.ports))
    return {
        "to": [_CLUSTER_DNS, *map(dict, resolvers.peers), *({"ipBlock": {"cidr": cidr}} for cidr in cidrs)],
        "ports": [{"port": port, "protocol": protocol} for port in ports for protocol in ("UDP", "TCP")],
    }
