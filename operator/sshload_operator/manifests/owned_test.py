"""A test that a schedule or a comparison owns, and whose it is."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sshload_operator.api.kinds import API_VERSION, COMPARISON, SCHEDULE, TEST, Kind
from sshload_operator.api.names import is_name
from sshload_operator.manifests.labels import controller
from sshload_operator.state import Manifest


@dataclass(frozen=True, slots=True)
class Owner:
    """The object that owns the tests."""

    kind: Kind
    namespace: str
    name: str
    uid: str


def owner_of(metadata: Mapping[str, Any]) -> Owner | None:
    """Return the schedule or comparison that controls a test with this metadata, None if there is none."""
    reference = controller(metadata)
    name, is_ours = str(reference.get("name", "")), reference.get("apiVersion") == API_VERSION
    kind = next((kind for kind in (SCHEDULE, COMPARISON) if kind.name == reference.get("kind")), None)
    if kind is None or not is_ours or not is_name(name):
        return None
    return Owner(kind, metadata["namespace"], name, str(reference.get("uid", "")))


def owned_test(
    owner: Owner, name: str, spec: Mapping[str, Any], labels: Mapping[str, str], annotations: Mapping[str, str]
) -> Manifest:
    """Return an SSHLoadTest that its owner controls, so that garbage collection deletes it."""
    return {
        "apiVersion": API_VERSION,
        "kind": TEST.name,
        "metadata": {
            "name": name,
            "namespace": owner.namespace,
            "labels": labels,
            **({"annotations": annotations} if annotations else {}),
            "ownerReferences": [
                {
                    "apiVersion": API_VERSION,
                    "kind": owner.kind.name,
                    "name": owner.name,
                    "uid": owner.uid,
                    "controller": True,
                    "blockOwnerDeletion": False,
                }
            ],
        },
        "spec": spec,
    }
