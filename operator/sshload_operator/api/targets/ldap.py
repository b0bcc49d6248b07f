"""`target.managed.system.ldap`: the accounts of a target in a directory, for which sssd answers."""

from dataclasses import dataclass
from math import ceil
from typing import Annotated, Final

from sshload_contract.declared import Default, Duration, Named, Words
from sshload_contract.wire.ldap import AccountCache, LdapAccounts

_COLD_TIMEOUT_S: Final = 1
_SSSD_TIMEOUT_S: Final = 5_400
"""entry_cache_timeout's default, sssd.conf(5)."""


@dataclass(frozen=True, slots=True)
class LdapPause:
    """A time of the load in which slapd is stopped and answers nothing (SIGSTOP)."""

    after_s: Annotated[float, Duration("0s", "24h", example="20s"), "When it begins, after the start of the load."]
    for_s: Annotated[float, Named("for"), Duration("100ms", "10m", example="5s"), "How long it lasts."]


@dataclass(frozen=True, slots=True)
class Ldap:
    """Accounts, keys and the password are in slapd, and in no file; sssd answers for them.

    slapd runs beside sshd. sssd answers sshd (nss_sss, sss_ssh_authorizedkeys) and PAM (pam_sss); it asks slapd by TLS.
    """

    cache: Annotated[
        AccountCache,
        Default("cold"),
        "cold: sssd knows nobody when the load begins, and keeps an entry for a second. warm: it knows all users, and"
        " keeps them for 90 minutes; PAM still asks for groups.",
    ]
    entry_cache_timeout_s: Annotated[
        float | None,
        Duration("1s", "24h", whole_seconds=True, example="90m"),
        "How long sssd keeps an entry, in place of what cache says (entry_cache_timeout).",
    ]
    search_timeout_s: Annotated[
        float | None,
        Duration("1s", "10m", whole_seconds=True, example="6s"),
        "How long sssd waits for slapd before it goes offline (ldap_search_timeout, ldap_network_timeout,"
        " ldap_opt_timeout). Without it, 6, 6 and 8 seconds.",
    ]
    offline_timeout_s: Annotated[
        float | None,
        Duration("1s", "1h", whole_seconds=True, example="60s"),
        "How long sssd stays offline before it asks slapd again (offline_timeout). Without it, 60 to 90 seconds.",
    ]
    pam_initgroups_scheme: Annotated[
        str | None,
        Words(("always", "no_session", "never")),
        "When PAM asks slapd for a user's groups (pam_initgroups_scheme). Without it, no_session.",
    ]
    pause: LdapPause | None
    log_operations: Annotated[
        bool,
        Default(False),
        "Whether the target's log has each operation of slapd (loglevel stats).",
    ]

    @property
    def wire(self) -> LdapAccounts:
        """What the target itself is told."""
        kept_s = _COLD_TIMEOUT_S if self.cache is AccountCache.COLD else _SSSD_TIMEOUT_S
        return LdapAccounts(
            cache=self.cache,
            entry_cache_timeout_s=kept_s if self.entry_cache_timeout_s is None else ceil(self.entry_cache_timeout_s),
            search_timeout_s=None if self.search_timeout_s is None else ceil(self.search_timeout_s),
            offline_timeout_s=None if self.offline_timeout_s is None else ceil(self.offline_timeout_s),
            pam_initgroups_scheme=self.pam_initgroups_scheme,
            pause_s=None if self.pause is None else self.pause.for_s,
            log_operations=self.log_operations,
        )
