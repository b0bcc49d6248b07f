"""RunConfig from a plan, for a run in a cluster or elsewhere."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sshload_contract.allow_list import AllowList
from sshload_contract.client import Client
from sshload_contract.kerberos import MANAGED_REALM, Kdc, Kerberos, Realm
from sshload_contract.vocabulary import InPath
from sshload_contract.wire.codec import to_json
from sshload_contract.wire.run_config import Endpoint, RunConfig, TargetEndpoint

from sshload_operator.api.spec import LOCUSTFILE, TRACE, LoadTestSpec
from sshload_operator.api.targets import ManagedTarget, Server
from sshload_operator.manifests.in_path import STATS_PORTS, hops, in_path, in_path_configs
from sshload_operator.manifests.labels import (
    KDC_PORT,
    SSH_PORT,
    Part,
    child_name,
    metadata,
)
from sshload_operator.manifests.mounts import (
    CONFIG_DIR,
    KEYS_DIR,
    KEYS_FOLDER,
    RUN_FILE,
    TARGET_FILE,
    TOKEN_FILE,
    hop_folder,
    managed_endpoint,
)
from sshload_operator.manifests.target import cluster_target_places, target_config
from sshload_operator.planning.plan import Plan
from sshload_operator.planning.preflight import allow_list_of_run
from sshload_operator.state import Manifest, Role

_PUBLISHED_PERCENTILES = (50.0, 90.0, 95.0, 99.0, 99.9)
_START_LEAD_S = 0.1
"""Workers need less than a hundredth of it from the start order to their first iteration, whatever their number."""
_DRAIN_LIMIT_S = 60.0
_TOKEN_PATH = f"{KEYS_DIR}/{TOKEN_FILE}"


@dataclass(frozen=True, slots=True)
class Places:
    """Where a run takes place, as its master and workers see it.

    `stats_url` is empty for an external target; `in_path` has the same URL for each program in the path to the target.
    `allow_list` is None if the workers may connect to any address. `files` has the paths of the files from ConfigMaps,
    by the workers' names for them.
    """

    target: TargetEndpoint
    via: tuple[Endpoint, ...]
    allow_list: AllowList | None
    stats_url: str
    files: Mapping[str, str]
    token_path: str
    in_path: Mapping[InPath, str] = field(default_factory=dict)
    kdc: Kdc | None = None
    """That of a managed target."""


def cluster_places(plan: Plan) -> Places:
    """Return the places of a run in a cluster: Services by name, credentials as the kubelet mounts them."""
    spec = plan.spec
    via = tuple(host.endpoint(_mounted(host, hop_folder(hop))) for hop, host in enumerate(spec.via))
    allow_list = allow_list_of_run(plan)
    files = {name: f"{CONFIG_DIR}/{name}" for name in spec.files}
    if spec.target.managed is None:
        target = spec.target.endpoint(_mounted(spec.target, KEYS_FOLDER))
        return Places(target, via, allow_list, stats_url="", files=files, token_path=_TOKEN_PATH)
    first, login = hops(spec.target)[0], login_to_managed(plan, spec.target)
    return Places(
        target=used_by(spec.target, child_name(plan, first.role), first.port, KEYS_DIR, login),
        via=via,
        allow_list=allow_list,
        stats_url=_stats_url(plan, Role.TARGET),
        files=files,
        token_path=_TOKEN_PATH,
        in_path={InPath(role): _stats_url(plan, role) for role in spec.target.pods if role is not Role.TARGET},
        kdc=Kdc(child_name(plan, Role.TARGET), KDC_PORT) if spec.target.has_kdc else None,
    )


def _stats_url(plan: Plan, role: Role) -> str:
    return f"http://{child_name(plan, role)}:{STATS_PORTS[role]}/stats"


def login_to_managed(plan: Plan, target: ManagedTarget) -> Endpoint:
    """Return how the workers, or a program in the path for them, log in to the managed target of a run in a cluster."""
    role = hops(target)[0].role if target.access.speaks_ssh else Role.TARGET
    host = _name_for_all_hops(plan, child_name(plan, role))
    return managed_endpoint(plan, target, host, SSH_PORT, cluster_target_places(target).user, KEYS_DIR)


def used_by(target: ManagedTarget, host: str, port: int, folder: str, login: Endpoint) -> TargetEndpoint:
    """Return how workers use a managed target at its first hop: as a program in the path has it, or else by `login`."""
    endpoints = (one.endpoint(host, port, folder) for one in in_path(target) if one.endpoint is not None)
    return next(endpoints, login)


def _mounted(server: Server, folder: str) -> Mapping[str, str]:
    """Return where the kubelet mounts the author's files for a server."""
    return {file: f"{CONFIG_DIR}/{folder}/{file}" for secret in server.secrets for file in secret.files}


