"""The gateway of a local run: a process of this Python, before this machine's sshd."""

import sys
from typing import Final

from sshload_operator.api.targets.managed_gateway import ManagedGateway
from sshload_operator.local.process import LOOPBACK, Here, LocalProgram, require_libraries, write_secret
from sshload_operator.manifests.gateway import GATEWAY_SEALING_KEY_FILE, SEALING_FOLDER, GatewayPlaces, gateway_program
from sshload_operator.manifests.mounts import KEYS_FOLDER
from sshload_operator.world.gateway_secrets import make_gateway_secrets

_LIBRARIES = ("aiosqlite", "alembic", "asyncssh", "fastapi", "jwt", "pydantic", "sqlalchemy", "uvicorn", "uvloop")
_PRIVATE_MODE: Final = 0o700


async def local_gateway(gateway: ManagedGateway, here: Here) -> LocalProgram:
    """Write the secrets of a gateway into the run's folder, and return how this Python runs it.

    The database is beside the keys. Raises LocalRunError, KeysError, OSError.
    """
    require_libraries("spec.target.managed.gateway: the gateway needs", _LIBRARIES, "extras local and gateway")
    files = await make_gateway_secrets(here.keys, LOOPBACK, here.behind, here.user, here.valid_s)
    (here.folder / SEALING_FOLDER).mkdir(mode=_PRIVATE_MODE)
    for name, text in files.items():
        write_secret(here.folder / (SEALING_FOLDER if name == GATEWAY_SEALING_KEY_FILE else KEYS_FOLDER) / name, text)
    places = GatewayPlaces(
        address=LOOPBACK,
        port=here.port,
        health_port=next(here.free),
        stats_port=next(here.free),
        server=LOOPBACK,
        server_port=here.behind,
        allowed=(),
        database=str(here.folder / "gateway.db"),
        config_dir=str(here.folder),
    )
    config = gateway_program(gateway, places, (sys.executable, "-P"))
    note = "the gateway is a process of this machine, which shares its CPUs with the rest"
    return LocalProgram(config, places.health_port, (note,))
