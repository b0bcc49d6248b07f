"""What of a Client's settings libssh2 can do, and how a session is told."""

from functools import cache

from ssh2 import session as ssh2_session
from ssh2.session import Session
from sshload_contract.client import Client, Library

from sshload_worker.clients.settings import check_names, check_range, refuse
from sshload_worker.clients.ssh2.direct_calls import DEFAULT_PACKET_BYTES

_LEAST_WINDOW_BYTES = 1_024
_MOST_WINDOW_BYTES = 2**31 - 1
_LEAST_PACKET_BYTES = 1_024
_MOST_READ_BYTES = 16 * 2**20
_METHODS = {
    "kex_algorithms": ssh2_session.LIBSSH2_METHOD_KEX,
    "ciphers": ssh2_session.LIBSSH2_METHOD_CRYPT_CS,
    "macs": ssh2_session.LIBSSH2_METHOD_MAC_CS,
    "host_key_algorithms": ssh2_session.LIBSSH2_METHOD_HOSTKEY,
}


def check_client(client: Client) -> None:
    """Raise UnsupportedSettingError where libssh2 cannot do as `client` says."""
    for setting in _METHODS:
        check_names(client, setting, known_names(setting))
    check_range(client, "window_bytes", _LEAST_WINDOW_BYTES, _MOST_WINDOW_BYTES)
    check_range(client, "packet_bytes", _LEAST_PACKET_BYTES, DEFAULT_PACKET_BYTES)
    for setting in ("read_buffer_bytes", "sftp_read_bytes", "sftp_write_bytes"):
        check_range(client, setting, 1, _MOST_READ_BYTES)
    if client.rekey_bytes is not None:
        refuse("rekey_bytes", Library.SSH2_PYTHON, "leaves it to the server to ask for new keys")
    if client.control_master:
        refuse("control_master", Library.SSH2_PYTHON, "has no such thing")


@cache
def known_names(setting: str) -> tuple[str, ...]:
    """Return the algorithms that libssh2 knows for a list of Client."""
    return tuple(Session().supported_algs(_METHODS[setting]))
