"""Servers that exist: an external target, and the jump hosts on the way to a target."""

import re
from ipaddress import IPv6Address, ip_address
from typing import Any

from sshload_contract.run_config import Auth

from sshload_operator.api.errors import SpecError
from sshload_operator.api.parse.fields import Fields
from sshload_operator.api.parse.placement import read_reference
from sshload_operator.api.parse.readers import choice, flag, items, shown, text, whole
from sshload_operator.api.spec import ExternalTarget

_HOST = text(shortest=1, longest=253, pattern=r"[A-Za-z0-9:]([A-Za-z0-9.:-]*[A-Za-z0-9:])?", wanted="a host")
_LABEL = r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOST_NAME = re.compile(rf"{_LABEL}([.]{_LABEL})*")
_USER = text(shortest=1, longest=100, pattern=r"[A-Za-z0-9_][A-Za-z0-9_.@+\\-]*", wanted="a user's name")

BY_KEY = (Auth.PUBLICKEY, Auth.CERTIFICATE, Auth.AGENT)
"""The ways to log in that need a private key."""


def read_external(value: Any, path: str, auth: Auth) -> ExternalTarget:
    """Read an external target; `auth` is how the client is to log in."""
    return _read_server(Fields(value, path), auth)


def read_via(value: Any, path: str) -> tuple[ExternalTarget, ...]:
    """Read the jump hosts, each of which says itself how the client is to log in to it."""
    return items(_read_jump_host, most=5)(value, path)


def read_host(value: Any, path: str) -> str:
    """Read a DNS name or an IP address."""
    host = _HOST(value, path)
    if _HOST_NAME.fullmatch(host) is None and not _is_address(host):
        raise SpecError(path, f"is {shown(host)}, but must be a DNS name or an IP address")
    return host


def _read_jump_host(value: Any, path: str) -> ExternalTarget:
    fields = Fields(value, path)
    return _read_server(fields, Auth(fields.defaulted("auth", choice(*Auth), Auth.PUBLICKEY.value)))


def _read_server(fields: Fields, auth: Auth) -> ExternalTarget:
    server = ExternalTarget(
        host=fields.required("host", read_host),
        port=fields.defaulted("port", whole(1, 65_535), 22),
        user=fields.required("user", _USER),
        credentials_secret=fields.required("credentialsSecretRef", read_reference),
        encrypted_key=fields.defaulted("encryptedKey", flag, default=False),
        known_hosts_secret=fields.optional("knownHostsSecretRef", read_reference) or "",
        insecure_ignore_host_key=fields.defaulted("insecureIgnoreHostKey", flag, default=False),
        auth=auth,
    )
    fields.end()
    if bool(server.known_hosts_secret) == server.insecure_ignore_host_key:
        raise SpecError(
            fields.at("knownHostsSecretRef"), "set knownHostsSecretRef, or insecureIgnoreHostKey in its place"
        )
    if server.encrypted_key and auth not in BY_KEY:
        raise SpecError(fields.at("encryptedKey"), f"{auth} has no key that could be encrypted")
    return server


def _is_address(host: str) -> bool:
    try:
        address = ip_address(host)
    except ValueError:
        return False
    return not (isinstance(address, IPv6Address) and address.ipv4_mapped is not None)
