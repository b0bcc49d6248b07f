"""What a cluster gives the pods of a run besides the resources that were asked for: a LimitRange, or an admission hook.

The kubelet tells it in the status of a pod's container, from Kubernetes 1.33 on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from sshload_contract.quantities import resource_amount
from sshload_contract.shortened import shortened

from sshload_operator.api.status.installed import AS_STATED, InstalledResources
from sshload_operator.api.target import ManagedTarget
from sshload_operator.planning.plan import Plan, pods_asked, worker_resources
from sshload_operator.state import Amount, PodFacts, Role

_SETS: Final = "; the cluster sets "
_CHARACTERS: Final = 1_000


def as_admitted(plan: Plan, pods: Sequence[PodFacts]) -> Plan:
    """Return the plan with what the cluster gave the pods of a role besides, once one tells its resources."""
    if plan.installed is None:
        return plan
    told = {role: [pod for pod in pods if _tells(plan, role, pod)] for role in pods_asked(plan.spec)}
    found = {str(role): _in_words(plan, role, telling) for role, telling in told.items() if telling}
    return replace(plan, installed=replace(plan.installed, **found)) if found else plan


def _tells(plan: Plan, role: Role, pod: PodFacts) -> bool:
    return pod.role is role and pod.run_id == plan.run_id and bool(pod.resources)


def _in_words(plan: Plan, role: Role, pods: Sequence[PodFacts]) -> str | None:
    asked = _asked(plan, role)
    limits = asked.get("limits") or {}
    # Kubernetes takes a limit for the request where none is stated.
    of_lists = {"limits": limits, "requests": {**limits, **(asked.get("requests") or {})}}
    besides = {amount for pod in pods for amount in pod.resources if _is_other(amount, of_lists[amount.of])}
    given = _given(plan.installed, role)
    if not besides:
        return None if given == AS_STATED else given
    return shortened(f"{given}{_SETS}{', '.join(' '.join(amount) for amount in sorted(besides))}", _CHARACTERS)


def _given(installed: InstalledResources | None, role: Role) -> str:
    """Return what the installation gave, without what an earlier pass saw besides."""
    known: str | None = getattr(installed, role)
    return (known or AS_STATED).partition(_SETS)[0]


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


def _asked(plan: Plan, role: Role) -> Mapping[str, Any]:
    given, target = plan.installation.run_pods, plan.spec.target
    of_target = target.resources if isinstance(target, ManagedTarget) else None
    asked = {
        Role.WORKER: worker_resources(plan.spec.workers, plan.installation.worker_resources),
        Role.MASTER: given.master_resources,
        Role.TARGET: of_target or given.target_resources,
        Role.PROXY: given.proxy_resources,
        Role.GATEWAY: given.gateway_resources,
    }
    return asked[role] or {}
