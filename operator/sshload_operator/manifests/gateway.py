"""The gateway of a run, in front of its managed target: its configuration, and how a cluster runs it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sshload_contract.wire.program import ProgramConfig
from sshload_contract.wire.run_config import GatewayEndpoint

from sshload_operator.api.targets.managed_gateway import ManagedGateway
from sshload_operator.manifests.deployment import Hop, InCluster
from sshload_operator.manifests.labels import HEALTH_PORT_NAME, STATS_PORT_NAME, child_name
from sshload_operator.manifests.mounts import CONFIG_DIR, KEYS_FOLDER, empty_dir
from sshload_operator.planning.plan import Plan

GATEWAY_TOKEN_FILE: Final = "gateway_token"  # noqa: S105 - the name of a file
GATEWAY_JWKS_FILE: Final = "gateway_jwks.json"
GATEWAY_SEALING_KEY_FILE: Final = "gateway_sealing_key"
GATEWAY_CREDENTIAL_FILE: Final = "gateway_credential.json"
SEALING_FOLDER: Final = f"{KEYS_FOLDER}/sealing"
ISSUER: Final = "sshload"
AUDIENCE: Final = "sshload-gateway"
CALLER: Final = "sshload"
"""The name of the gateway's only caller, as its token states it."""
CREDENTIAL: Final = "target"
"""The gateway's name for the credential of the managed target."""
SIGNATURE: Final = "EdDSA"
_PORT: Final = 8080
_HEALTH_PORT: Final = 9203
_STATS_PORT: Final = 9204
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
    to. `config_dir` has the folders with the keys.
    """

    address: str
    port: int
    health_port: int
    stats_port: int
    server: str
    server_port: int
    allowed: tuple[str, ...]
    database: str
    config_dir: str


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
            "jwksFile": f"{places.config_dir}/{KEYS_FOLDER}/{GATEWAY_JWKS_FILE}",
        },
        "sealingKeys": {"folder": f"{places.config_dir}/{SEALING_FOLDER}", "active": GATEWAY_SEALING_KEY_FILE},
        "destinations": {"allowed": allowed},
        "credentials": [{"owner": CALLER, "file": f"{places.config_dir}/{KEYS_FOLDER}/{GATEWAY_CREDENTIAL_FILE}"}],
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


def _config(plan: Plan, gateway: ManagedGateway, behind: Hop) -> ProgramConfig:
    places = GatewayPlaces(
        address="",
        port=_PORT,
        health_port=_HEALTH_PORT,
        stats_port=_STATS_PORT,
        server=child_name(plan, behind.role),
        server_port=behind.port,
        allowed=_PRIVATE_RANGES,
        database=f"{_DATA_DIR}/gateway.db",
        config_dir=CONFIG_DIR,
    )
    return gateway_program(gateway, places, ("python",))


def _endpoint(host: str, port: int, folder: str) -> GatewayEndpoint:
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


GATEWAY: Final = InCluster(
    config=_config,
    stats_port=_STATS_PORT,
    ports={HEALTH_PORT_NAME: _HEALTH_PORT, STATS_PORT_NAME: _STATS_PORT},
    listens=("http", _PORT),
    key_files=(GATEWAY_TOKEN_FILE, GATEWAY_JWKS_FILE, GATEWAY_SEALING_KEY_FILE, GATEWAY_CREDENTIAL_FILE),
    keys={KEYS_FOLDER: (GATEWAY_JWKS_FILE, GATEWAY_CREDENTIAL_FILE), SEALING_FOLDER: (GATEWAY_SEALING_KEY_FILE,)},
    caller_files=(GATEWAY_TOKEN_FILE,),
    endpoint=_endpoint,
    mounts=({"name": "data", "mountPath": _DATA_DIR},),
    volumes=(empty_dir("data", "64Mi"),),
)
