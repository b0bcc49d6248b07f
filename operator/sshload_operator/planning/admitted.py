"""What a cluster gives the pods of a run besides the resources that were asked for: a LimitRange, or an admission hook.

The kubelet tells it in the status of a pod's container, from Kubernetes 1.33 on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sshload_contract.quantities import resource_amount
from sshload_contract.shortened import shortened

from sshload_operator.api.status.installed import RESOURCES_CHARACTERS, PodResources
from sshload_operator.planning.plan import Plan, pods_asked
from sshload_operator.state import Amount, PodFacts, Role


def as_admitted(plan: Plan, pods: Sequence[PodFacts]) -> Plan:
    """Return the plan with what the cluster gave the pods of a role besides, once one tells its resources."""
    if plan.installed is None:
        return plan
    told = {role: [pod for pod in pods if _tells(plan, role, pod)] for role in pods_asked(plan.spec)}
    found = {str(role): _admitted(plan, role, telling) for role, telling in told.items() if telling}
    return replace(plan, installed=replace(plan.installed, **found)) if found else plan


def _tells(plan: Plan, role: Role, pod: PodFacts) -> bool:
    return pod.role is role and pod.run_id == plan.run_id and bool(pod.resources)


def _admitted(plan: Plan, role: Role, pods: Sequence[PodFacts]) -> PodResources | None:
    asked = plan.resources(role)
    limits = asked.get("limits") or {}
    # Kubernetes takes a limit for the request where none is stated.
    of_lists = {"limits": limits, "requests": {**limits, **(asked.get("requests") or {})}}
    besides = {amount for pod in pods for amount in pod.resources if _is_other(amount, of_lists[amount.of])}
    known: PodResources | None = getattr(plan.installed, role)
    given = None if known is None else known.given
    if not besides:
        return None if given is None else PodResources(given=given)
    set_by_cluster = shortened(", ".join(" ".join(amount) for amount in sorted(besides)), RESOURCES_CHARACTERS)
    return PodResources(given=given, set_by_cluster=set_by_cluster)


def _is_other(amount: Amount, asked: Mapping[str, Any]) -> bool:
    """Tell whether an amount was not asked for. The kubelet tells a CPU request rounded, so it is not compared."""
    if amount.name not in asked:
        return True
    is_rounded = (amount.of, amount.name) == ("requests", "cpu")
    return not is_rounded and _number(amount.value) != _number(asked[amount.name])


def _number(value: Any) -> Any:
    try:
        return resource_amount(value)
    except ValueError:
        return value
