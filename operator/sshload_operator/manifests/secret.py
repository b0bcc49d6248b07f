"""The Secret of a run: its token, and the keys where the target is managed."""

from collections.abc import Mapping

from sshload_operator.api.target import ManagedTarget
from sshload_operator.manifests.labels import metadata
from sshload_operator.manifests.mounts import (
    CERTIFICATE_FILE,
    HOST_KEY_FILES,
    KNOWN_HOSTS_FILE,
    PRIVATE_KEY_FILE,
    PUBLIC_KEY_FILE,
    TOKEN_FILE,
    USER_CA_FILE,
)
from sshload_operator.manifests.names import Part
from sshload_operator.planning.plan import Plan
from sshload_operator.state import Manifest

KEY_FILES = (PRIVATE_KEY_FILE, PUBLIC_KEY_FILE, CERTIFICATE_FILE, USER_CA_FILE, *HOST_KEY_FILES, KNOWN_HOSTS_FILE)


def keys_secret(plan: Plan, token: str, keys: Mapping[str, str]) -> Manifest:
    """Return the Secret that holds the token and `keys`, the text of each of KEY_FILES where the target is managed.

    It is created, never applied: who finds it there keeps what the pods have already. Raises ValueError for other keys.
    """
    wanted = KEY_FILES if isinstance(plan.spec.target, ManagedTarget) else ()
    if set(keys) != set(wanted):
        raise ValueError(f"the keys of this run are {', '.join(wanted)}; got {', '.join(sorted(keys))}")
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata(plan, Part.KEYS),
        "type": "Opaque",
        "immutable": True,
        "stringData": {TOKEN_FILE: token, **keys},
    }
