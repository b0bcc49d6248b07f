"""The settings of a Client for OpenSSH's programs: which are supported, and the files that contain them.

Each login has a private directory with the ssh_config(5) and known_hosts that the programs read. They read no others.
"""

import atexit
import base64
import os
import shlex
import struct
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from itertools import count
from pathlib import Path
from shutil import rmtree

from sshload_contract.client import Auth, Client, Library

from sshload_worker.clients import group_exchange
from sshload_worker.clients.openssh.process import program
from sshload_worker.clients.refusals import check_names, check_range, refuse_setting
from sshload_worker.login.known_hosts import HostKeys
from sshload_worker.login.login import Credentials, Login
from sshload_worker.login.private_key import PrivateKey, start_agent
from sshload_worker.login.tickets import config_path

_QUERIES = {
    "kex_algorithms": "kex",
    "ciphers": "cipher",
    "macs": "mac",
    "host_key_algorithms": "HostKeyAlgorithms",
}
_MISSING_SETTINGS = {
    "window_bytes": "has no setting for the receive window",
    "packet_bytes": "has no setting for the size of packets",
    "read_buffer_bytes": "has no setting for the size of reads",
}
_LEAST_REKEY_BYTES = 16
_MOST_REKEY_BYTES = 2**63 - 1
_MOST_SFTP_BYTES = 2**32 - 1

_CERTIFICATE = "key-cert.pub"
_PRIVATE_MODE = 0o600
_EXECUTABLE_MODE = 0o700
OWN_STDOUT = "/proc/self/fd/1"
"""Where ssh, and Kerberos in it, write their logs."""
SERVER = "server"
"""The server's name in command lines of OpenSSH's programs. The real host is in the settings only: it may be an IPv6
address, which each program would parse differently."""

_METHODS = {
    Auth.PASSWORD: "password",
    Auth.KEYBOARD_INTERACTIVE: "keyboard-interactive",
    Auth.GSSAPI: "gssapi-with-mic",
}


def check_client(client: Client) -> None:
    """Raise UnsupportedSettingError if OpenSSH does not support a setting of `client`."""
    for setting in _QUERIES:
        check_names(client, setting, _known(setting))
    for setting, why in _MISSING_SETTINGS.items():
        if getattr(client, setting) is not None:
            refuse_setting(setting, Library.OPENSSH, why)
    if client.prompts:
        refuse_setting("prompts", Library.OPENSSH, "cannot answer prompts")
    check_range(client, "rekey_bytes", _LEAST_REKEY_BYTES, _MOST_REKEY_BYTES)
    for setting in ("sftp_read_bytes", "sftp_write_bytes"):
        check_range(client, setting, 1, _MOST_SFTP_BYTES)
    if client.sftp_read_bytes and client.sftp_write_bytes and client.sftp_read_bytes != client.sftp_write_bytes:
        refuse_setting("sftp_write_bytes", Library.OPENSSH, "has one size for both directions of SFTP (sftp -B)")


def sftp_sizes(client: Client) -> list[str]:
    """Return the options of sftp for its request and buffer sizes."""
    size = client.sftp_read_bytes or client.sftp_write_bytes
    return [] if size is None else ["-B", str(size)]


def known_algorithms() -> Mapping[str, tuple[str, ...]]:
    """Return the names of all algorithms that OpenSSH has, by the setting of a Client."""
    return {setting: _known(setting) for setting in _QUERIES}


@cache
def _known(setting: str) -> tuple[str, ...]:
    query = [program("ssh"), "-Q", _QUERIES[setting]]
    answer = subprocess.run(query, capture_output=True, text=True, check=True)  # noqa: S603 - a program found by us
    return tuple(answer.stdout.split())


@dataclass(frozen=True, slots=True)
class Directory:
    """The settings and files for the programs of one login."""

    path: Path
    config: str
    environment: dict[str, str]
    numbers: "count[int]"
    written: dict[str, bytes] = field(default_factory=dict)

    def new_name(self, kind: str) -> str:
        """Return a path in the directory that no other connection uses."""
        return str(self.path / f"{kind}{next(self.numbers)}")

    def local_bytes(self) -> int:
        """Return how large all files in it are together."""
        with os.scandir(self.path) as entries:
            return sum(_size(entry) for entry in entries)


