"""The secrets of a run's gateway and its caller, besides the keys of the target: a token and a sealing key."""

import asyncio
import base64
import json
import secrets
import sys
from collections.abc import Mapping
from math import ceil
from typing import Final

from sshload_operator.manifests.gateway import (
    AUDIENCE,
    CALLER,
    GATEWAY_CREDENTIAL_FILE,
    GATEWAY_JWKS_FILE,
    GATEWAY_SEALING_KEY_FILE,
    GATEWAY_TOKEN_FILE,
    ISSUER,
    SIGNATURE,
    credential_request,
)
from sshload_operator.world.keys import CLOCKS_DIFFER_S, Keys, KeysError
from sshload_operator.world.program import program

_SEALING_KEY_BYTES: Final = 32


async def make_gateway_secrets(keys: Keys, host: str, port: int, user: str, valid_s: float) -> Mapping[str, str]:
    """Return the files of a gateway and its caller by name. The gateway logs in as `user`, to this host and port.

    The token is valid for `valid_s` plus a margin, because the clocks of nodes differ. Raises KeysError.
    """
    made = await _token(ceil(valid_s) + CLOCKS_DIFFER_S)
    return {
        GATEWAY_TOKEN_FILE: made["token"],
        GATEWAY_JWKS_FILE: made["jwks"],
        GATEWAY_SEALING_KEY_FILE: base64.b64encode(secrets.token_bytes(_SEALING_KEY_BYTES)).decode(),
        GATEWAY_CREDENTIAL_FILE: credential_request(host, port, user, keys.login_private, keys.known_hosts),
    }


async def _token(valid_s: int) -> Mapping[str, str]:
    async with program(
        *(sys.executable, "-P", "-m", "sshload_operator.control.run.caller_token"),
        *(ISSUER, AUDIENCE, CALLER, SIGNATURE, str(valid_s)),
        stdin=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,  # a Ctrl-C that aborts the run must not reach it
    ) as signing:
        made, stderr = await signing.communicate()
    if signing.returncode != 0:
        last = (stderr.decode(errors="replace").strip().splitlines() or ["it left no message"])[-1]
        raise KeysError(f"no token for the gateway could be made: {last}")
    answer: Mapping[str, str] = json.loads(made)
    return answer
