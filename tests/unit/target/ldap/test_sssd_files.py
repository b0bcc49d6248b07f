"""What sssd is told, and where a private /etc names it."""

from dataclasses import replace
from pathlib import Path

import pytest
from sshload_contract.wire.ldap import AccountCache, LdapAccounts
from sshload_target.ldap.sssd import config_text, joined_auth, switched

COLD = LdapAccounts(
    cache=AccountCache.COLD,
    entry_cache_timeout_s=1,
    search_timeout_s=None,
    offline_timeout_s=None,
    pam_initgroups_scheme=None,
    pause_s=None,
    log_operations=False,
)


def lines(ldap: LdapAccounts) -> list[str]:
    return config_text(ldap, "ldaps://127.0.0.1:6360", Path("/x/slapd.pem")).splitlines()


def test_a_cold_cache_answers_nothing_that_it_has_not_just_asked_for() -> None:
    assert {"entry_cache_timeout = 1", "memcache_timeout = 0", "entry_cache_nowait_percentage = 0"} <= set(lines(COLD))


def test_a_warm_cache_is_as_sssd_has_it() -> None:
    warm = lines(replace(COLD, cache=AccountCache.WARM, entry_cache_timeout_s=5_400))
    assert "entry_cache_timeout = 5400" in warm
    assert not [line for line in warm if line.startswith(("memcache", "entry_cache_nowait"))]


def test_timeouts_are_sssds_own_unless_they_are_given() -> None:
    names = ("ldap_search_timeout", "ldap_network_timeout", "ldap_opt_timeout", "offline_timeout", "pam_initgroups")
    assert not [line for line in lines(COLD) if line.startswith(names)]
    given = replace(COLD, search_timeout_s=20, offline_timeout_s=7, pam_initgroups_scheme="never")
    assert {
        "ldap_search_timeout = 20",
        "ldap_network_timeout = 20",
        "ldap_opt_timeout = 20",
        "offline_timeout = 7",
        "offline_timeout_max = 7",
        "offline_timeout_random_offset = 0",
        "pam_initgroups_scheme = never",
    } <= set(lines(given))


def test_the_server_is_asked_by_tls_and_its_certificate_is_checked() -> None:
    assert {"ldap_uri = ldaps://127.0.0.1:6360", "ldap_tls_reqcert = demand", "ldap_tls_cacert = /x/slapd.pem"} <= set(
        lines(COLD)
    )


@pytest.mark.parametrize(
    "before",
    [
        "passwd:         files systemd\ngroup:          files systemd\nhosts: files dns\n",
        "passwd: sss files nis # as ever\nhosts: files dns\n",
        "hosts: files dns\n",
    ],
)
def test_sss_answers_behind_the_files_and_nobody_else_does(before: str) -> None:
    assert sorted(switched(before).splitlines()) == ["group: files sss", "hosts: files dns", "passwd: files sss"]


DEBIAN = """\
# here are the per-package modules (the "Primary" block)
auth	[success=1 default=ignore]	pam_unix.so nullok
# here's the fallback if no module succeeds
auth	requisite			pam_deny.so
auth	required			pam_permit.so
"""
DEBIAN_WITH_KERBEROS = """\
auth	[success=2 default=ignore]	pam_krb5.so minimum_uid=1000
auth	[success=1 default=ignore]	pam_unix.so nullok try_first_pass
auth	requisite			pam_deny.so
auth	required			pam_permit.so
"""


@pytest.mark.parametrize("stack", [DEBIAN, DEBIAN_WITH_KERBEROS])
def test_who_is_known_to_any_module_lands_behind_what_refuses(stack: str) -> None:
    rules = [line.split() for line in joined_auth(stack.splitlines()) if not line.startswith("#")]
    deny = next(place for place, rule in enumerate(rules) if "pam_deny.so" in rule)
    jumps = {place: int(rule[1].removeprefix("[success=")) for place, rule in enumerate(rules[:deny])}
    assert {place + 1 + jump for place, jump in jumps.items()} == {deny + 1}
    assert rules[deny - 1][3:] == ["pam_sss.so", "use_first_pass"]
