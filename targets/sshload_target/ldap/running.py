"""The directory of a target while it runs: what it is, what it has used, and its pauses."""

import re
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from sshload_contract.wire.ldap import AccountCache, LdapAccounts, LdapFacts

from sshload_target.ldap import directory, sssd
from sshload_target.ldap.pause import Pause
from sshload_target.ldap.warming import warm
from sshload_target.system.accounts import Account
from sshload_target.system.daemons import RunningDaemon
from sshload_target.usage.process_tree import cpu_s_of

SLAPD: Final = "slapd"
SSSD: Final = "sssd"
_VERSION_TIMEOUT_S: Final = 30.0
_VERSION: Final = re.compile(rb"\d[\w.+-]*")


class Directory:
    """The running directory of a target's accounts, from any thread."""

    def __init__(self, ldap: LdapAccounts, daemons: Sequence[RunningDaemon]) -> None:
        self._facts = LdapFacts(
            cache=ldap.cache,
            slapd_version=_version(str(directory.SLAPD), "-VV"),
            sssd_version=_version(str(sssd.SSSD), "--version"),
        )
        pids = {daemon.name: daemon.pid for daemon in daemons}
        self._pids = (pids[SLAPD], pids[SSSD])
        self._pause = None if ldap.pause_s is None else Pause(pids[SLAPD], ldap.pause_s)

    @property
    def facts(self) -> LdapFacts:
        """What it is, and has done by now."""
        return replace(
            self._facts,
            cpu_s=cpu_s_of(self._pids),
            paused=None if self._pause is None else self._pause.last,
        )

    @property
    def pauses(self) -> bool:
        """Whether it pauses where it is asked to."""
        return self._pause is not None

    def pause(self) -> None:
        """Let it pause now, for its declared time."""
        if self._pause is not None:
            self._pause.begin()


def running_directory(ldap: LdapAccounts, accounts: Iterable[Account], daemons: Sequence[RunningDaemon]) -> Directory:
    """Return the directory of accounts whose daemons run, with its cache as it is to be.

    Raises TargetError, and InterruptedTargetError.
    """
    if ldap.cache is AccountCache.WARM:
        warm(account.name for account in accounts)
    return Directory(ldap, daemons)


def _version(*command: str) -> str:
    """Return the first number that a program says of itself."""
    try:
        said = subprocess.run(command, capture_output=True, check=False, timeout=_VERSION_TIMEOUT_S)  # noqa: S603 - fixed
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = _VERSION.search(said.stdout + said.stderr)
    return found[0].decode("ascii") if found is not None else ""
