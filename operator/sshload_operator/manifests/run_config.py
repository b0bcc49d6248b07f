"""RunConfig from a plan, for a cluster or for wherever else the run takes place."""

from dataclasses import dataclass

from sshload_contract.run_config import RUN_CONFIG_VERSION, Auth, Endpoint, RunConfig, ScenarioStep, SleepStep, Timeouts

from sshload_operator.api.spec import ExternalTarget, LatencyThreshold, LoadTestSpec
from sshload_operator.manifests.mounts import (
    EXTERNAL_CREDENTIALS_FILES,
    KEYS_DIR,
    KNOWN_HOSTS_FILE,
    PRIVATE_KEY_FILE,
    TARGET_USER,
)
from sshload_operator.manifests.names import Part, child_name
from sshload_operator.manifests.ports import SSH_PORT, TARGET_HTTP_PORT
from sshload_operator.planning.plan import Plan

_PUBLISHED_PERCENTILES = (50.0, 90.0, 95.0, 99.0, 99.9)
_KNOWN_HOSTS_PATH = f"{KEYS_DIR}/{KNOWN_HOSTS_FILE}"
_START_LEAD_S = 0.3
_DRAIN_LIMIT_S = 60.0


@dataclass(frozen=True, slots=True)
class Places:
    """Where a run takes place, as its master and workers see it. `stats_url` is empty for an external target."""

    endpoint: Endpoint
    stats_url: str


def cluster_places(plan: Plan) -> Places:
    """Return the places of a run in a cluster: Services by name, credentials as the kubelet mounts them."""
    target = plan.spec.target
    if isinstance(target, ExternalTarget):
        return Places(endpoint=_external_endpoint(target), stats_url="")
    host = child_name(plan, Part.TARGET)
    endpoint = Endpoint(
        host=host,
        port=SSH_PORT,
        user=TARGET_USER,
        auth=Auth.PUBLICKEY,
        private_key_path=f"{KEYS_DIR}/{PRIVATE_KEY_FILE}",
        certificate_path="",
        passphrase_path="",
        password_path="",
        known_hosts_path=_KNOWN_HOSTS_PATH,
    )
    return Places(endpoint=endpoint, stats_url=f"http://{host}:{TARGET_HTTP_PORT}/stats")


def _external_endpoint(target: ExternalTarget) -> Endpoint:
    path = f"{KEYS_DIR}/{EXTERNAL_CREDENTIALS_FILES[target.auth]}"
    return Endpoint(
        host=target.host,
        port=target.port,
        user=target.user,
        auth=target.auth,
        private_key_path=path if target.auth is Auth.PUBLICKEY else "",
        certificate_path="",
        passphrase_path="",
        password_path=path if target.auth is Auth.PASSWORD else "",
        known_hosts_path="" if target.insecure_ignore_host_key else _KNOWN_HOSTS_PATH,
    )


def run_config(plan: Plan, places: Places) -> RunConfig:
    """Return what the run's master and workers are told."""
    spec = plan.spec
    return RunConfig(
        version=RUN_CONFIG_VERSION,
        run_id=plan.run_id,
        namespace=plan.test.namespace,
        test=plan.test.name,
        target=places.endpoint,
        via=(),
        stats_url=places.stats_url,
        client=spec.client,
        scenario=spec.scenario,
        load=spec.load,
        warm_up_s=spec.warm_up_s,
        workers=spec.workers.replicas,
        processes_per_pod=1,
        workers_timeout_s=spec.start_timeout_s,
        start_lead_s=_START_LEAD_S,
        drain_s=_drain_s(spec),
        percentiles=_percentiles(spec),
    )


def _percentiles(spec: LoadTestSpec) -> tuple[float, ...]:
    asked = {threshold.percentile for threshold in spec.thresholds if isinstance(threshold, LatencyThreshold)}
    return tuple(sorted(asked.union(_PUBLISHED_PERCENTILES)))


def _drain_s(spec: LoadTestSpec) -> float:
    """Return how long the slowest iteration can take by its timeouts, but not more than a minute."""
    timeouts = spec.client.timeouts
    login_s = timeouts.connect_s + timeouts.banner_s + timeouts.kex_s + timeouts.auth_s
    return min(_DRAIN_LIMIT_S, login_s + sum(_step_limit_s(step, timeouts) for step in spec.scenario.steps))


def _step_limit_s(step: ScenarioStep, timeouts: Timeouts) -> float:
    return step.duration_s if isinstance(step, SleepStep) else timeouts.channel_s + timeouts.step_s
