"""The proxy in the path to a managed target, or to its gateway: its configuration, its Deployment, and its Service."""

from dataclasses import replace
from typing import Final

from sshload_contract.wire.program import ProgramConfig

from sshload_operator.api.proxy import Proxy
from sshload_operator.api.targets import ManagedTarget
from sshload_operator.manifests.labels import (
    DEPLOYMENT_PARTS,
    GATEWAY_PORT_NAME,
    HEALTH_PORT_NAME,
    PROXY_HTTP_PORT,
    SSH_PORT_NAME,
    Part,
    behind_proxy,
    child_name,
    metadata,
    role_selector,
)
from sshload_operator.manifests.mounts import CONFIG_DIR, PROXY_FILE, config_source, config_volume
from sshload_operator.manifests.pod import Container, away_from, pod_template
from sshload_operator.planning.plan import Plan
from sshload_operator.planning.proxy_programs import ProxyPlaces, program_config
from sshload_operator.state import Manifest, Role

_POD_SPEC: Final = {"terminationGracePeriodSeconds": 2}


def cluster_proxy_config(plan: Plan, target: ManagedTarget, proxy: Proxy) -> ProgramConfig:
    """Return the configuration of the proxy's PID 1 in a cluster. It listens at the port of what is behind it."""
    role, port = behind_proxy(target)
    places = ProxyPlaces(
        port=port,
        stats_port=PROXY_HTTP_PORT,
        server=child_name(plan, DEPLOYMENT_PARTS[role]),
        server_port=port,
        speaks_http=role is Role.GATEWAY,
    )
    return program_config(proxy, places)


def proxy_service(plan: Plan, target: ManagedTarget) -> Manifest:
    """Return the Service through which workers or the last jump host reach the proxy, and the master its counts."""
    name, port = _port(target)
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(plan, Part.PROXY, Role.PROXY),
        "spec": {
            "type": "ClusterIP",
            "selector": role_selector(plan, Role.PROXY),
            "publishNotReadyAddresses": True,
            "ports": [
                {"name": name, "port": port, "targetPort": name, "protocol": "TCP"},
                {
                    "name": HEALTH_PORT_NAME,
                    "port": PROXY_HTTP_PORT,
                    "targetPort": HEALTH_PORT_NAME,
                    "protocol": "TCP",
                },
            ],
        },
    }


def proxy_deployment(plan: Plan, target: ManagedTarget) -> Manifest:
    """Return the Deployment of the proxy.

    Its pod is made and placed like the target's, on another node if there is one. It does not get the
    variables and volumes for a custom image of the target.
    """
    pods = replace(target, env=(), volumes=())
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(plan, Part.PROXY, Role.PROXY),
        "spec": {
            "replicas": 1,
            "revisionHistoryLimit": 0,
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": role_selector(plan, Role.PROXY)},
            "template": pod_template(plan, _container(plan, target), pods, _POD_SPEC, away_from(plan, Role.TARGET)),
        },
    }


def _port(target: ManagedTarget) -> tuple[str, int]:
    role, port = behind_proxy(target)
    return SSH_PORT_NAME if role is Role.TARGET else GATEWAY_PORT_NAME, port


def _container(plan: Plan, target: ManagedTarget) -> Container:
    return Container(
        role=Role.PROXY,
        image=plan.installation.proxy_image,
        command=("python", "-m", "sshload_target.in_path", "--config", f"{CONFIG_DIR}/{PROXY_FILE}"),
        ports=dict((_port(target), (HEALTH_PORT_NAME, PROXY_HTTP_PORT))),
        resources=plan.installation.run_pods.proxy_resources,
        readiness_port=HEALTH_PORT_NAME,
        mounts=(),
        volumes=(config_volume(plan, config_source(plan, PROXY_FILE)),),
    )
