"""A private directory per login with all that OpenSSH's programs are told, so that they look at nothing else."""

import atexit
import os
import shlex
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from pathlib import Path
from shutil import rmtree

from sshload_contract.client import Auth, Client

from sshload_worker.clients.openssh.config_text import config_text, known_hosts_text
from sshload_worker.login.known_hosts import HostKeys
from sshload_worker.login.login import Credentials, Login

_PRIVATE = 0o600
_EXECUTABLE = 0o700


@dataclass(frozen=True, slots=True)
class Directory:
    """Where the programs of one login find their settings, and put what is theirs."""

    path: Path
    config: str
    environment: dict[str, str]
    numbers: "count[int]"

    def new_name(self, kind: str) -> str:
        """Return a path in the directory that no other connection uses."""
        return str(self.path / f"{kind}{next(self.numbers)}")


def directory_of(login: Login) -> Directory:
    """Return the directory of a login, made at its first use."""
    return _directory(login.host, login.port, login.user, login.credentials, login.host_keys, login.client)


@lru_cache(maxsize=64)
def _directory(  # noqa: PLR0913, PLR0917 - what the settings depend on
    host: str, port: int, user: str, credentials: Credentials, host_keys: HostKeys, client: Client
) -> Directory:
    path = Path(tempfile.mkdtemp(prefix="sshload-"))  # short, because the paths of sockets may not be long
    atexit.register(rmtree, path, ignore_errors=True)
    environment = {"LC_ALL": "C", "PATH": os.environ.get("PATH", os.defpath), "HOME": str(path)}
    if not host_keys.any_key:
        _write(path / "known_hosts", known_hosts_text(host, host_keys).encode(), _PRIVATE)
    if credentials.private_key:
        _write(path / "key", credentials.private_key, _PRIVATE)
    if credentials.certificate:
        _write(path / "key-cert.pub", credentials.certificate, _PRIVATE)
    if credentials.auth in (Auth.PASSWORD, Auth.KEYBOARD_INTERACTIVE):
        _write(path / "password", credentials.password.encode() + b"\n", _PRIVATE)
        asking = f"#!/bin/sh\nexec cat {shlex.quote(str(path / 'password'))}\n"
        _write(path / "askpass", asking.encode(), _EXECUTABLE)
        environment |= {"SSH_ASKPASS": str(path / "askpass"), "SSH_ASKPASS_REQUIRE": "force"}
    config = path / "config"
    _write(config, config_text(path, host, port, user, credentials, host_keys, client).encode(), _PRIVATE)
    return Directory(path, str(config), environment, count())


def _write(path: Path, content: bytes, mode: int) -> None:
    path.touch(mode)
    path.write_bytes(content)
