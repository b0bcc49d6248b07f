"""The settings of a Client that asyncssh supports, and the options and keys that are passed to it."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import asyncssh
from asyncssh.encryption import get_encryption_algs
from asyncssh.kex import get_kex_algs
from asyncssh.mac import get_mac_algs
from asyncssh.public_key import SSHLocalKeyPair, get_certificate_algs, get_public_key_algs
from sshload_contract.client import Auth, Client, Library
from sshload_contract.vocabulary import Outcome

from sshload_worker.clients import group_exchange
from sshload_worker.clients.asyncssh.compression import bound_inflations
from sshload_worker.clients.asyncssh.group_exchange import bound_group_exchanges
from sshload_worker.clients.refusals import check_names, check_range, refuse_setting
from sshload_worker.login.login import Login
from sshload_worker.outcomes import StepFailure

_LARGEST_BYTES = 2**32 - 1
_PARSED_KEYS = 64
_METHODS = {
    Auth.PASSWORD: "password",
    Auth.KEYBOARD_INTERACTIVE: "keyboard-interactive",
    Auth.GSSAPI: "gssapi-with-mic",
}
_CERTIFICATE = b"-cert-v01@openssh.com"


def _names(algorithms: list[bytes]) -> tuple[str, ...]:
    return tuple(algorithm.decode("ascii") for algorithm in algorithms)


_HOST_KEYS = _names(get_certificate_algs() + get_public_key_algs())

bound_group_exchanges()
bound_inflations()
KNOWN = {
    "kex_algorithms": _names(get_kex_algs()),
    "ciphers": _names(get_encryption_algs()),
    "macs": _names(get_mac_algs()),
    "host_key_algorithms": _HOST_KEYS,
}


def known_algorithms() -> Mapping[str, tuple[str, ...]]:
    """Return the names of all algorithms that asyncssh has, by the setting of a Client."""
    return KNOWN


def check_client(client: Client) -> None:
    """Raise UnsupportedSettingError if asyncssh does not support a setting of `client`."""
    for setting, known in KNOWN.items():
        check_names(client, setting, known)
    check_range(client, "window_bytes", 1, _LARGEST_BYTES)
    check_range(client, "packet_bytes", 1, _LARGEST_BYTES)
    if client.read_buffer_bytes is not None:
        refuse_setting(
            "read_buffer_bytes", Library.ASYNCSSH, "passes on each packet as it arrives, and has no such setting"
        )
    if client.control_master:
        refuse_setting("control_master", Library.ASYNCSSH, "has no such setting")


def connection_options(login: Login) -> Any:
    """Return the options of one connection, which use no files or settings of the user; raises StepFailure."""
    client, credentials = login.client, login.credentials
    method = _METHODS.get(credentials.auth, "publickey")
    asks = bool(credentials.prompts) or credentials.auth is Auth.KEYBOARD_INTERACTIVE
    options = asyncssh.SSHClientConnectionOptions(
        config=None,
        host=login.host,
        port=login.port,
        username=login.user,
        password=credentials.password or None,
        preferred_auth=f"{method},keyboard-interactive" if asks else method,
        public_key_auth=method == "publickey",
        password_auth=method == "password",
        kbdint_auth=asks,
        host_based_auth=False,
        client_keys=None,
        client_certs=(),
        client_username=login.user,
        agent_path=None,
        gss_host=None,
        known_hosts=None,
        x509_trusted_certs=None,
        x509_trusted_cert_paths=(),
        login_timeout=0,
        tcp_keepalive=False,
        utf8_decode_errors="replace",  # a text that cannot be read would end the connection
        compression_algs=["zlib@openssh.com", "none"] if client.compression else ["none"],
        **_preferences(login),
    )
    # Set afterwards, because asyncssh would otherwise look for more keys in the user's home directory.
    if credentials.auth is Auth.AGENT:
        options.agent_path = credentials.agent_socket
    else:
        options.agent_path = None
        if method == "publickey":
            extra = [key_pair(key.openssh, b"") for key in login.extra_keys]
            options.client_keys = [*extra, key_pair(credentials.private_key, credentials.certificate_line)]
    return options


def _preferences(login: Login) -> dict[str, object]:
    client = login.client
    asked_for = client.host_key_algorithms or login.host_keys.algorithms_with_certificates
    host_keys = [name for name in asked_for if name in _HOST_KEYS]
    lists = {
        "kex_algs": client.kex_algorithms,
        "encryption_algs": client.ciphers,
        "mac_algs": client.macs,
        "server_host_key_algs": host_keys,
    }
    sizes = {"window": client.window_bytes, "max_pktsize": client.packet_bytes, "rekey_bytes": client.rekey_bytes}
    given: dict[str, object] = {"kex_algs": f"-{group_exchange.NAMES}"}
    given |= {name: list(names) for name, names in lists.items() if names}
    return given | {name: size for name, size in sizes.items() if size is not None}


class _KeyPair(SSHLocalKeyPair):
    """asyncssh's key pair, with RSA certificates named by the signature algorithm, as current servers require.

    asyncssh itself starts with the old name, and uses this one only if it has another key as well.
    """

    def set_sig_algorithm(self, sig_algorithm: bytes) -> None:
        """Set the signature algorithm."""
        super().set_sig_algorithm(sig_algorithm)
        if self.algorithm == b"ssh-rsa" + _CERTIFICATE and self.sig_algorithm != b"ssh-rsa":
            self.algorithm = self.sig_algorithm + _CERTIFICATE


@lru_cache(maxsize=_PARSED_KEYS)
def _parsed(private: bytes, certificate: bytes) -> tuple[Any, Any]:
    try:
        key = asyncssh.import_private_key(private)
        return key, asyncssh.import_certificate(certificate) if certificate else None
    except (asyncssh.KeyImportError, ValueError):
        raise StepFailure(Outcome.GENERATOR_FAULT, "asyncssh cannot read the private key, or its certificate") from None


def key_pair(private: bytes, certificate: bytes) -> _KeyPair:
    """Return a key, with its certificate unless that is empty; raises StepFailure if asyncssh cannot read it."""
    key, parsed_certificate = _parsed(private, certificate)
    return _KeyPair(key, None, parsed_certificate, None)  # one per connection, which sets its signature algorithm
