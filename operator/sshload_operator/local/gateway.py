"""The gateway of a local run: a process of this Python, before this machine's sshd."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from sshload_operator.api.managed_gateway import ManagedGateway
from sshload_operator.manifests import GatewayPlaces, gateway_config
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


def write_gateway(
    gateway: ManagedGateway, address: str, ports: tuple[int, int, int], files: Mapping[str, str], folder: Path
) -> None:
    """Write the configuration and the secrets of a gateway into a private folder; raises OSError.

    `ports` are its own, that of its health, and sshd's, all at `address`. The database is beside them.
    """
    (folder / SEALING_FOLDER).mkdir(mode=_PRIVATE_MODE, parents=True)
    sealing = {GATEWAY_SEALING_KEY_FILE: folder / SEALING_FOLDER}
    for name, text in files.items():
        path = sealing.get(name, folder) / name
        path.touch(mode=_SECRET_MODE)
        path.write_text(text, encoding="ascii")
    port, health_port, server_port = ports
    places = GatewayPlaces(
        address=address,
        port=port,
        health_port=health_port,
        server=address,
        server_port=server_port,
        allowed=(),
        database=str(folder / "gateway.db"),
        jwks=str(folder / GATEWAY_JWKS_FILE),
        sealing_folder=str(folder / SEALING_FOLDER),
        credential=str(folder / GATEWAY_CREDENTIAL_FILE),
    )
    (folder / GATEWAY_FILE).write_text(gateway_config(gateway, places), encoding="utf-8")
