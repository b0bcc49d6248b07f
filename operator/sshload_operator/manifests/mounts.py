"""Where a run's pods find their files: each has one projected volume, with only that pod's items.

Which files a login needs follows from its authentication method, in a cluster and without one.
"""

from collections.abc import Iterable
from typing import Any

from sshload_contract.client import BY_KEY, Auth
from sshload_contract.names import ConfigMapFile
from sshload_contract.population import POPULATION_FILE, POPULATION_PASSWORD_FILE
from sshload_contract.wire.run_config import Endpoint

from sshload_operator.api.targets import ManagedTarget, Server
from sshload_operator.manifests.labels import Part, child_name
from sshload_operator.planning.plan import Plan

CONFIG_DIR = "/etc/sshload"
RUN_FILE = "run.json"
TARGET_FILE = "target.json"
KEYS_FOLDER = "keys"
KEYS_DIR = f"{CONFIG_DIR}/{KEYS_FOLDER}"
PRIVATE_KEY_FILE = "id_ed25519"
PUBLIC_KEY_FILE = "id_ed25519.pub"
CERTIFICATE_FILE = "id_ed25519-cert.pub"
USER_CA_FILE = "user_ca.pub"
USER_CA_KEY_FILE = "user_ca"
KNOWN_HOSTS_FILE = "known_hosts"
TOKEN_FILE = "run_token"  # noqa: S105 - the name of a file
HOST_KEY_FILES = ("ssh_host_ed25519_key", "ssh_host_ecdsa_key")
HOST_CERTIFICATE_FILES = tuple(f"{name}-cert.pub" for name in HOST_KEY_FILES)
CONFIG_VOLUME = "config"
ROOT_READS = 0o400
_GROUP_READS = 0o440
_ALL_READ = 0o444


def managed_endpoint(  # noqa: PLR0913, PLR0917 - what a login needs
    plan: Plan, target: ManagedTarget, host: str, port: int, user: str, keys_dir: str
) -> Endpoint:
    """Return how workers log in to a managed target, whose keys the operator made."""
    files = login_files(plan, target)

    def path(file: str) -> str:
        return f"{keys_dir}/{file}" if file in files else ""

    return Endpoint(
        host=host,
        port=port,
        user=user,
        auth=plan.spec.auth,
        private_key_path=path(PRIVATE_KEY_FILE),
        certificate_path=path(CERTIFICATE_FILE),
        passphrase_path="",
        password_path=path(POPULATION_PASSWORD_FILE),
        known_hosts_path=path(KNOWN_HOSTS_FILE),
        users=target.users_in_turn(plan.spec.users, f"{keys_dir}/{POPULATION_FILE}"),
        user_ca_path=path(USER_CA_KEY_FILE),
        revoked_share=target.sshd.revoked_share if plan.spec.auth in BY_KEY else 0.0,
    )


def login_files(plan: Plan, target: ManagedTarget) -> tuple[str, ...]:
    """Return the files of a run's keys that a login to its managed target needs."""
    spec = plan.spec
    has_population = target.users_in_turn(spec.users, POPULATION_FILE) is not None
    if spec.auth not in BY_KEY:
        return (POPULATION_FILE if has_population else POPULATION_PASSWORD_FILE, KNOWN_HOSTS_FILE)
    signed = CERTIFICATE_FILE if spec.client.certificates is None else USER_CA_KEY_FILE
    certificate = (signed,) if spec.auth is Auth.CERTIFICATE else ()
    return (POPULATION_FILE if has_population else PRIVATE_KEY_FILE, *certificate, KNOWN_HOSTS_FILE)


def config_mount() -> dict[str, Any]:
    """Return the mount of the config volume."""
    return {"name": CONFIG_VOLUME, "mountPath": CONFIG_DIR, "readOnly": True}


def config_volume(plan: Plan, *sources: dict[str, Any], mode: int | None = None) -> dict[str, Any]:
    """Return the volume with `sources`, which the pod's user can read through its fsGroup.

    If the cluster chooses the user, there may be no fsGroup. Then all users may read it; the pod has only one. Another
    `mode` is for pods with several.
    """
    if mode is None:
        mode = _ALL_READ if plan.installation.run_pods.user_id is None else _GROUP_READS
    return {"name": CONFIG_VOLUME, "projected": {"defaultMode": mode, "sources": list(sources)}}


def config_source(plan: Plan, file: str) -> dict[str, Any]:
    """Return one file of the run's ConfigMap."""
    return {"configMap": {"name": child_name(plan, Part.CONFIG), "items": [{"key": file, "path": file}]}}


def run_keys_source(plan: Plan, files: Iterable[str], folder: str = KEYS_FOLDER) -> dict[str, Any]:
    """Return files of the Secret that the operator made for the run."""
    return _secret_source(child_name(plan, Part.KEYS), files, folder)


def secret_sources(server: Server, folder: str) -> tuple[dict[str, Any], ...]:
    """Return the files of the author's Secrets for a server. If one is missing, the kubelet reports that and waits."""
    return tuple(_secret_source(found.secret, found.files, folder) for found in server.secrets)


def hop_folder(hop: int) -> str:
    """Return where the files of a jump host are, counted from 0: in a folder of its own, so that no names collide."""
    return f"{KEYS_FOLDER}/via{hop + 1}"


def file_source(name: str, file: ConfigMapFile) -> dict[str, Any]:
    """Return a file of the author's ConfigMap. If it is missing, the kubelet reports that and waits."""
    return {"configMap": {"name": file.config_map, "items": [{"key": file.key, "path": name}], "optional": False}}


def empty_dir(name: str, size_limit: str, medium: str = "") -> dict[str, Any]:
    """Return a scratch volume; a pod that fills it beyond its limit is evicted. Medium Memory keeps it off disks."""
    return {"name": name, "emptyDir": {"sizeLimit": size_limit, **({"medium": medium} if medium else {})}}


def _secret_source(name: str, files: Iterable[str], folder: str) -> dict[str, Any]:
    return {"secret": {"name": name, "items": [{"key": file, "path": f"{folder}/{file}"} for file in files]}}
