"""The gateway of a local run: a process of this Python, before this machine's sshd."""

import sys
from typing import Final

from sshload_operator.api.targets import ManagedTarget
from sshload_operator.local.process import LOOPBACK, Here, LocalProgram, require_libraries, write_secret
from sshload_operator.local.sshd import current_user
from sshload_operator.manifests.gateway import (
    GATEWAY_CREDENTIAL_FILE,
    GATEWAY_JWKS_FILE,
    GATEWAY_SEALING_KEY_FILE,
    SEALING_FOLDER,
    GatewayPlaces,
    gateway_program,
)
from sshload_operator.world.gateway_secrets import make_gateway_secrets

_LIBRARIES = ("aiosqlite", "alembic", "asyncssh", "fastapi", "jwt", "pydantic", "sqlalchemy", "uvicorn", "uvloop")
_PRIVATE_MODE: Final = 0o700


async def local_gateway(target: ManagedTarget, here: Here) -> LocalProgram:
    """Write the secrets of a gateway into the run's folder, and return how this Python runs it.

    The database is beside the files. Raises LocalRunError, KeysError, OSError.
    """
    assert target.gateway is not None  # noqa: S101 - it is in the path
    require_libraries("spec.target.managed.gateway: the gateway needs", _LIBRARIES, "extras local and gateway")
    folder = here.folder
    files = await make_gateway_secrets(here.keys, LOOPBACK, here.behind, current_user().pw_name, here.valid_s)
    (folder / SEALING_FOLDER).mkdir(mode=_PRIVATE_MODE, parents=True)
    sealing = {GATEWAY_SEALING_KEY_FILE: folder / SEALING_FOLDER}
    for name, text in files.items():
        write_secret(sealing.get(name, folder) / name, text)
    places = GatewayPlaces(
        address=LOOPBACK,
        port=here.port,
        health_port=next(here.free),
        stats_port=next(here.free),
        server=LOOPBACK,
        server_port=here.behind,
        allowed=(),
        database=str(folder / "gateway.db"),
        jwks=str(folder / GATEWAY_JWKS_FILE),
        sealing_folder=str(folder / SEALING_FOLDER),
        credential=str(folder / GATEWAY_CREDENTIAL_FILE),
    )
    config = gateway_program(target.gateway, places, (sys.executable, "-P"))
    note = "the gateway is a process of this machine, which shares its CPUs with the rest"
    return LocalProgram(config, places.health_port, (note,))
