"""The proxy in the path to a managed target: HAProxy's configuration, its Deployment, and the Service before it."""

from dataclasses import dataclass, replace
from typing import Final

from sshload_operator.api.proxy import Proxy
from sshload_operator.api.target import ManagedTarget
from sshload_operator.manifests.labels import (
    HEALTH_PORT_NAME,
    PROXY_HTTP_PORT,
    SSH_PORT,
    SSH_PORT_NAME,
    Part,
    child_name,
    metadata,
    role_selector,
)
from sshload_operator.manifests.mounts import CONFIG_DIR, PROXY_FILE, config_source, config_volume
from sshload_operator.manifests.pod import Container, away_from, pod_template
from sshload_operator.planning.plan import Plan
from sshload_operator.state import Manifest, Role

_POD_SPEC: Final = {"terminationGracePeriodSeconds": 2}
_ADDRESS: Final = "SSHLOAD_ADDRESS"
# HAProxy looks the Service up once, and ends where DNS does not know it yet. It takes all addresses of IPv4 or of both
# families, as the pod has them.
_START: Final = (
    'until getent hosts "$1" > /dev/null; do sleep 0.2; done; '
    f'if [ -s /proc/net/if_inet6 ]; then {_ADDRESS}="[::]"; else {_ADDRESS}=0.0.0.0; fi; export {_ADDRESS}; '
    'exec haproxy -db -f "$2"'
)


@dataclass(frozen=True, slots=True)
class ProxyPlaces:
    """Where a proxy listens (for SSH, and for who asks whether it is ready), and the server that it passes it on to."""

    address: str
    port: int
    health_port: int
    server: str
    server_port: int


def haproxy_config(proxy: Proxy, places: ProxyPlaces) -> str:
    """Return HAProxy's configuration: TCP in both directions until one side closes, and nothing that could hold it up.

    No connection is made to the server but for one of a client: health checks would be counted as connections there.
    A connection that the server refuses is not tried again, which would hide the refusal.
    """
    return f"""\
global
    maxconn {proxy.max_connections}

defaults
    mode tcp
    retries 0
    timeout connect 10m
    timeout client 24d
    timeout server 24d

frontend ssh
    bind "{places.address}:{places.port}" v4v6 backlog 65535
    default_backend sshd

backend sshd
    server sshd {places.server}:{places.server_port}

frontend health
    mode http
    bind "{places.address}:{places.health_port}" v4v6
    timeout client 5s
    monitor-uri /readyz
"""


def cluster_haproxy_config(plan: Plan, proxy: Proxy) -> str:
    """Return the configuration of the proxy in a cluster."""
    places = ProxyPlaces(
        address=f"${{{_ADDRESS}}}",
        port=SSH_PORT,
        health_port=PROXY_HTTP_PORT,
        server=child_name(plan, Part.TARGET),
        server_port=SSH_PORT,
    )
    return haproxy_config(proxy, places)


def proxy_service(plan: Plan) -> Manifest:
    """Return the Service by which the workers, or the last jump host, find the proxy."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(plan, Part.PROXY, Role.PROXY),
        "spec": {
            "type": "ClusterIP",
            "selector": role_selector(plan, Role.PROXY),
            "publishNotReadyAddresses": True,
            "ports": [{"name": SSH_PORT_NAME, "port": SSH_PORT, "targetPort": SSH_PORT_NAME, "protocol": "TCP"}],
        },
    }


def proxy_deployment(plan: Plan, target: ManagedTarget) -> Manifest:
    """Return the Deployment of the proxy. Its pod is made and placed as the target's, on another node if there is one.

    What a custom image of the target takes (variables, volumes) the proxy does without.
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
            "template": pod_template(plan, _container(plan), pods, _POD_SPEC, away_from(plan, Role.TARGET)),
        },
    }


def _container(plan: Plan) -> Container:
    return Container(
        role=Role.PROXY,
        image=plan.installation.proxy_image,
        command=("sh", "-c", _START, "sh", child_name(plan, Part.TARGET), f"{CONFIG_DIR}/{PROXY_FILE}"),
        ports={SSH_PORT_NAME: SSH_PORT, HEALTH_PORT_NAME: PROXY_HTTP_PORT},
        resources=plan.installation.run_pods.proxy_resources,
        readiness_port=HEALTH_PORT_NAME,
        mounts=(),
        volumes=(config_volume(plan, config_source(plan, PROXY_FILE)),),
    )
