"""The gateway of a run, in front of its managed target: its configuration, its Deployment, and its Service."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sshload_contract.wire.program import ProgramConfig
from sshload_contract.wire.run_config import GatewayEndpoint

from sshload_operator.api.targets import ManagedTarget
from sshload_operator.api.targets.managed_gateway import ManagedGateway
from sshload_operator.manifests.deployment import deployment, service
from sshload_operator.manifests.labels import (
    GATEWAY_HEALTH_PORT,
    GATEWAY_PORT,
    GATEWAY_PORT_NAME,
    GATEWAY_STATS_PORT,
    HEALTH_PORT_NAME,
    SSH_PORT,
    STATS_PORT_NAME,
    child_name,
)
from sshload_operator.manifests.mounts import (
    CONFIG_DIR,
    KEYS_DIR,
    KEYS_FOLDER,
    config_source,
    config_volume,
    empty_dir,
    run_keys_source,
)
from sshload_operator.manifests.network_policy import clients, dns, pods, policy, rule
from sshload_operator.manifests.pod import Container
from sshload_operator.planning.plan import Plan
from sshload_operator.state import Manifest, Role

GATEWAY_FILE: Final = "gateway.json"
GATEWAY_TOKEN_FILE: Final = "gateway_token"  # noqa: S105 - the name of a file
GATEWAY_JWKS_FILE: Final = "gateway_jwks.json"
GATEWAY_SEALING_KEY_FILE: Final = "gateway_sealing_key"
GATEWAY_CREDENTIAL_FILE: Final = "gateway_credential.json"
GATEWAY_KEY_FILES: Final = (
    GATEWAY_TOKEN_FILE, GATEWAY_JWKS_FILE, GATEWAY_SEALING_KEY_FILE, GATEWAY_CREDENTIAL_FILE,
)  # fmt: skip
"""What the run's Secret holds for the gateway and its caller."""
SEALING_FOLDER: Final = f"{KEYS_FOLDER}/sealing"
ISSUER: Final = "sshload"
AUDIENCE: Final = "sshload-gateway"
CALLER: Final = "sshload"
"""The name of the gateway's only caller, as its token states it."""
CREDENTIAL: Final = "target"
"""The gateway's name for the credential of the managed target."""
SIGNATURE: Final = "EdDSA"
_DATA_DIR: Final = "/var/lib/sshload-gateway"
_UNLIMITED: Final = 100_000
_OTHER_FILES: Final = 200
"""How many files a gateway can open besides connections to the server: for callers, database, listeners."""
_PRIVATE_RANGES: Final = (
    "10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10",
)  # fmt: skip
"""The ranges that Services may be in. The target's address is not known yet; the NetworkPolicy opens only that."""


@dataclass(frozen=True, slots=True)
class GatewayPlaces:
    """Where a gateway runs: the `address` to listen at (empty: all), its ports, the server, and its files.

    The counts are served on `stats_port`. `allowed` are the addresses or ranges that the server's host name may resolve
    to.
    """

    address: str
    port: int
    health_port: int
    stats_port: int
    server: str
    server_port: int
    allowed: tuple[str, ...]
    database: str
    jwks: str
    sealing_folder: str
    credential: str


CLUSTER_FILES: Final[Mapping[str, str]] = {
    "database": f"{_DATA_DIR}/gateway.db",
    "jwks": f"{KEYS_DIR}/{GATEWAY_JWKS_FILE}",
    "sealing_folder": f"{CONFIG_DIR}/{SEALING_FOLDER}",
    "credential": f"{KEYS_DIR}/{GATEWAY_CREDENTIAL_FILE}",
}


def gateway_config(gateway: ManagedGateway, places: GatewayPlaces) -> str:
    """Return the gateway's configuration in JSON, which is also YAML.

    All requests come from one caller, so the limits for each caller are set too high to matter. Settings that a spec
    does not name have the gateway's defaults.
    """
    address = {"host": places.address} if places.address else {}
    allowed = [{"host": host, "ports": [places.server_port]} for host in (places.server, *places.allowed)]
    connections = gateway.connections_per_credential
    config = {
        "listen": {**address, "port": places.port},
        "management": {**address, "port": places.health_port},
        "database": {"url": f"sqlite:///{places.database}"},
        "tokens": {
            "issuer": ISSUER,
            "audience": AUDIENCE,
            "algorithms": [SIGNATURE],
            "jwksFile": places.jwks,
        },
        "sealingKeys": {"folder": places.sealing_folder, "active": GATEWAY_SEALING_KEY_FILE},
        "destinations": {"allowed": allowed},
        "credentials": [{"owner": CALLER, "file": places.credential}],
        "pool": {
            "policy": str(gateway.policy),
            "connections": connections,
            "connectionsPerHost": connections,
            "connectionsPerCredential": connections,
            "sessions": _UNLIMITED,
            "sessionsPerConnection": gateway.sessions_per_connection,
            "loginsPerHost": gateway.logins_per_host,
        },
        "limits": {"requestsPerSecond": _UNLIMITED, "requestsAtOnce": _UNLIMITED, "underWay": _UNLIMITED},
        "shutdownS": 1,
    }
    return f"{json.dumps(config, indent=2)}\n"


