"""The proxy in the path to a managed target, or to its gateway: its configuration, its Deployment, and its Service."""

from sshload_contract.wire.program import ProgramConfig

from sshload_operator.api.targets import ManagedTarget
from sshload_operator.api.targets.proxy import Proxy
from sshload_operator.manifests.deployment import deployment, service
from sshload_operator.manifests.labels import (
    GATEWAY_PORT_NAME,
    HEALTH_PORT_NAME,
    PROXY_HTTP_PORT,
    SSH_PORT_NAME,
    behind_proxy,
    child_name,
)
from sshload_operator.manifests.mounts import CONFIG_DIR, PROXY_FILE, config_source, config_volume
from sshload_operator.manifests.pod import Container
from sshload_operator.planning.plan import Plan
from sshload_operator.planning.proxy_programs import ProxyPlaces, program_config
from sshload_operator.state import Manifest, Role


def cluster_proxy_config(plan: Plan, target: ManagedTarget, proxy: Proxy) -> ProgramConfig:
    """Return the configuration of the proxy's PID 1 in a cluster. It listens at the port of what is behind it."""
    role, port = behind_proxy(target)
    places = ProxyPlaces(
        port=port,
        stats_port=PROXY_HTTP_PORT,
        server=child_name(plan, role),
        server_port=port,
        speaks_http=role is Role.GATEWAY,
    )
    return program_config(proxy, places)


def proxy_objects(plan: Plan, target: ManagedTarget) -> tuple[Manifest, Manifest]:
    """Return the Service through which workers or the last jump host reach the proxy, and the Deployment.

    By the Service the master reaches the proxy's counts too.
    """
    role, port = behind_proxy(target)
    ports = {SSH_PORT_NAME if role is Role.TARGET else GATEWAY_PORT_NAME: port, HEALTH_PORT_NAME: PROXY_HTTP_PORT}
    container = Container(
        role=Role.PROXY,
        command=("python", "-m", "sshload_target.in_path", "--config", f"{CONFIG_DIR}/{PROXY_FILE}"),
        ports=ports,
        readiness_port=HEALTH_PORT_NAME,
        volumes=(config_volume(plan, config_source(plan, PROXY_FILE)),),
    )
    return service(plan, Role.PROXY, ports), deployment(plan, target, container)
