"""The Secret with the keys of a run against a managed target."""

from collections.abc import Mapping

from sshload_operator.manifests.labels import metadata
from sshload_operator.manifests.mounts import (
    CERTIFICATE_FILE,
    HOST_KEY_FILES,
    KNOWN_HOSTS_FILE,
    PRIVATE_KEY_FILE,
    PUBLIC_KEY_FILE,
    USER_CA_FILE,
)
from sshload_operator.manifests.names import Part
from sshload_operator.planning.plan import Plan
from sshload_operator.state import Manifest

KEY_FILES = (PRIVATE_KEY_FILE, PUBLIC_KEY_FILE, CERTIFICATE_FILE, USER_CA_FILE, *HOST_KEY_FILES, KNOWN_HOSTS_FILE)


def keys_secret(plan: Plan, keys: Mapping[str, str]) -> Manifest:
    """Return the Secret that holds `keys`, the text of each of KEY_FILES; raises ValueError for any other set.

    It is created, never applied: who finds it there keeps the keys that the pods have already.
    """
    if set(keys) != set(KEY_FILES):
        raise ValueError(f"the keys of a run are {', '.join(KEY_FILES)}; got {', '.join(sorted(keys))}")
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata(plan, Part.KEYS),
        "type": "Opaque",
        "immutable": True,
        "stringData": dict(keys),
    }
