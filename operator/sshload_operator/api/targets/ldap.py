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
    """A time of the load in which the directory answers nothing, as one that hangs: slapd is stopped (SIGSTOP)."""

    after_s: Annotated[float, Duration("0s", "24h", example="20s"), "When it begins, after the start of the load."]
    for_s: Annotated[float, Named("for"), Duration("100ms", "10m", example="5s"), "How long it lasts."]


@dataclass(frozen=True, slots=True)
class Ldap:
    """The accounts, their keys and their password are in a directory, and in no file.

    slapd holds them, beside sshd. sssd answers for them to sshd (nss_sss, sss_ssh_authorizedkeys) and to PAM (pam_sss),
    and asks slapd by TLS.
    """

    cache: Annotated[
        AccountCache,
        Default("cold"),
        "cold: sssd's cache is empty when the load begins, and keeps entries for one second, so that a user who has not"
        " just logged in is asked for at slapd. warm: sssd knows all accounts before the load, and keeps them for 90"
        " minutes. PAM still asks slapd for a user's groups, once in five seconds for each user (pamInitgroupsScheme).",
    ]
    entry_cache_timeout_s: Annotated[
        float | None,
        Duration("1s", "24h", whole_seconds=True, example="90m"),
        "How long sssd keeps an entry, in place of what cache says: entry_cache_timeout of sssd.conf.",
    ]
    search_timeout_s: Annotated[
        float | None,
        Duration("1s", "10m", whole_seconds=True, example="6s"),
        "How long sssd waits for an answer of slapd before it goes offline: ldap_search_timeout, ldap_network_timeout"
        " and ldap_opt_timeout of sssd-ldap. Without it, sssd's own: 6, 6 and 8 seconds.",
    ]
    offline_timeout_s: Annotated[
        float | None,
        Duration("1s", "1h", whole_seconds=True, example="60s"),
        "How long sssd, once offline, answers from its cache alone before it asks slapd again: offline_timeout of"
        " sssd.conf. Without it, sssd's own: 60 seconds and up to 30 more.",
    ]
    pam_initgroups_scheme: Annotated[
        str | None,
        Words(("always", "no_session", "never")),
        "When PAM asks slapd for the groups of a user who logs in: pam_initgroups_scheme of sssd.conf. Without it,"
        " sssd's own: no_session, which is the same as always here.",
    ]
    pause: LdapPause | None
    log_operations: Annotated[
        bool,
        Default(False),
        "Whether the target's log has each operation of slapd (loglevel stats of slapd.conf): some kilobytes for each"
        " login.",
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
