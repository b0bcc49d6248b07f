"""slapd and sssd as daemons of a target: slapd has the accounts, sssd asks it for them, and sshd and PAM ask sssd."""

import socket
from pathlib import Path
from typing import Final

from sshload_contract.wire.ldap import LdapAccounts

from sshload_target.ldap import directory, sssd
from sshload_target.ldap.certificate import make_certificate
from sshload_target.ldap.directory import Entry
from sshload_target.ldap.running import SLAPD, SSSD
from sshload_target.system.accounts import SHELL
from sshload_target.system.daemons import Daemon
from sshload_target.system.make import MadeSystem

_ADDRESS: Final = "127.0.0.1"
_TIMEOUT_S: Final = 10.0


def ldap_daemons(ldap: LdapAccounts, made: MadeSystem, folder: Path) -> tuple[Daemon, ...]:
    """Make a directory of a system's accounts in a folder, let sssd answer for them, and return both daemons.

    Raises ConfigRefusedError where a program is not installed, or refuses what it is given.
    """
    directory.check_installed()
    sssd.check_installed()
    port = _free_port()
    certificate, key = make_certificate(_ADDRESS, folder)
    entries = (Entry(one.name, one.number, str(one.home), SHELL, tuple(made.keys_of(one))) for one in made.accounts)
    config = directory.make_directory(entries, made.population.password, certificate, key, folder)
    uri = f"ldaps://{_ADDRESS}:{port}"
    sssd.configure(ldap, uri, certificate)
    level = "stats" if ldap.log_operations else "0"
    return (
        Daemon(
            SLAPD,
            (str(directory.SLAPD), "-d", level, "-h", uri, "-f", str(config)),
            lambda: _listens(port),
            is_logged=ldap.log_operations,
        ),
        Daemon(SSSD, (str(sssd.SSSD), "-i", "--logger=stderr"), lambda: sssd.answers_for(made.accounts[0].name)),
    )


def _free_port() -> int:
    with socket.socket() as asked:
        asked.bind((_ADDRESS, 0))
        port: int = asked.getsockname()[1]
        return port


def _listens(port: int) -> bool:
    try:
        with socket.create_connection((_ADDRESS, port), timeout=_TIMEOUT_S):
            return True
    except OSError:
        return False
