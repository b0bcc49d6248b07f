"""The settings of a Client that libssh2 supports, and a session that negotiates with them."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from ssh2 import session as ssh2_session
from ssh2.nonblocking import wait_without_limit
from ssh2.session import Session
from sshload_contract.client import Client, Library

from sshload_worker.clients.group_exchange import offered
from sshload_worker.clients.refusals import check_names, check_range, refuse_setting
from sshload_worker.login.known_hosts import HostKeys

DEFAULT_WINDOW_BYTES = 2_097_152
DEFAULT_PACKET_BYTES = 32_768
"""libssh2's own defaults for a channel."""

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
_NO_KEY_EXCHANGES = ("ext-info-c", "kex-strict-c-v00@openssh.com")  # libssh2 lists them with the others
_ZLIB = "zlib@openssh.com,zlib,none"


def check_client(client: Client) -> None:
    """Raise UnsupportedSettingError if libssh2 does not support a setting of `client`."""
    for setting in _METHODS:
        check_names(client, setting, known_names(setting))
    check_range(client, "window_bytes", _LEAST_WINDOW_BYTES, _MOST_WINDOW_BYTES)
    check_range(client, "packet_bytes", _LEAST_PACKET_BYTES, DEFAULT_PACKET_BYTES)
    for setting in ("read_buffer_bytes", "sftp_read_bytes", "sftp_write_bytes"):
        check_range(client, setting, 1, _MOST_READ_BYTES)
    if client.rekey_bytes is not None:
        refuse_setting("rekey_bytes", Library.SSH2_PYTHON, "leaves the request for new keys to the server")
    if client.control_master:
        refuse_setting("control_master", Library.SSH2_PYTHON, "has no such setting")


def known_algorithms() -> Mapping[str, tuple[str, ...]]:
    """Return the names of all algorithms that libssh2 has, by the setting of a Client."""
    return {setting: known_names(setting) for setting in _METHODS}


@cache
def known_names(setting: str) -> tuple[str, ...]:
    """Return the algorithms that libssh2 knows for a setting of Client."""
    return tuple(name for name in Session().supported_algs(_METHODS[setting]) if name not in _NO_KEY_EXCHANGES)


def new_session(client: Client, host_keys: HostKeys) -> Any:
    """Return a session that will negotiate as configured; raises SSH2Error if the library knows no name of a list."""
    session = Session()
    session.set_blocking(False)
    wait_without_limit(session)
    if client.compression:
        session.flag(ssh2_session.LIBSSH2_FLAG_COMPRESS)
        session.method_pref(ssh2_session.LIBSSH2_METHOD_COMP_CS, _ZLIB)
        session.method_pref(ssh2_session.LIBSSH2_METHOD_COMP_SC, _ZLIB)
    host_key_algorithms = client.host_key_algorithms or host_keys.algorithms
    for methods, names in (
        ((ssh2_session.LIBSSH2_METHOD_KEX,), offered(client, known_names("kex_algorithms"))),
        ((ssh2_session.LIBSSH2_METHOD_HOSTKEY,), host_key_algorithms),
        ((ssh2_session.LIBSSH2_METHOD_CRYPT_CS, ssh2_session.LIBSSH2_METHOD_CRYPT_SC), client.ciphers),
        ((ssh2_session.LIBSSH2_METHOD_MAC_CS, ssh2_session.LIBSSH2_METHOD_MAC_SC), client.macs),
    ):
        for method in methods if names else ():
            session.method_pref(method, ",".join(names))
    return session
