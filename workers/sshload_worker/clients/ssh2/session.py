"""A libssh2 session that will negotiate as configured."""

from typing import Any

from ssh2 import session as ssh2_session
from ssh2.session import Session
from sshload_contract.client import Client

from sshload_worker.clients.ssh2.direct_calls import wait_without_limit
from sshload_worker.login.known_hosts import HostKeys

_ZLIB = "zlib@openssh.com,zlib,none"


def new_session(client: Client, host_keys: HostKeys) -> Any:
    """Return a session that will negotiate as configured; raises SSH2Error where the library knows none of a list."""
    session = Session()
    session.set_blocking(False)
    wait_without_limit(session)
    if client.compression:
        session.flag(ssh2_session.LIBSSH2_FLAG_COMPRESS)
        session.method_pref(ssh2_session.LIBSSH2_METHOD_COMP_CS, _ZLIB)
        session.method_pref(ssh2_session.LIBSSH2_METHOD_COMP_SC, _ZLIB)
    host_key_algorithms = client.host_key_algorithms or host_keys.algorithms
    for methods, names in (
        ((ssh2_session.LIBSSH2_METHOD_KEX,), client.kex_algorithms),
        ((ssh2_session.LIBSSH2_METHOD_HOSTKEY,), host_key_algorithms),
        ((ssh2_session.LIBSSH2_METHOD_CRYPT_CS, ssh2_session.LIBSSH2_METHOD_CRYPT_SC), client.ciphers),
        ((ssh2_session.LIBSSH2_METHOD_MAC_CS, ssh2_session.LIBSSH2_METHOD_MAC_SC), client.macs),
    ):
        for method in methods if names else ():
            session.method_pref(method, ",".join(names))
    return session