def _size(entry: "os.DirEntry[str]") -> int:
    try:
        return entry.stat(follow_symlinks=False).st_size
    except FileNotFoundError:  # deleted meanwhile
        return 0


def directory_of(login: Login) -> Directory:
    """Return the directory of a login, which is created at its first use, with the login's present certificate.

    That of a user of a population is for one connection, which removes it: many users would fill the worker's /tmp.
    """
    certificate = login.credentials.certificate_line
    agent = login.credentials.agent_socket or _agent_with(login.extra_keys)
    lasting = replace(login.credentials, certificate=None, agent_socket=agent)
    make = _kept_directory if login.place is None else _directory
    directory = make(login.host, login.port, login.user, lasting, login.host_keys, login.client)
    if certificate and directory.written.get(_CERTIFICATE) != certificate:
        _replace(directory.path / _CERTIFICATE, certificate)
        directory.written[_CERTIFICATE] = certificate
    return directory


@cache
def _parent() -> tuple[Path, "count[int]"]:
    """Return where all directories are, and their numbers. The path is short: that of a socket may not be long."""
    path = Path(tempfile.mkdtemp(prefix="sshload-"))
    atexit.register(rmtree, path, ignore_errors=True)
    return path, count()


def _directory(  # noqa: PLR0913, PLR0917 - what the settings depend on
    host: str, port: int, user: str, credentials: Credentials, host_keys: HostKeys, client: Client
) -> Directory:
    parent, numbers = _parent()
    path = parent / str(next(numbers))
    path.mkdir(_EXECUTABLE_MODE)
    environment = {"LC_ALL": "C", "PATH": os.environ.get("PATH", os.defpath), "HOME": str(path)}
    if not host_keys.any_key:
        _write(path / "known_hosts", known_hosts_text(host, host_keys).encode(), _PRIVATE_MODE)
    if credentials.private_key:
        _write(path / "key", credentials.private_key, _PRIVATE_MODE)
    if credentials.auth in (Auth.PASSWORD, Auth.KEYBOARD_INTERACTIVE):
        _write(path / "password", credentials.password.encode() + b"\n", _PRIVATE_MODE)
        asking = f"#!/bin/sh\nexec cat {shlex.quote(str(path / 'password'))}\n"
        _write(path / "askpass", asking.encode(), _EXECUTABLE_MODE)
        environment |= {"SSH_ASKPASS": str(path / "askpass"), "SSH_ASKPASS_REQUIRE": "force"}
    if credentials.auth is Auth.GSSAPI:
        environment["KRB5_CONFIG"] = config_path()
        if credentials.tickets is not None and credentials.tickets.fresh:
            environment["KRB5_TRACE"] = OWN_STDOUT  # tells when a KDC is asked, and when it answers
    config = path / "config"
    _write(config, _config_text(path, host, port, user, credentials, host_keys, client).encode(), _PRIVATE_MODE)
    return Directory(path, str(config), environment, count())


_kept_directory = lru_cache(maxsize=64)(_directory)


def _write(path: Path, content: bytes, mode: int) -> None:
    path.touch(mode)
    path.write_bytes(content)


def _replace(path: Path, content: bytes) -> None:
    """Write a file in place of one that a program may be reading."""
    new = path.with_suffix(".new")
    _write(new, content, _PRIVATE_MODE)
    new.rename(path)


def known_hosts_text(host: str, host_keys: HostKeys) -> str:
    """Return the known_hosts lines for the keys that `host` may present."""
    lines = [f"{host} {_key(blob)}" for blob in sorted(host_keys.accepted)]
    lines += [f"@cert-authority {host} {_key(blob)}" for blob in sorted(host_keys.authorities)]
    lines += [f"@revoked {host} {_key(blob)}" for blob in sorted(host_keys.revoked)]
    return "".join(f"{line}\n" for line in lines)


