"""The settings of a Client that paramiko supports, and the preferences and keys that are passed to it."""

import io
import socket
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from paramiko.agent import AgentSSH
from paramiko.common import MAX_WINDOW_SIZE, MIN_PACKET_SIZE, MIN_WINDOW_SIZE
from paramiko.ecdsakey import ECDSAKey
from paramiko.ed25519key import Ed25519Key
from paramiko.message import Message
from paramiko.pkey import PKey
from paramiko.rsakey import RSAKey
from paramiko.ssh_exception import SSHException
from paramiko.transport import Transport
from sshload_contract.client import Client, Library
from sshload_contract.vocabulary import Outcome

from sshload_worker.clients.group_exchange import offered
from sshload_worker.clients.refusals import check_names, check_range, refuse_setting
from sshload_worker.login.known_hosts import HostKeys
from sshload_worker.outcomes import StepFailure

_LARGEST_SFTP_READ_BYTES = 261_120  # what OpenSSH's sftp-server reads at once; prefetch fails if it gets less
_HOST_KEYS = tuple(Transport._key_info)  # noqa: SLF001 - paramiko has no public list of the names it knows
KNOWN = {
    "kex_algorithms": tuple(Transport._kex_info),  # noqa: SLF001 - no public list
    "ciphers": tuple(Transport._cipher_info),  # noqa: SLF001 - no public list
    "macs": tuple(Transport._mac_info),  # noqa: SLF001 - no public list
    "host_key_algorithms": _HOST_KEYS,
}
_PARSED_KEYS = 64
_KINDS = (Ed25519Key, ECDSAKey, RSAKey)


def known_algorithms() -> Mapping[str, tuple[str, ...]]:
    """Return the names of all algorithms that paramiko has, by the setting of a Client."""
    return KNOWN


def check_client(client: Client) -> None:
    """Raise UnsupportedSettingError if paramiko does not support a setting of `client`."""
    for setting, known in KNOWN.items():
        check_names(client, setting, known)
    check_range(client, "window_bytes", MIN_WINDOW_SIZE, MAX_WINDOW_SIZE)
    check_range(client, "packet_bytes", MIN_PACKET_SIZE, MAX_WINDOW_SIZE)
    check_range(client, "sftp_read_bytes", 1, _LARGEST_SFTP_READ_BYTES)
    if client.control_master:
        refuse_setting("control_master", Library.PARAMIKO, "has no such setting")


def prefer(transport: Any, client: Client, host_keys: HostKeys) -> tuple[str, ...]:
    """Set the algorithms that `transport` will offer, except those of host keys, which are returned."""
    options = transport.get_security_options()
    options.kex = offered(client, options.kex)
    if client.ciphers:
        options.ciphers = client.ciphers
    if client.macs:
        options.digests = client.macs
    transport.use_compression(client.compression)
    known = tuple(name for name in client.host_key_algorithms or host_keys.algorithms if name in _HOST_KEYS)
    return known or tuple(options.key_types)


@lru_cache(maxsize=_PARSED_KEYS)
def private_key(private: bytes, certificate: bytes) -> PKey:
    """Return a key, with its certificate unless that is empty; raises StepFailure if paramiko cannot read it."""
    for kind in _KINDS:
        try:
            key: PKey = kind.from_private_key(io.StringIO(private.decode()))
            if certificate:
                key.load_certificate(certificate.decode())
        except (SSHException, ValueError):
            continue
        return key
    raise StepFailure(Outcome.GENERATOR_FAULT, "paramiko cannot read the private key, or its certificate")


class Agent(AgentSSH):
    """A connection to the ssh-agent that listens on a socket path."""

    def __init__(self, path: str) -> None:
        super().__init__()
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(path)
            self._connect(connection)
        except (OSError, SSHException) as error:
            connection.close()
            raise StepFailure(Outcome.GENERATOR_FAULT, f"no reply from the ssh-agent: {error}") from None

    def keys(self) -> tuple[PKey, ...]:
        """Return the keys to log in with; raises StepFailure if there is none."""
        found: tuple[PKey, ...] = self.get_keys()
        if not found:
            raise StepFailure(Outcome.GENERATOR_FAULT, "the ssh-agent holds no key")
        return found

    def close(self) -> None:
        """Close the connection."""
        self._close()

    def _send_message(self, message: bytes) -> tuple[int, Message]:
        try:
            answer: tuple[int, Message] = super()._send_message(message)
        except (OSError, SSHException) as error:
            raise StepFailure(Outcome.GENERATOR_FAULT, f"no reply from the ssh-agent: {error}") from None
        return answer
