"""Who of a run may speak to whom. Probes come from the node and need no rule."""

from ipaddress import ip_address
from typing import Any

from sshload_operator.api.spec import ExternalTarget, ManagedTarget
from sshload_operator.manifests.labels import metadata, role_selector
from sshload_operator.manifests.names import Part
from sshload_operator.manifests.ports import DNS_PORT, LOCUST_PORT, MASTER_HTTP_PORT, SSH_PORT, TARGET_HTTP_PORT
from sshload_operator.planning.plan import Plan
from sshload_operator.state import Manifest, Role

_ANY_POD: dict[str, Any] = {"namespaceSelector": {}}


def target_policy(plan: Plan, target: ManagedTarget) -> Manifest:
    """Return the target's policy: SSH from this run's workers only, counts for any pod (Prometheus), nothing out.

    Behind jump hosts, SSH may come from anywhere: the last of them is no pod of the run, and which address it has on
    this side is not known.
    """
    ssh_from = [] if plan.spec.via else [_pods(plan, Role.WORKER)]
    ingress = [_rule("from", ssh_from, SSH_PORT), _rule("from", [_ANY_POD], TARGET_HTTP_PORT)]
    return _policy(plan, Part.TARGET, Role.TARGET, ingress, [_dns()] if target.sshd.use_dns else [])


def master_policy(plan: Plan) -> Manifest:
    """Return the master's policy: Locust from this run's workers, metrics for any pod, out to the target's counts."""
    ingress = [_rule("from", [_pods(plan, Role.WORKER)], LOCUST_PORT), _rule("from", [_ANY_POD], MASTER_HTTP_PORT)]
    if isinstance(plan.spec.target, ExternalTarget):
        return _policy(plan, Part.MASTER, Role.MASTER, ingress, [])
    counts = _rule("to", [_pods(plan, Role.TARGET)], TARGET_HTTP_PORT)
    return _policy(plan, Part.MASTER, Role.MASTER, ingress, [counts, _dns()])


def workers_policy(plan: Plan) -> Manifest:
    """Return the workers' policy: nothing in, and out to the target or the first jump host, the master and DNS."""
    egress = [_ssh_egress(plan), _rule("to", [_pods(plan, Role.MASTER)], LOCUST_PORT), _dns()]
    return _policy(plan, Part.WORKERS, Role.WORKER, [], egress)


def _ssh_egress(plan: Plan) -> dict[str, Any]:
    first = plan.spec.via[0] if plan.spec.via else plan.spec.target
    if not isinstance(first, ExternalTarget):
        return _rule("to", [_pods(plan, Role.TARGET)], SSH_PORT)
    return _rule("to", _addresses(first.host), first.port)


def _addresses(host: str) -> list[dict[str, Any]]:
    """Return the one address that `host` spells, or none, which stands for any: a policy cannot hold a name."""
    try:
        address = ip_address(host)
    except ValueError:
        return []
    return [{"ipBlock": {"cidr": f"{address}/{address.max_prefixlen}"}}]


def _policy(
    plan: Plan, part: Part, role: Role, ingress: list[dict[str, Any]], egress: list[dict[str, Any]]
) -> Manifest:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata(plan, part, role),
        "spec": {
            "podSelector": {"matchLabels": role_selector(plan, role)},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": ingress,
            "egress": egress,
        },
    }


def _pods(plan: Plan, role: Role) -> dict[str, Any]:
    return {"podSelector": {"matchLabels": role_selector(plan, role)}}


def _rule(direction: str, peers: list[dict[str, Any]], port: int) -> dict[str, Any]:
    ports = [{"port": port, "protocol": "TCP"}]
    return {direction: peers, "ports": ports} if peers else {"ports": ports}


def _dns() -> dict[str, Any]:
    """Return the way to DNS, wherever that runs: pods, or the node's own cache, which no selector covers."""
    return {"ports": [{"port": DNS_PORT, "protocol": protocol} for protocol in ("UDP", "TCP")]}
