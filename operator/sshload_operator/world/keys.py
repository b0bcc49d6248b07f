"""The keys of one run with a managed target, made by ssh-keygen(1) and known to nobody else.

They are in a private temporary folder for the milliseconds in which they are made, then only in the run's Secret.
"""

import asyncio
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Final

from sshload_contract.population import (
    MOST_USERS,
    POPULATION_FILE,
    POPULATION_PASSWORD_FILE,
    new_population_secret,
    read_population,
)

from sshload_operator.world.program import program

_LOGIN_KEY: Final = "id_ed25519"
_USER_CA: Final = "user_ca"
_HOST_KEYS: Final = ("ssh_host_ed25519_key", "ssh_host_ecdsa_key")
_TYPES: Final = {
    _LOGIN_KEY: "ed25519",
    _USER_CA: "ed25519",
    "ssh_host_ed25519_key": "ed25519",
    "ssh_host_ecdsa_key": "ecdsa",
}
_SSH_PORT: Final = 22
CLOCKS_DIFFER_S: Final = 300


class KeysError(Exception):
    """ssh-keygen is missing or failed. Its text holds no key."""


@dataclass(frozen=True, slots=True)
class KeysAsked:
    """For whom keys are made: the target's host and port, the user who logs in, and for how long, in seconds.

    The user's certificate is valid that long, with a margin on both sides because nodes' clocks differ. With
    `population`, the target has the accounts of one.
    """

    host: str
    port: int
    user: str
    valid_s: float
    population: bool = False


@dataclass(frozen=True, slots=True)
class Keys:
    """What the run's Secret holds, as OpenSSH writes it. No value shows in `repr`, so that none gets into a log.

    `login_private` and `login_public` are the key pair that logs in (id_ed25519), `certificate` is its certificate, by
    the authority whose public key is `user_ca_public`; the authority's private key is not kept. `host_private` are the
    target's host keys by file name, `known_hosts` one known_hosts(5) line for each of them. `population` is the secret
    from which the credentials of a population follow, empty if there is none.
    """

    login_private: str = field(repr=False)
    login_public: str = field(repr=False)
    certificate: str = field(repr=False)
    user_ca_public: str = field(repr=False)
    host_private: Mapping[str, str] = field(repr=False)
    known_hosts: str = field(repr=False)
    population: str = field(default="", repr=False)

    def files(self) -> Mapping[str, str]:
        """Return all of it by file name: id_ed25519, .pub and -cert.pub, user_ca.pub, ssh_host_*_key, known_hosts.

        With a population, its secret and its password.
        """
        return {
            _LOGIN_KEY: self.login_private,
            f"{_LOGIN_KEY}.pub": self.login_public,
            f"{_LOGIN_KEY}-cert.pub": self.certificate,
            f"{_USER_CA}.pub": self.user_ca_public,
            **self.host_private,
            "known_hosts": self.known_hosts,
            **self._population_files(),
        }

    def _population_files(self) -> Mapping[str, str]:
        if not self.population:
            return {}
        password = read_population(self.population, MOST_USERS).password
        return {POPULATION_FILE: self.population, POPULATION_PASSWORD_FILE: password}


async def make_keys(asked: KeysAsked) -> Keys:
    """Return fresh keys whose known_hosts lines name the host and port, and whose certificate names the user.

    Raises KeysError.
    """
    with tempfile.TemporaryDirectory(prefix="sshload-keys-") as folder:
        paths = {name: Path(folder) / name for name in _TYPES}
        await asyncio.gather(*(_generate(_TYPES[name], path) for name, path in paths.items()))
        await _certify(paths[_LOGIN_KEY], paths[_USER_CA], asked)
        private = {name: path.read_text(encoding="ascii") for name, path in paths.items() if name != _USER_CA}
        public = {name: path.with_suffix(".pub").read_text(encoding="ascii").strip() for name, path in paths.items()}
        certificate = (Path(folder) / f"{_LOGIN_KEY}-cert.pub").read_text(encoding="ascii")
    return Keys(
        login_private=private[_LOGIN_KEY],
        login_public=public[_LOGIN_KEY] + "\n",
        certificate=certificate,
        user_ca_public=public[_USER_CA] + "\n",
        host_private={name: private[name] for name in _HOST_KEYS},
        known_hosts="".join(known_hosts_line(asked.host, asked.port, public[name]) for name in _HOST_KEYS),
        population=new_population_secret() if asked.population else "",
    )


def known_hosts_line(host: str, port: int, public_key: str) -> str:
    """Return the known_hosts(5) line for a public key; with a port other than 22, the host is in brackets."""
    key_type, key = public_key.split()[:2]
    name = host if port == _SSH_PORT else f"[{host}]:{port}"
    return f"{name} {key_type} {key}\n"


async def _generate(key_type: str, path: Path) -> None:
    await _ssh_keygen("-t", key_type, "-N", "", "-C", "", "-f", str(path))


async def _certify(login_key: Path, user_ca: Path, asked: KeysAsked) -> None:
    """Sign the public key beside `login_key`; the certificate appears there too."""
    valid = f"-{CLOCKS_DIFFER_S}s:+{ceil(asked.valid_s) + CLOCKS_DIFFER_S}s"
    who = ("-I", "sshload", "-n", asked.user)
    await _ssh_keygen("-s", str(user_ca), *who, "-V", valid, str(login_key.with_suffix(".pub")))


async def _ssh_keygen(*arguments: str) -> None:
    try:
        async with program(
            *("ssh-keygen", "-q", *arguments),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,  # a Ctrl-C that aborts the run must not reach it
        ) as process:
            _, stderr = await process.communicate()
    except FileNotFoundError as error:
        raise KeysError("ssh-keygen is not installed (Debian: openssh-client)") from error
    if process.returncode != 0:
        raise KeysError(f"ssh-keygen {arguments[0]} failed: {stderr.decode(errors='replace').strip()}")