def _config_text(  # noqa: PLR0913, PLR0917 - what the settings depend on
    path: Path, host: str, port: int, user: str, credentials: Credentials, host_keys: HostKeys, client: Client
) -> str:
    """Return the ssh_config of a login whose files are in the directory `path`."""
    method = _METHODS.get(credentials.auth, "publickey")
    by_key = credentials.auth in (Auth.PUBLICKEY, Auth.CERTIFICATE)
    agent = credentials.agent_socket
    settings: dict[str, object] = {
        "Port": port,
        "User": user,
        "HostName": as_host_name(host),
        "HostKeyAlias": host,
        "CheckHostIP": "no",
        # If any key is accepted, ssh must not remember one: it would send no password if it got another key later.
        "UserKnownHostsFile": "/dev/null" if host_keys.any_key else path / "known_hosts",
        "GlobalKnownHostsFile": "/dev/null",
        "StrictHostKeyChecking": "no" if host_keys.any_key else "yes",
        "UpdateHostKeys": "no",
        "VerifyHostKeyDNS": "no",
        "BatchMode": _yes(method not in (Auth.PASSWORD, Auth.KEYBOARD_INTERACTIVE)),
        "PreferredAuthentications": method,
        "PubkeyAuthentication": _yes(method == "publickey"),
        "PasswordAuthentication": _yes(method == "password"),
        "KbdInteractiveAuthentication": _yes(method == "keyboard-interactive"),
        "GSSAPIAuthentication": _yes(credentials.auth is Auth.GSSAPI),
        "GSSAPIDelegateCredentials": "no",
        "HostbasedAuthentication": "no",
        "NumberOfPasswordPrompts": 1,
        "IdentitiesOnly": _yes(not agent),
        "IdentityAgent": agent or "none",
        "IdentityFile": path / "key" if by_key else "none",
        "ConnectionAttempts": 1,
        "ControlPersist": "no",
        "EscapeChar": "none",
        "ForwardAgent": "no",
        "ForwardX11": "no",
        "PermitLocalCommand": "no",
        "TCPKeepAlive": "no",
        "ServerAliveInterval": 0,
        "Compression": _yes(client.compression),
        "LogLevel": "DEBUG1",
        # that the server has accepted a command, and that it has closed a channel
        "LogVerbose": "clientloop.c:client_status_confirm():*,nchan.c:chan_rcvd_oclose():*",
    }
    if credentials.auth is Auth.GSSAPI:
        settings["GSSAPIServerIdentity"] = host  # HostName is an address
    if credentials.auth is Auth.CERTIFICATE:
        settings["CertificateFile"] = path / _CERTIFICATE
    if client.rekey_bytes is not None:
        settings["RekeyLimit"] = client.rekey_bytes
    for keyword, names in (
        ("KexAlgorithms", client.kex_algorithms or (f"-{group_exchange.NAMES}",)),
        ("Ciphers", client.ciphers),
        ("MACs", client.macs),
        ("HostKeyAlgorithms", client.host_key_algorithms or host_keys.algorithms_with_certificates),
    ):
        if names:
            settings[keyword] = ",".join(names)
    return "".join(f"{keyword} {_quoted(value)}\n" for keyword, value in settings.items())


@cache
def _agent_with(extra_keys: tuple[PrivateKey, ...]) -> str:
    """Return the socket of an agent with these keys, which ssh offers before that of a file; "" without any."""
    return start_agent(extra_keys).socket_path if extra_keys else ""


def as_host_name(host: str) -> str:
    """Return a host or address escaped for ssh_config(5), where a percent sign, as in an IPv6 scope, starts a token."""
    return host.replace("%", "%%")


def forward_to(host: str, port: int) -> str:
    """Return a host and a port in the form that `ssh -W` accepts, whatever characters the host contains."""
    return f"[{host}]:{port}"


def _key(blob: bytes) -> str:
    length = struct.unpack(">I", blob[:4])[0]
    return f"{blob[4 : 4 + length].decode('ascii')} {base64.b64encode(blob).decode('ascii')}"


def _yes(value: object) -> str:
    return "yes" if value else "no"


def _quoted(value: object) -> str:
    text = str(value)
    return f'"{text}"' if shlex.quote(text) != text else text
