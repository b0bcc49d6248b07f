"""The directory of a managed target's accounts: how it is asked for, and what the target says of it."""

from dataclasses import dataclass
from enum import StrEnum, unique
from typing import Final

from sshload_contract.bounds import Amount

PAUSE_PATH: Final = "/pause"
"""Where a target's HTTP port is asked to let its directory pause."""


@unique
class AccountCache(StrEnum):
    """What sssd's cache has when the load begins: nothing, or all accounts."""

    COLD = "cold"
    WARM = "warm"


@dataclass(frozen=True, slots=True, kw_only=True)
class LdapAccounts:
    """Accounts that slapd holds and sssd answers for. What is None is sssd's own default.

    `pause_s` is how long slapd is stopped each time that the target is asked to, None where it never is. With
    `log_operations` the target's log has slapd's too, with each operation (loglevel stats of slapd.conf(5)).
    """

    cache: AccountCache
    entry_cache_timeout_s: int
    search_timeout_s: int | None
    offline_timeout_s: int | None
    pam_initgroups_scheme: str | None
    pause_s: float | None
    log_operations: bool


@dataclass(frozen=True, slots=True)
class DirectoryPause:
    """How long ago slapd was stopped, and was continued: 0 while it is stopped."""

    began_ago_s: Amount
    ended_ago_s: Amount


@dataclass(frozen=True, slots=True, kw_only=True)
class LdapFacts:
    """What a target says of its directory. A version is empty if the program does not say it.

    `cpu_s` is the CPU time of slapd and of sssd with its processes since they began. It is part of the target's.
    """

    cache: AccountCache
    slapd_version: str
    sssd_version: str
    cpu_s: Amount = 0.0
    paused: DirectoryPause | None = None
