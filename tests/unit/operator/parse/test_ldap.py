"""`target.managed.system.ldap`: what the target and the master are told of it."""

from typing import Any

import pytest
from plans import plan, quickstart
from sshload_contract.wire.ldap import AccountCache, LdapAccounts
from sshload_operator.api.load_test import parse
from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.manifests.run_config import cluster_places, run_config
from sshload_operator.manifests.target import sshd_config


def with_ldap(ldap: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return quickstart(target={"managed": {"system": {"users": 5, "ldap": ldap}}}, **changes)


def told(ldap: dict[str, Any]) -> LdapAccounts:
    managed = parse(with_ldap(ldap)).managed
    assert managed is not None
    assert managed.system is not None
    found = managed.system.wire.ldap
    assert found is not None
    return found


def test_by_default_the_cache_is_cold_and_the_timeouts_are_sssds_own() -> None:
    assert told({}) == LdapAccounts(
        cache=AccountCache.COLD,
        entry_cache_timeout_s=1,
        search_timeout_s=None,
        offline_timeout_s=None,
        pam_initgroups_scheme=None,
        pause_s=None,
        log_operations=False,
    )


def test_a_warm_cache_keeps_entries_as_long_as_sssd_does() -> None:
    assert told({"cache": "warm"}).entry_cache_timeout_s == 5_400
    assert told({"cache": "warm", "entryCacheTimeout": "2m"}).entry_cache_timeout_s == 120


def test_the_master_is_told_when_the_directory_pauses_and_the_target_for_how_long() -> None:
    spec = with_ldap({"pause": {"after": "3s", "for": "500ms"}})
    assert told({"pause": {"after": "3s", "for": "500ms"}}).pause_s == 0.5
    made = plan(spec)
    assert run_config(made, cluster_places(made)).pause_after_s == 3.0
    without = plan(with_ldap({}))
    assert run_config(without, cluster_places(without)).pause_after_s is None


def test_a_pause_must_be_over_when_the_load_ends() -> None:
    load = {"arrivals": {"rate": 5, "duration": "20s"}}
    parse(with_ldap({"pause": {"after": "20s", "for": "10s"}}, load=load, warmUp="10s"))
    with pytest.raises(SpecError) as caught:
        parse(with_ldap({"pause": {"after": "20s", "for": "11s"}}, load=load, warmUp="10s"))
    (problem,) = caught.value.problems
    assert problem.path == "spec.target.managed.system.ldap.pause"
    assert problem.text == "ends 31 s after the start of the load, and the load runs for 30 s"


def test_keys_come_from_sssd_and_from_no_file() -> None:
    managed = parse(with_ldap({})).managed
    assert managed is not None
    lines = sshd_config(managed).splitlines()
    assert {
        "AuthorizedKeysFile none",
        "AuthorizedKeysCommand /usr/bin/sss_ssh_authorizedkeys",
        "AuthorizedKeysCommandUser nobody",
    } <= set(lines)
