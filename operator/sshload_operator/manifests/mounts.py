"""What a run's pods find where: one projected volume each, with that pod's items only."""

from collections.abc import Iterable
from typing import Any

from sshload_contract.run_config import Auth

from sshload_operator.manifests.names import Part, child_name
from sshload_operator.planning.plan import Plan

CONFIG_DIR = "/etc/sshload"
RUN_FILE = "run.json"
TARGET_FILE = "target.json"
KEYS_FOLDER = "keys"
KEYS_DIR = f"{CONFIG_DIR}/{KEYS_FOLDER}"

TARGET_USER = "load"
TARGET_HOME = f"/home/{TARGET_USER}"

PRIVATE_KEY_FILE = "id_ed25519"
PUBLIC_KEY_FILE = "id_ed25519.pub"
KNOWN_HOSTS_FILE = "known_hosts"
HOST_KEY_FILES = ("ssh_host_ed25519_key", "ssh_host_ecdsa_key")
EXTERNAL_CREDENTIALS_FILES = {Auth.PUBLICKEY: "id", Auth.PASSWORD: "password"}

CONFIG_VOLUME = "config"
_OWNER_AND_GROUP_READ = 0o440


def config_mount() -> dict[str, Any]:
    """Return the mount of the config volume."""
    return {"name": CONFIG_VOLUME, "mountPath": CONFIG_DIR, "readOnly": True}


def config_volume(*sources: dict[str, Any]) -> dict[str, Any]:
    """Return the volume that shows `sources`, readable by the pod's user through its fsGroup."""
    return {
        "name": CONFIG_VOLUME,
        "projected": {"defaultMode": _OWNER_AND_GROUP_READ, "sources": list(sources)},
    }


def config_source(plan: Plan, file: str) -> dict[str, Any]:
    """Return one file of the run's ConfigMap."""
    return {"configMap": {"name": child_name(plan, Part.CONFIG), "items": [{"key": file, "path": file}]}}


def run_keys_source(plan: Plan, files: Iterable[str]) -> dict[str, Any]:
    """Return files of the Secret that the operator made for the run."""
    return {"secret": {"name": child_name(plan, Part.KEYS), "items": [_key_item(file) for file in files]}}


def user_secret_source(name: str, file: str) -> dict[str, Any]:
    """Return one file of a Secret that the author made; without it the kubelet holds the pod back and says so."""
    return {"secret": {"name": name, "items": [_key_item(file)]}}


def empty_dir(name: str, size_limit: str) -> dict[str, Any]:
    """Return a scratch volume; a pod that fills it beyond its limit is evicted."""
    return {"name": name, "emptyDir": {"sizeLimit": size_limit}}


def _key_item(file: str) -> dict[str, str]:
    return {"key": file, "path": f"{KEYS_FOLDER}/{file}"}
