"""SSHLoadTest specs of any size."""

from specs.small import SMALL
from specs.spec import Spec


def on_nodes(count: int) -> Spec:
    """Return a spec whose pods run on one of so many nodes."""
    hosts = {"key": "kubernetes.io/hostname", "operator": "In"}
    nodes = [f"node-{number:06}" for number in range(count)]
    chosen = [{**hosts, "values": nodes[first : first + 100]} for first in range(0, count, 100)]
    terms = [{"matchExpressions": chosen[first : first + 5]} for first in range(0, len(chosen), 5)]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {**SMALL, "workers": {"affinity": {"nodeAffinity": required}}}
