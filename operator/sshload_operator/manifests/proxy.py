"""The proxy in the path to a managed target: its configuration, and how a cluster runs it."""

from typing import Final

from sshload_contract.wire.program import ProgramConfig

from sshload_operator.api.targets.proxy import Proxy
from sshload_operator.manifests.deployment import Hop, InCluster
from sshload_operator.manifests.labels import HEALTH_PORT_NAME, SSH_PORT_NAME, child_name
from sshload_operator.planning.plan import Plan
from sshload_operator.planning.proxy_programs import ProxyPlaces, program_config

_HTTP_PORT: Final = 9202


def _config(plan: Plan, proxy: Proxy, behind: Hop) -> ProgramConfig:
    places = ProxyPlaces(
        port=behind.port,
        stats_port=_HTTP_PORT,
        server=child_name(plan, behind.role),
        server_port=behind.port,
        speaks_http=behind.port_name != SSH_PORT_NAME,
    )
    return program_config(proxy, places)


PROXY: Final = InCluster(config=_config, stats_port=_HTTP_PORT, ports={HEALTH_PORT_NAME: _HTTP_PORT})
