"""The settings of a Client that OpenSSH's programs support."""

import subprocess
from functools import cache

from sshload_contract.client import Client, Library

from sshload_worker.clients.openssh.process import program
from sshload_worker.clients.settings import check_names, check_range, refuse_setting

_QUERIES = {
    "kex_algorithms": "kex",
    "ciphers": "cipher",
    "macs": "mac",
    "host_key_algorithms": "HostKeyAlgorithms",
}
_MISSING = {
    "window_bytes": "has no setting for the receive window",
    "packet_bytes": "has no setting for the size of packets",
    "read_buffer_bytes": "has no setting for what is read at once",
}
_LEAST_REKEY_BYTES = 16
_MOST_REKEY_BYTES = 2**63 - 1
_MOST_SFTP_BYTES = 2**32 - 1


def check_client(client: Client) -> None:
    """Raise UnsupportedSettingError where OpenSSH cannot do as `client` says."""
    for setting in _QUERIES:
        check_names(client, setting, _known(setting))
    for setting, why in _MISSING.items():
        if getattr(client, setting) is not None:
            refuse_setting(setting, Library.OPENSSH, why)
    check_range(client, "rekey_bytes", _LEAST_REKEY_BYTES, _MOST_REKEY_BYTES)
    for setting in ("sftp_read_bytes", "sftp_write_bytes"):
        check_range(client, setting, 1, _MOST_SFTP_BYTES)
    if client.sftp_read_bytes and client.sftp_write_bytes and client.sftp_read_bytes != client.sftp_write_bytes:
        refuse_setting("sftp_write_bytes", Library.OPENSSH, "has one size for both directions of SFTP (sftp -B)")


def sftp_sizes(client: Client) -> list[str]:
    """Return the options of sftp for its request and buffer sizes."""
    size = client.sftp_read_bytes or client.sftp_write_bytes
    return [] if size is None else ["-B", str(size)]


@cache
def _known(setting: str) -> tuple[str, ...]:
    query = [program("ssh"), "-Q", _QUERIES[setting]]
    answer = subprocess.run(query, capture_output=True, text=True, check=True)  # noqa: S603 - a program found by us
    return tuple(answer.stdout.split())
