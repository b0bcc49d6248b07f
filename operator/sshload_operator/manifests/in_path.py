"""The programs that a run can put in the path to its managed target, and what a cluster makes of each."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import Final

from sshload_contract.vocabulary import InPath
from sshload_contract.wire.codec import to_json

from sshload_operator.api.targets import ManagedTarget
from sshload_operator.manifests.deployment import Hop, InCluster, deployment, service
from sshload_operator.manifests.gateway import GATEWAY
from sshload_operator.manifests.labels import HEALTH_PORT_NAME, SSH_PORT, SSH_PORT_NAME, TARGET_HTTP_PORT
from sshload_operator.manifests.mounts import CONFIG_DIR, config_source, config_volume, run_keys_source
from sshload_operator.manifests.pod import Container
from sshload_operator.manifests.proxy import PROXY
from sshload_operator.planning.plan import Plan
from sshload_operator.state import Manifest, Role

IN_PATH: Final[Mapping[InPath, InCluster]] = MappingProxyType({InPath.PROXY: PROXY, InPath.GATEWAY: GATEWAY})
STATS_PORTS: Final = {Role.TARGET: TARGET_HTTP_PORT, **{Role(part): one.stats_port for part, one in IN_PATH.items()}}
"""Where the target and each program in the path to it serve their counts."""


def in_path(target: ManagedTarget) -> tuple[InCluster, ...]:
    """Return how a cluster runs the programs in the path to a target, in the order in which connections pass them."""
    return tuple(IN_PATH[part] for part in target.in_path)


def hops(target: ManagedTarget) -> tuple[Hop, ...]:
    """Return what a connection to the target passes: the programs in the path, and the target last."""
    found = [Hop(Role.TARGET, SSH_PORT_NAME, SSH_PORT)]
    for part in reversed(target.in_path):
        found.insert(0, Hop(Role(part), *(IN_PATH[part].listens or found[0][1:])))
    return tuple(found)


def in_path_configs(plan: Plan, target: ManagedTarget) -> Iterator[tuple[str, str]]:
    """Yield the file that configures each program in the path, and its text."""
    for (part, program), (hop, behind) in zip(target.in_path.items(), pairwise(hops(target)), strict=True):
        yield _file(hop.role), to_json(IN_PATH[part].config(plan, program, behind))


def in_path_objects(plan: Plan, target: ManagedTarget) -> Iterator[Manifest]:
    """Yield, for each program in the path, the Service that leads to it and to its counts, and the Deployment.

    The program right before the target is the first.
    """
    for program, hop in reversed(tuple(zip(in_path(target), hops(target), strict=False))):
        keys = (run_keys_source(plan, files, folder) for folder, files in program.keys.items())
        own = {hop.port_name: hop.port}
        container = Container(
            role=hop.role,
            command=("python", "-m", "sshload_target.in_path", "--config", f"{CONFIG_DIR}/{_file(hop.role)}"),
            ports={**own, **program.ports},
            readiness_port=HEALTH_PORT_NAME,
            mounts=program.mounts,
            volumes=(config_volume(plan, config_source(plan, _file(hop.role)), *keys), *program.volumes),
        )
        counts = {name: port for name, port in program.ports.items() if port == program.stats_port}
        yield service(plan, hop.role, {**own, **counts})
        yield deployment(plan, target, container)


def _file(role: Role) -> str:
    return role + ".json"
