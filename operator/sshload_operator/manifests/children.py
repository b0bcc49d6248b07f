"""All objects of a run: what is applied at its start, what is deleted at its end, and the Secret, made first."""

from collections.abc import Mapping
from dataclasses import dataclass

from sshload_contract.population import POPULATION_FILE, POPULATION_PASSWORD_FILE
from sshload_contract.vocabulary import InPath

from sshload_operator.manifests.in_path import in_path, in_path_objects
from sshload_operator.manifests.labels import Part, metadata, run_child_name
from sshload_operator.manifests.master import master_job, master_service
from sshload_operator.manifests.mounts import (
    CERTIFICATE_FILE,
    HOST_CERTIFICATE_FILES,
    HOST_KEY_FILES,
    KNOWN_HOSTS_FILE,
    PRIVATE_KEY_FILE,
    PUBLIC_KEY_FILE,
    TOKEN_FILE,
    USER_CA_FILE,
    USER_CA_KEY_FILE,
)
from sshload_operator.manifests.network_policy import (
    in_path_policies,
    master_policy,
    target_policy,
    workers_policy,
)
from sshload_operator.manifests.run_config import config_map
from sshload_operator.manifests.target import target_objects
from sshload_operator.manifests.workers import workers_job
from sshload_operator.planning.plan import Plan, TestIdentity
from sshload_operator.state import Manifest, Role

KEY_FILES = (PRIVATE_KEY_FILE, PUBLIC_KEY_FILE, CERTIFICATE_FILE, USER_CA_FILE, *HOST_KEY_FILES, KNOWN_HOSTS_FILE)
_RESOURCES = {
    "ConfigMap": "/api/v1/namespaces/{}/configmaps",
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "Job": "/apis/batch/v1/namespaces/{}/jobs",
    "NetworkPolicy": "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies",
    "Secret": "/api/v1/namespaces/{}/secrets",
    "Service": "/api/v1/namespaces/{}/services",
}
_TO_TARGET = (*(Role(part) for part in InPath), Role.TARGET)
_SWEPT: tuple[tuple[str, Role | Part], ...] = (
    ("Job", Role.WORKER),
    ("Job", Role.MASTER),
    *(("Deployment", role) for role in _TO_TARGET),
    *(("Service", role) for role in (Role.MASTER, *_TO_TARGET)),
    ("Secret", Part.KEYS),
    ("ConfigMap", Part.CONFIG),
    *(("NetworkPolicy", role) for role in (Role.WORKER, Role.MASTER, *_TO_TARGET)),
)


def key_files(plan: Plan) -> tuple[str, ...]:
    """Return which keys the run's Secret holds besides the token: none if the target is not managed."""
    target = plan.spec.managed
    if target is None:
        return ()
    of_population = () if target.system is None else (POPULATION_FILE, POPULATION_PASSWORD_FILE)
    signing = (USER_CA_KEY_FILE,) if plan.spec.client.certificates is not None else ()
    certified = HOST_CERTIFICATE_FILES if target.sshd.host_certificates else ()
    of_path = (file for one in in_path(target) for file in one.key_files)
    return (*KEY_FILES, *of_population, *signing, *certified, *of_path)


def keys_secret(plan: Plan, token: str, keys: Mapping[str, str]) -> Manifest:
    """Return the Secret that holds the token and `keys`, the text of each of the plan's `key_files`.

    It is created, never applied: an existing one stays, because pods may have its content. Raises ValueError for other
    keys.
    """
    wanted = key_files(plan)
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


@dataclass(frozen=True, slots=True)
class ChildRef:
    """One object of a run: `api_path` is its own address at the API server, `/api/v1/namespaces/x/services/y`."""

    kind: str
    api_path: str
    name: str


def children(plan: Plan, proof_sha256: str) -> tuple[Manifest, ...]:
    """Return the objects of a run in the order to apply them, without the Secret: policies come before pods."""
    target = plan.spec.managed
    of_target = () if target is None else (*target_objects(plan, target), *in_path_objects(plan, target))
    shared = (config_map(plan), master_service(plan))
    jobs = (master_job(plan, proof_sha256), workers_job(plan))
    return (*_policies(plan), *shared, *of_target, *jobs)


def _policies(plan: Plan) -> tuple[Manifest, ...]:
    if not plan.installation.run_pods.network_policies:
        return ()
    target = plan.spec.managed
    of_target = () if target is None else (target_policy(plan, target), *in_path_policies(plan, target))
    return (*of_target, master_policy(plan), workers_policy(plan))


def child_ref(manifest: Manifest) -> ChildRef:
    """Return where a manifest of a run is applied."""
    metadata = manifest["metadata"]
    return _ref(manifest["kind"], metadata["namespace"], metadata["name"])


def swept(test: TestIdentity, run_id: str) -> tuple[ChildRef, ...]:
    """Return what to delete after a run: all objects except its results, the load first. Some may not exist."""
    return tuple(_ref(kind, test.namespace, run_child_name(test.name, run_id, part)) for kind, part in _SWEPT)


def results_ref(test: TestIdentity, run_id: str) -> ChildRef:
    """Return where the results of a run are kept."""
    return _ref("ConfigMap", test.namespace, run_child_name(test.name, run_id, Part.RESULTS))


def _ref(kind: str, namespace: str, name: str) -> ChildRef:
    path = _RESOURCES[kind].format(namespace)
    return ChildRef(kind=kind, api_path=f"{path}/{name}", name=name)
