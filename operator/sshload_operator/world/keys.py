"""The keys of one run with a managed target, made by ssh-keygen(1) and known to nobody else.

They are in a private temporary folder for the milliseconds in which they are made, then only in the run's Secret.
"""

import asyncio
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Final, Self

from sshload_contract.population import (
    MOST_USERS,
    POPULATION_FILE,
    POPULATION_PASSWORD_FILE,
    new_population_secret,
    read_population,
)

from sshload_operator.api.spec import LoadTestSpec
from sshload_operator.api.targets import ManagedTarget
from sshload_operator.world.program import program

_LOGIN_KEY: Final = "id_ed25519"
_USER_CA: Final = "user_ca"
_HOST_CA: Final = "host_ca"
_HOST_KEYS: Final = ("ssh_host_ed25519_key", "ssh_host_ecdsa_key")
_TYPES: Final = {
    _LOGIN_KEY: "ed25519",
    _USER_CA: "ed25519",
    _HOST_CA: "ed25519",
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

    Certificates are valid that long, with a margin on both sides because nodes' clocks differ. With `population`, the
    target has the accounts of one. `keeps_user_ca` is whether workers sign certificates themselves, so that they need
    the authority's private key, and `host_certificates` whether the host keys have certificates, which known_hosts
    names the authority of.
    """

    host: str
    port: int
    user: str
    valid_s: float
    population: bool = False
    keeps_user_ca: bool = False
    host_certificates: bool = False

    @classmethod
    def of(cls, spec: LoadTestSpec, target: ManagedTarget, host: str, port: int, user: str) -> Self:
        """Return what a spec asks for, for its managed target at this host and port."""
        return cls(
            host=host,
            port=port,
            user=user,
            valid_s=spec.deadline_s,
            population=target.system is not None,
            keeps_user_ca=spec.client.certificates is not None,
            host_certificates=target.sshd.host_certificates,
        )


@dataclass(frozen=True, slots=True)
class Keys:
    """What the run's Secret holds, as OpenSSH writes it. No value shows in `repr`, so that none gets into a log.

    `login_private` and `login_public` are the key pair that logs in (id_ed25519), `certificate` is its certificate, by
    the authority whose public key is `user_ca_public`. Its private key, `user_ca_private`, is empty unless workers sign
    certificates. `host_private` are the target's host keys by file name, `known_hosts` one known_hosts(5) line for each
    of them, or one for the authority of their certificates, which `host_certificates` has by file name. `population` is
    the secret from which the credentials of a population follow, empty if there is none.
    """

    login_private: str = field(repr=False)
    login_public: str = field(repr=False)
    certificate: str = field(repr=False)
    user_ca_public: str = field(repr=False)
    host_private: Mapping[str, str] = field(repr=False)
    known_hosts: str = field(repr=False)
    population: str = field(default="", repr=False)
    user_ca_private: str = field(default="", repr=False)
    host_certificates: Mapping[str, str] = field(default_factory=dict, repr=False)

    def files(self) -> Mapping[str, str]:
        """Return all of it by file name.

        These are id_ed25519, .pub and -cert.pub, user_ca.pub, ssh_host_*_key and known_hosts; with a population its
        secret and its password; and user_ca and ssh_host_*_key-cert.pub if they were asked for.
        """
        user_ca = {_USER_CA: self.user_ca_private} if self.user_ca_private else {}
        return {
            _LOGIN_KEY: self.login_private,
            f"{_LOGIN_KEY}.pub": self.login_public,
            f"{_LOGIN_KEY}-cert.pub": self.certificate,
            f"{_USER_CA}.pub": self.user_ca_public,
            **user_ca,
            **self.host_private,
            **self.host_certificates,
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
        made = [name for name in _TYPES if name != _HOST_CA or asked.host_certificates]
        paths = {name: Path(folder) / name for name in made}
        await asyncio.gather(*(_generate(_TYPES[name], path) for name, path in paths.items()))
        await _certify(paths[_LOGIN_KEY], paths[_USER_CA], asked, "-n", asked.user)
        certified = _HOST_KEYS if asked.host_certificates else ()
        for name in certified:
            await _certify(paths[name], paths[_HOST_CA], asked, "-h", "-n", asked.host)
        private = {name: path.read_text(encoding="ascii") for name, path in paths.items()}
        public = {name: path.with_suffix(".pub").read_text(encoding="ascii").strip() for name, path in paths.items()}
        certificates = {
            name: (Path(folder) / name).read_text(encoding="ascii")
            for name in (f"{key}-cert.pub" for key in (_LOGIN_KEY, *certified))
        }
    lines = [known_hosts_line(asked.host, asked.port, public[name]) for name in _HOST_KEYS]
    if certified:
        lines = [f"@cert-authority {known_hosts_line(asked.host, asked.port, public[_HOST_CA])}"]
    return Keys(
        login_private=private[_LOGIN_KEY],
        login_public=public[_LOGIN_KEY] + "\n",
        certificate=certificates.pop(f"{_LOGIN_KEY}-cert.pub"),
        user_ca_public=public[_USER_CA] + "\n",
        host_private={name: private[name] for name in _HOST_KEYS},
        known_hosts="".join(lines),
        population=new_population_secret() if asked.population else "",
        user_ca_private=private[_USER_CA] if asked.keeps_user_ca else "",
        host_certificates=certificates,
    )


def known_hosts_line(host: str, port: int, public_key: str) -> str:
    """Return the known_hosts(5) line for a public key; with a port other than 22, the host is in brackets."""
    key_type, key = public_key.split()[:2]
    name = host if port == _SSH_PORT else f"[{host}]:{port}"
    return f"{name} {key_type} {key}\n"


async def _generate(key_type: str, path: Path) -> None:
    await _ssh_keygen("-t", key_type, "-N", "", "-C", "", "-f", str(path))


async def _certify(key: Path, authority: Path, asked: KeysAsked, *whose: str) -> None:
    """Sign the public key beside `key`; the certificate appears there too. `whose` are ssh-keygen's options."""
    valid = f"-{CLOCKS_DIFFER_S}s:+{ceil(asked.valid_s) + CLOCKS_DIFFER_S}s"
    await _ssh_keygen("-s", str(authority), "-I", "sshload", *whose, "-V", valid, str(key.with_suffix(".pub")))


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
