"""What of a Client's settings paramiko can do, and how it is told."""

from typing import Any

from paramiko.common import MAX_WINDOW_SIZE, MIN_PACKET_SIZE, MIN_WINDOW_SIZE
from paramiko.transport import Transport
from sshload_contract.client import Client, Library

from sshload_worker.clients.settings import check_names, check_range, refuse
from sshload_worker.login.known_hosts import HostKeys

_LARGEST_SFTP_READ_BYTES = 261_120  # what OpenSSH's sftp-server reads at once; paramiko's prefetch trips over less
_CERTIFICATE_SUFFIX = "-cert-v01@openssh.com"

_HOST_KEYS = tuple(Transport._key_info)  # noqa: SLF001 - paramiko has no public list of what it knows
KNOWN = {
    "kex_algorithms": tuple(Transport._kex_info),  # noqa: SLF001 - likewise
    "ciphers": tuple(Transport._cipher_info),  # noqa: SLF001 - likewise
    "macs": tuple(Transport._mac_info),  # noqa: SLF001 - likewise
    "host_key_algorithms": _HOST_KEYS,
}


def check_client(client: Client) -> None:
    """Raise UnsupportedSettingError where paramiko cannot do as `client` says."""
    for setting, known in KNOWN.items():
        check_names(client, setting, known)
    check_range(client, "window_bytes", MIN_WINDOW_SIZE, MAX_WINDOW_SIZE)
    check_range(client, "packet_bytes", MIN_PACKET_SIZE, MAX_WINDOW_SIZE)
    check_range(client, "sftp_read_bytes", 1, _LARGEST_SFTP_READ_BYTES)
    if client.control_master:
        refuse("control_master", Library.PARAMIKO, "has no such thing")


def prefer(transport: Any, client: Client, host_keys: HostKeys) -> tuple[str, ...]:
    """Set the algorithms that `transport` will offer, and return those of host keys, which need more than a list."""
    options = transport.get_security_options()
    if client.kex_algorithms:
        options.kex = client.kex_algorithms
    if client.ciphers:
        options.ciphers = client.ciphers
    if client.macs:
        options.digests = client.macs
    transport.use_compression(client.compression)
    known = tuple(name for name in client.host_key_algorithms or host_keys.algorithms if name in _HOST_KEYS)
    return known or tuple(options.key_types)
