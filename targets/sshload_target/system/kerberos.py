"""Kerberos: a realm of the target's own, with a KDC beside its sshd (MIT's krb5kdc, kdb5_util and kadmin.local).

Its users are those of the population, with their password. kadmin.local takes 12 ms for each, so one user is made by
it, and the others from that user's entry in a dump of the database (kdb5_util(8)): their keys are the same, because the
salt is the realm alone (onlyrealm).
"""

import os
import secrets
import shutil
import socket
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from sshload_contract.kerberos import MANAGED_REALM
from sshload_contract.population import Population
from sshload_contract.wire.target import TargetConfig, TargetKerberos

from sshload_target.errors import ConfigRefusedError
from sshload_target.system.daemons import Daemon

_PROGRAMS: Final = "/usr/sbin:/usr/local/sbin:/usr/bin:/usr/lib/mit/sbin"
_KEYTAB: Final = Path("/etc/krb5.keytab")
_CONFIG: Final = Path("/etc/krb5.conf")
_KEYS: Final = "aes256-cts-hmac-sha1-96"
_SALTED_ALIKE: Final = f"{_KEYS}:onlyrealm"
_WITHIN_S: Final = 120.0
_CONNECT_S: Final = 0.2
_NAME: Final = 6
"""Which field of an entry in a dump is the principal's name, and which before it is the name's length."""
_LENGTH: Final = 2


def make_kdc(
    config: TargetConfig, kerberos: TargetKerberos, population: Population, folder: Path, listen: str
) -> Daemon:
    """Return the KDC of a realm that is made in `folder`; raises ConfigRefusedError.

    It listens at the address `listen`, or at all if that is empty. What sshd knows of the realm goes to /etc.
    """
    try:
        _make_realm(config, kerberos, population, folder, listen)
    except OSError as error:
        raise ConfigRefusedError(f"the Kerberos realm cannot be made ready: {error}") from error
    for variable in [name for name in os.environ if name.startswith("KRB5")]:
        del os.environ[variable]  # of whoever started this, and sshd would obey it
    is_ready = partial(_answers, listen, config.kdc_port)
    return Daemon("krb5kdc", (_program("krb5kdc"), "-n"), is_ready, _environment(folder))


def _environment(folder: Path) -> Mapping[str, str]:
    """Return what names the settings of the realm in `folder` for krb5kdc and the programs of its database."""
    return {"KRB5_KDC_PROFILE": str(folder / "kdc.conf"), "KRB5_CONFIG": str(_CONFIG)}


def _make_realm(
    config: TargetConfig, kerberos: TargetKerberos, population: Population, folder: Path, listen: str
) -> None:
    _CONFIG.write_text(_client_settings(_place(listen or "127.0.0.1", config.kdc_port)), encoding="ascii")
    (folder / "kdc.conf").write_text(_kdc_settings(kerberos, folder, _place(listen, config.kdc_port)), encoding="ascii")
    master = secrets.token_urlsafe(24)
    _run(folder, ("kdb5_util", "create", "-s"), f"{master}\n{master}\n")
    first, *others = population.names
    host = f"host/{config.host}"
    _run(
        folder,
        ("kadmin.local",),
        f"addprinc -randkey {host}\nktadd -k {_KEYTAB} {host}\n"
        f"addprinc -pw {population.password} -e {_SALTED_ALIKE} +requires_preauth {first}\n",
    )
    if others:
        dump = folder / "dump"
        dump.touch(0o600)
        _run(folder, ("kdb5_util", "dump", str(dump)))
        add_users(dump, first, others)
        _run(folder, ("kdb5_util", "load", str(dump)))
        dump.unlink()
    if not _KEYTAB.exists():
        raise ConfigRefusedError("kadmin.local has made no key for sshd, and does not say why")


def _answers(listen_address: str, port: int) -> bool:
    """Return whether something listens where the KDC does."""
    try:
        with socket.create_connection((listen_address or "localhost", port), _CONNECT_S):
            return True
    except OSError:
        return False


def _client_settings(kdc: str) -> str:
    return (
        f"[libdefaults]\ndefault_realm = {MANAGED_REALM}\ndns_lookup_kdc = false\ndns_canonicalize_hostname = false\n"
        f"rdns = false\n[realms]\n{MANAGED_REALM} = {{\nkdc = {kdc}\n}}\n"
    )


def _kdc_settings(kerberos: TargetKerberos, folder: Path, listens: str) -> str:
    return (
        f'[kdcdefaults]\nkdc_listen = ""\nkdc_tcp_listen = {listens}\n'
        f"[realms]\n{MANAGED_REALM} = {{\ndatabase_name = {folder / 'principal'}\nkey_stash_file = {folder / 'stash'}\n"
        f"acl_file = {folder / 'acl'}\nsupported_enctypes = {_KEYS}:normal\n"
        f"max_life = {round(kerberos.ticket_s)}s\n}}\n[logging]\nkdc = STDERR\n"
    )


def _place(address: str, port: int) -> str:
    if not address:
        return str(port)
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def add_users(dump: Path, first: str, others: Iterable[str]) -> None:
    """Add an entry for each of the others, which is that of the first with another name."""
    head, *entries = dump.read_text(encoding="ascii").splitlines()
    own = next(entry.split("\t") for entry in entries if f"\t{first}@{MANAGED_REALM}\t" in entry)
    dump.write_text("".join(f"{line}\n" for line in (head, *entries, *_named(own, others))), encoding="ascii")


def _named(entry: list[str], names: Iterable[str]) -> Iterator[str]:
    for name in names:
        principal = f"{name}@{MANAGED_REALM}"
        named = list(entry)
        named[_LENGTH], named[_NAME] = str(len(principal)), principal
        yield "\t".join(named)


def _run(folder: Path, command: tuple[str, ...], said: str = "") -> None:
    """Run a program of the database, to which `said` is input; raises ConfigRefusedError if it fails.

    Passwords are in the input alone.
    """
    try:
        done = subprocess.run(  # noqa: S603 - our own commands
            [_program(command[0]), *command[1:]],
            input=said,
            capture_output=True,
            text=True,
            check=False,
            timeout=_WITHIN_S,
            env={"PATH": _PROGRAMS, **_environment(folder)},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConfigRefusedError(f"{command[0]} failed: {type(error).__name__}") from None
    if done.returncode != 0:
        raise ConfigRefusedError(f"{command[0]} failed: {' '.join(done.stderr.split())}")


def _program(name: str) -> str:
    path = shutil.which(name, path=_PROGRAMS)
    if path is None:
        raise ConfigRefusedError(f"there is no {name} here: install krb5-kdc and krb5-admin-server")
    return path
