"""GatewayAccess: what requests to a gateway need, prepared once before the start. The token is read from a file."""

import ssl
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import cycle

import certifi
from sshload_contract.client import Client
from sshload_contract.wire.run_config import GatewayEndpoint

from sshload_worker.login.login import Address, read_file
from sshload_worker.outcomes import GeneratorFaultError

_TOKEN_CHARACTERS = frozenset(map(chr, range(0x21, 0x7F)))
_TOKEN_LIMIT_CHARACTERS = 16_384


@dataclass(frozen=True, slots=True)
class GatewayAccess:
    """One gateway and how to call it. Its `addresses` are used in turn; `tls` is None if its URL is http."""

    endpoint: GatewayEndpoint
    addresses: Iterator[Address]
    tls: ssl.SSLContext | None
    client: Client
    token: str = field(repr=False)

    @property
    def api(self) -> str:
        """The path prefix of the API."""
        return f"{self.endpoint.path}/sshapi/v2"

    @property
    def authority(self) -> str:
        """The host and port as in the Host header of a request."""
        host = self.endpoint.host
        return f"[{host}]:{self.endpoint.port}" if ":" in host else f"{host}:{self.endpoint.port}"


def prepare_access(endpoint: GatewayEndpoint, addresses: tuple[Address, ...], client: Client) -> GatewayAccess:
    """Return how to call a gateway at these addresses; raises GeneratorFaultError if a file cannot be used."""
    return GatewayAccess(endpoint, cycle(addresses), _tls_context(endpoint), client, _read_token(endpoint))


def _read_token(endpoint: GatewayEndpoint) -> str:
    token = read_file(endpoint.token_path, "the gateway's token").decode("ascii", "replace").strip()
    if not token or len(token) > _TOKEN_LIMIT_CHARACTERS or not _TOKEN_CHARACTERS.issuperset(token):
        raise GeneratorFaultError("the gateway's token must be one line of printable ASCII characters without blanks")
    return token


def _tls_context(endpoint: GatewayEndpoint) -> ssl.SSLContext | None:
    if not endpoint.tls:
        return None
    if not endpoint.ca_path:
        return ssl.create_default_context(cafile=certifi.where())
    authorities = read_file(endpoint.ca_path, "the authorities of the gateway's certificate").decode("ascii", "replace")
    try:
        return ssl.create_default_context(cadata=authorities)
    except (ssl.SSLError, ValueError) as error:
        why = getattr(error, "reason", None) or "it is empty"
        raise GeneratorFaultError(f"the authorities of the gateway's certificate cannot be read: {why}") from None
