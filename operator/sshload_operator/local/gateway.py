"""The gateway of a local run: a process of this Python, before this machine's sshd."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sshload_contract.wire.codec import to_json

from sshload_operator.api.targets.managed_gateway import ManagedGateway
from sshload_operator.local.process import LOOPBACK, LocalProgram, in_path, require_libraries, write_secret
from sshload_operator.local.sshd import current_user
from sshload_operator.manifests import GatewayPlaces, gateway_program
from sshload_operator.manifests.gateway import (
    GATEWAY_CREDENTIAL_FILE,
    GATEWAY_FILE,
    GATEWAY_JWKS_FILE,
    GATEWAY_SEALING_KEY_FILE,
    SEALING_FOLDER,
)
from sshload_operator.state import Role
from sshload_operator.world.gateway_secrets import make_gateway_secrets
from sshload_operator.world.keys import Keys

_LIBRARIES = ("aiosqlite", "alembic", "asyncssh", "fastapi", "jwt", "pydantic", "sqlalchemy", "uvicorn", "uvloop")
_PRIVATE_MODE: Final = 0o700


@dataclass(frozen=True, slots=True)
class GatewayPorts:
    """The ports of a gateway: its own, that of its health, that of what observes it, and sshd's."""

    own: int
    health: int
    stats: int
    server: int


async def write_gateway(
    gateway: ManagedGateway, ports: GatewayPorts, keys: Keys, valid_s: float, folder: Path
) -> LocalProgram:
    """Write the configuration and the secrets of a gateway into a private folder.

    The database is beside the files. Raises LocalRunError, KeysError, OSError.
    """
    require_libraries("spec.target.managed.gateway: the gateway needs", _LIBRARIES, "extras local and gateway")
    files = await make_gateway_secrets(keys, LOOPBACK, ports.server, current_user().pw_name, valid_s)
    (folder / SEALING_FOLDER).mkdir(mode=_PRIVATE_MODE, parents=True)
    sealing = {GATEWAY_SEALING_KEY_FILE: folder / SEALING_FOLDER}
    for name, text in files.items():
        write_secret(sealing.get(name, folder) / name, text)
    places = GatewayPlaces(
        address=LOOPBACK,
        port=ports.own,
        health_port=ports.health,
        stats_port=ports.stats,
        server=LOOPBACK,
        server_port=ports.server,
        allowed=(),
        database=str(folder / "gateway.db"),
        jwks=str(folder / GATEWAY_JWKS_FILE),
        sealing_folder=str(folder / SEALING_FOLDER),
        credential=str(folder / GATEWAY_CREDENTIAL_FILE),
    )
    program = gateway_program(gateway, places, (sys.executable, "-P"))
    (folder / GATEWAY_FILE).write_text(to_json(program), encoding="utf-8")
    note = "the gateway is a process of this machine, which shares its CPUs with the rest"
    return LocalProgram(in_path(Role.GATEWAY, GATEWAY_FILE, ports.health), ports.stats, (note,))
