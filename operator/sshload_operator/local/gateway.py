"""The gateway of a local run: a process of this Python, before this machine's sshd."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sshload_contract.wire.codec import to_json

from sshload_operator.api.managed_gateway import ManagedGateway
from sshload_operator.manifests import GatewayPlaces, gateway_program
from sshload_operator.manifests.mounts import (
    GATEWAY_CREDENTIAL_FILE,
    GATEWAY_FILE,
    GATEWAY_JWKS_FILE,
    GATEWAY_SEALING_KEY_FILE,
    SEALING_FOLDER,
)

LIBRARIES: Final = ("aiosqlite", "alembic", "asyncssh", "fastapi", "jwt", "pydantic", "sqlalchemy", "uvicorn", "uvloop")
_SECRET_MODE: Final = 0o600
_PRIVATE_MODE: Final = 0o700


@dataclass(frozen=True, slots=True)
class GatewayPorts:
    """The ports of a gateway: its own, that of its health, that of what observes it, and sshd's."""

    own: int
    health: int
    stats: int
    server: int


def write_gateway(
    gateway: ManagedGateway, address: str, ports: GatewayPorts, files: Mapping[str, str], folder: Path
) -> None:
    """Write the configuration and the secrets of a gateway into a private folder; raises OSError.

    All `ports` are at `address`. The database is beside the files.
    """
    (folder / SEALING_FOLDER).mkdir(mode=_PRIVATE_MODE, parents=True)
    sealing = {GATEWAY_SEALING_KEY_FILE: folder / SEALING_FOLDER}
    for name, text in files.items():
        path = sealing.get(name, folder) / name
        path.touch(mode=_SECRET_MODE)
        path.write_text(text, encoding="ascii")
    places = GatewayPlaces(
        address=address,
        port=ports.own,
        health_port=ports.health,
        stats_port=ports.stats,
        server=address,
        server_port=ports.server,
        allowed=(),
        database=str(folder / "gateway.db"),
        jwks=str(folder / GATEWAY_JWKS_FILE),
        sealing_folder=str(folder / SEALING_FOLDER),
        credential=str(folder / GATEWAY_CREDENTIAL_FILE),
    )
    program = gateway_program(gateway, places, (sys.executable, "-P"))
    (folder / GATEWAY_FILE).write_text(to_json(program), encoding="utf-8")
