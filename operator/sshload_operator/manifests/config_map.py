"""The ConfigMap with what a run's pods are told."""

from sshload_contract.codec import to_json

from sshload_operator.api.target import ManagedTarget
from sshload_operator.manifests.labels import metadata
from sshload_operator.manifests.mounts import RUN_FILE, TARGET_FILE
from sshload_operator.manifests.names import Part
from sshload_operator.manifests.run_config import cluster_places, run_config
from sshload_operator.manifests.target import CLUSTER_TARGET_PLACES, target_config
from sshload_operator.planning.plan import Plan
from sshload_operator.state import Manifest


def config_map(plan: Plan) -> Manifest:
    """Return the ConfigMap with run.json, and with target.json where the target is managed."""
    data = {RUN_FILE: to_json(run_config(plan, cluster_places(plan)))}
    if isinstance(plan.spec.target, ManagedTarget):
        data[TARGET_FILE] = to_json(target_config(plan.spec.target, CLUSTER_TARGET_PLACES))
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(plan, Part.CONFIG),
        "data": data,
    }
