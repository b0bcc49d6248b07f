"""The directory: the entries of accounts with their keys, in a database of slapd(8) that slapadd(8) makes offline."""

import hashlib
import secrets
import subprocess
from base64 import b64encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from sshload_target.errors import ConfigRefusedError

BASE: Final = "o=sshload"
PEOPLE: Final = f"ou=people,{BASE}"
GROUPS: Final = f"ou=groups,{BASE}"
SLAPD: Final = Path("/usr/sbin/slapd")
_SLAPADD: Final = Path("/usr/sbin/slapadd")
_SCHEMA: Final = Path("/etc/ldap/schema")
_LOAD_TIMEOUT_S: Final = 600.0
_SALT_BYTES: Final = 16
_LARGEST_DATABASE_BYTES: Final = 4 * 2**30
"""What its map may grow to (maxsize of slapd-mdb(5)). The file has only what is in use, about 1 kB for each account."""

_CONFIG: Final = """\
include {schema}/core.schema
include {schema}/cosine.schema
include {schema}/nis.schema
attributetype ( 1.3.6.1.4.1.24552.500.1.1.1.13 NAME 'sshPublicKey'
  EQUALITY octetStringMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.40 )
objectclass ( 1.3.6.1.4.1.24552.500.1.1.2.0 NAME 'ldapPublicKey' SUP top AUXILIARY MAY ( sshPublicKey $ uid ) )
modulepath /usr/lib/ldap
moduleload back_mdb
TLSCertificateFile {certificate}
TLSCertificateKeyFile {key}
database mdb
suffix "{base}"
directory {database}
maxsize {largest}
dbnosync
index objectClass,uid,uidNumber,gidNumber,memberUid eq
access to attrs=userPassword by anonymous auth by * none
access to * by * read
"""
"""slapd.conf(5). sshPublicKey is of the schema openssh-lpk, the one that sssd-ldap(5) expects."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An account as the directory has it: a user with a group of their own, both of one number."""

    name: str
    number: int
    home: str
    shell: str
    keys: tuple[str, ...] = field(repr=False)


def check_installed() -> None:
    """Raise ConfigRefusedError unless slapd and its schemas are installed."""
    missing = [str(path) for path in (SLAPD, _SLAPADD, _SCHEMA) if not path.exists()]
    if missing:
        raise ConfigRefusedError(f"there is no {missing[0]} where the target runs: `apt-get install slapd`")


def make_directory(entries: Iterable[Entry], password: str, certificate: Path, key: Path, folder: Path) -> Path:
    """Make the database of these accounts, who have one password, in a folder, and return slapd's configuration.

    Raises ConfigRefusedError with the words of slapadd.
    """
    database, config, ldif = folder / "database", folder / "slapd.conf", folder / "accounts.ldif"
    database.mkdir(mode=0o700)
    config.write_text(
        _CONFIG.format(
            schema=_SCHEMA,
            certificate=certificate,
            key=key,
            base=BASE,
            database=database,
            largest=_LARGEST_DATABASE_BYTES,
        ),
        encoding="ascii",
    )
    ldif.touch(mode=0o600)
    with ldif.open("w", encoding="ascii") as file:
        file.writelines(_ldif(entries, hashed(password)))
    loaded = subprocess.run(  # noqa: S603 - a fixed program, and arguments of ours
        [_SLAPADD, "-q", "-f", config, "-l", ldif], capture_output=True, text=True, check=False, timeout=_LOAD_TIMEOUT_S
    )
    ldif.unlink()
    if loaded.returncode != 0:
        raise ConfigRefusedError(f"slapadd refuses the accounts: {' '.join(loaded.stderr.split())}")
    return config


def hashed(password: str) -> str:
    """Return a value of userPassword (RFC 2307): salted SHA-1, which costs slapd microseconds for each login."""
    salt = secrets.token_bytes(_SALT_BYTES)
    digest = hashlib.sha1(password.encode() + salt, usedforsecurity=False).digest()
    return f"{{SSHA}}{b64encode(digest + salt).decode()}"


def _ldif(entries: Iterable[Entry], password: str) -> Iterator[str]:
    """Yield LDIF (RFC 2849). All values are of the run itself: none needs base64."""
    yield f"dn: {BASE}\nobjectClass: organization\no: sshload\n\n"
    for unit in (PEOPLE, GROUPS):
        yield f"dn: {unit}\nobjectClass: organizationalUnit\nou: {unit.split(',')[0].removeprefix('ou=')}\n\n"
    for entry in entries:
        keys = "".join(f"sshPublicKey: {key}\n" for key in entry.keys)
        yield (
            f"dn: uid={entry.name},{PEOPLE}\nobjectClass: account\nobjectClass: posixAccount\n"
            f"objectClass: ldapPublicKey\nuid: {entry.name}\ncn: {entry.name}\nuidNumber: {entry.number}\n"
            f"gidNumber: {entry.number}\nhomeDirectory: {entry.home}\nloginShell: {entry.shell}\n"
            f"{keys}userPassword: {password}\n\n"
            f"dn: cn={entry.name},{GROUPS}\nobjectClass: posixGroup\ncn: {entry.name}\ngidNumber: {entry.number}\n\n"
        )
