"""What the author of a hold should know beforehand: whether its sessions fit into the target."""

from collections.abc import Iterator

from sshload_contract.load import HoldLoad
from sshload_contract.quantities import resource_amount

from sshload_operator.api.target import ManagedTarget
from sshload_operator.planning.plan import Plan

# Of an idle session of OpenSSH 10.0 in a container, without privileges: two processes, and the kernel's share.
_SESSION_MB = 2.2
_MEGA = 1_000_000


def hold_cautions(plan: Plan) -> Iterator[str]:
    """Speak of more sessions than the memory limit of a managed target has room for. A search is to find that out."""
    target, load = plan.spec.target, plan.spec.load
    if not isinstance(target, ManagedTarget) or not isinstance(load, HoldLoad) or plan.spec.capacity is not None:
        return
    limit = target.resources.get("limits", {}).get("memory")
    if limit is None or plan.installation.one_address:
        return
    needed_mb = load.sessions * _SESSION_MB
    if needed_mb * _MEGA > resource_amount(limit):
        yield (
            f"spec.target.managed.resources.limits.memory is {limit}, and {load.sessions} held sessions take about"
            f" {needed_mb:,.0f} MB, {_SESSION_MB:g} MB each: the kernel kills sshd's processes where that is full"
        )