def _name_for_all_hops(plan: Plan, service: str) -> str:
    """Return the Service's name; with its namespace if a jump host looks it up, which may be in another namespace."""
    return f"{service}.{plan.test.namespace}.svc" if plan.spec.via else service


def run_config(plan: Plan, places: Places) -> RunConfig:
    """Return the configuration of the run's master and workers."""
    spec = plan.spec
    return RunConfig(
        run_id=plan.run_id,
        token_path=places.token_path,
        namespace=plan.test.namespace,
        test=plan.test.name,
        target=places.target,
        via=places.via,
        allow_list=places.allow_list,
        stats_url=places.stats_url,
        client=_client(spec.client, places.kdc),
        scenario=replace(spec.scenario, locustfile_path=places.files.get(LOCUSTFILE, "")),
        load=spec.load.reading(places.files.get(TRACE, "")),
        thresholds=spec.thresholds,
        warm_up_s=spec.warm_up_s,
        workers=plan.workers,
        processes_per_pod=plan.processes_per_pod,
        workers_timeout_s=spec.start_timeout_s,
        start_lead_s=_START_LEAD_S,
        drain_s=_drain_s(spec),
        percentiles=_percentiles(spec),
        log_in_first=spec.login_before_load and spec.locustfile is None,
        in_path=places.in_path,
        pause_after_s=None if spec.pause is None else spec.pause.after_s,
    )


def _client(client: Client, kdc: Kdc | None) -> Client:
    """Return the client's settings, with the realm of a managed target if that has one."""
    if kdc is None:
        return client
    fresh_tickets = client.kerberos is not None and client.kerberos.fresh_tickets
    return replace(client, kerberos=Kerberos((Realm(MANAGED_REALM, (kdc,), ()),), fresh_tickets))


def _percentiles(spec: LoadTestSpec) -> tuple[float, ...]:
    thresholds = (*spec.thresholds, *spec.relative_thresholds)
    asked = filter(None, (one.asked_percentile for one in thresholds))
    return tuple(sorted({one.percentile for one in asked}.union(_PUBLISHED_PERCENTILES)))


def _drain_s(spec: LoadTestSpec) -> float:
    """Return how long the slowest iteration can take by its timeouts, but not more than a minute.

    What a locustfile does is not known, so it gets the whole minute.
    """
    if spec.locustfile is not None:
        return _DRAIN_LIMIT_S
    timeouts = spec.client.timeouts
    login_s = timeouts.connect_s + timeouts.banner_s + timeouts.kex_s + timeouts.auth_s
    logins_s = login_s * (1 + len(spec.via))
    return min(_DRAIN_LIMIT_S, logins_s + sum(step.longest_s(timeouts) for step in spec.scenario.steps))


def config_map(plan: Plan) -> Manifest:
    """Return the ConfigMap with run.json, and the configurations of a managed target and what is in its path."""
    data = {RUN_FILE: to_json(run_config(plan, cluster_places(plan)))}
    managed = plan.spec.managed
    if managed is not None:
        target_places = replace(cluster_target_places(managed), host=login_to_managed(plan, managed).host)
        data[TARGET_FILE] = to_json(target_config(managed, target_places))
        data |= in_path_configs(plan, managed)
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(plan, Part.CONFIG),
        "data": data,
    }