def credential_request(host: str, port: int, user: str, private_key: str, known_hosts: str) -> str:
    """Return the body of the request that stores the credential of the managed target, with its host keys."""
    keys = [" ".join(line.split()[1:]) for line in known_hosts.splitlines()]
    login = {"name": CREDENTIAL, "host": host, "port": port, "user": user}
    return json.dumps({**login, "privateKey": private_key, "hostKeys": keys})


def gateway_program(gateway: ManagedGateway, places: GatewayPlaces, python: Sequence[str]) -> ProgramConfig:
    """Return the configuration of the gateway's PID 1, which runs the gateway with the command `python`."""
    return ProgramConfig(
        command=(*python, "-m", "sshload_gateway", "--config"),
        config=gateway_config(gateway, places),
        server=places.server,
        port=places.port,
        stats_port=places.stats_port,
        open_files=gateway.connections_per_credential + _OTHER_FILES,
    )


def cluster_gateway_program(plan: Plan, gateway: ManagedGateway) -> ProgramConfig:
    """Return the configuration of the gateway's PID 1 in a cluster."""
    places = GatewayPlaces(
        address="",
        port=GATEWAY_PORT,
        health_port=GATEWAY_HEALTH_PORT,
        stats_port=GATEWAY_STATS_PORT,
        server=child_name(plan, Role.TARGET),
        server_port=SSH_PORT,
        allowed=_PRIVATE_RANGES,
        **CLUSTER_FILES,
    )
    return gateway_program(gateway, places, ("python",))


def managed_gateway_endpoint(host: str, port: int, folder: str) -> GatewayEndpoint:
    """Return how workers call the gateway of a run, which speaks plain HTTP within the run; `folder` has the token."""
    return GatewayEndpoint(
        tls=False,
        host=host,
        port=port,
        path="",
        credential=CREDENTIAL,
        token_path=f"{folder}/{GATEWAY_TOKEN_FILE}",
        ca_path="",
    )


def gateway_objects(plan: Plan, target: ManagedTarget) -> tuple[Manifest, Manifest]:
    """Return the Service through which the workers reach the gateway, and the master its counts, and the Deployment."""
    ports = {GATEWAY_PORT_NAME: GATEWAY_PORT, STATS_PORT_NAME: GATEWAY_STATS_PORT}
    keys: tuple[dict[str, Any], ...] = (
        run_keys_source(plan, (GATEWAY_JWKS_FILE, GATEWAY_CREDENTIAL_FILE)),
        run_keys_source(plan, (GATEWAY_SEALING_KEY_FILE,), SEALING_FOLDER),
    )
    container = Container(
        role=Role.GATEWAY,
        command=("python", "-m", "sshload_target.in_path", "--config", f"{CONFIG_DIR}/{GATEWAY_FILE}"),
        ports={
            GATEWAY_PORT_NAME: GATEWAY_PORT,
            HEALTH_PORT_NAME: GATEWAY_HEALTH_PORT,
            STATS_PORT_NAME: GATEWAY_STATS_PORT,
        },
        readiness_port=HEALTH_PORT_NAME,
        mounts=({"name": "data", "mountPath": _DATA_DIR},),
        volumes=(config_volume(plan, config_source(plan, GATEWAY_FILE), *keys), empty_dir("data", "64Mi")),
    )
    return service(plan, Role.GATEWAY, ports), deployment(plan, target, container)


def gateway_policy(plan: Plan, target: ManagedTarget) -> Manifest:
    """Return the gateway's policy: HTTP from this run's workers or proxy, counts for the master, out to the target."""
    http_from = clients(plan) if target.proxy is None else [pods(plan, Role.PROXY)]
    ingress = [
        rule("from", http_from, GATEWAY_PORT),
        rule("from", [pods(plan, Role.MASTER)], GATEWAY_STATS_PORT),
    ]
    egress = [rule("to", [pods(plan, Role.TARGET)], SSH_PORT), dns(plan)]
    return policy(plan, Role.GATEWAY, ingress, egress)
