"""What makes the figures of two tests incomparable, field by field and role by role."""

from typing import Any

import pytest
from plans import EXTERNAL, quickstart
from specs.search import SEARCH_USERS
from sshload_operator.api.load_test import parse
from sshload_operator.api.status.installed import InstalledResources, PodResources
from sshload_operator.planning.differs import comparable_hash, difference, installed_difference, other_login
from statuses import RESULTS, read_test_status

JUMP_HOST = {**EXTERNAL, "host": "jump.example.com"}
ERRORS, QUICK = {"errorRate": {"below": "1%"}}, {"latency": {"step": "total", "percentile": 75, "below": "1s"}}


def told(ours: Any, theirs: Any) -> tuple[str, str]:
    """Return the difference either way round."""
    one, other = parse(ours), parse(theirs)
    assert (comparable_hash(one) == comparable_hash(other)) is (difference(one, other) == "")
    return difference(one, other), difference(other, one)


def test_a_test_without_a_jump_host_says_so() -> None:
    direct = quickstart(target={"external": EXTERNAL})
    here, there = told(direct, {**direct, "via": [JUMP_HOST]})
    assert here.startswith("spec.via is no jump host here and ")
    assert there.endswith(" here and no jump host there")


def test_what_each_trial_of_a_search_must_meet_is_part_of_its_capacity_in_whatever_order() -> None:
    strict = {**SEARCH_USERS, "thresholds": [ERRORS, QUICK]}
    assert told(strict, {**SEARCH_USERS, "thresholds": [QUICK, ERRORS]}) == ("", "")
    assert told(strict, {**SEARCH_USERS, "thresholds": [ERRORS]}) == ("spec.thresholds differs",) * 2


def test_resources_that_only_one_of_two_statuses_tells_make_no_difference() -> None:
    given = InstalledResources(worker=PodResources(given="requests cpu 1"))
    for nothing in (None, InstalledResources(), InstalledResources(worker=PodResources(set_by_cluster="limits cpu 2"))):
        assert installed_difference(given, nothing) == installed_difference(nothing, given) == ""


def test_another_kind_of_sshd_is_told_as_another_login() -> None:
    alone = {"asRoot": False, "pam": False, "accounts": "files", "distribution": "Debian 13"}
    whole = {"asRoot": True, "pam": True, "accounts": "sss", "distribution": "Debian 13"}
    ours, theirs = (read_test_status({"results": {**RESULTS, "target": one}}).results for one in (alone, whole))
    assert other_login(ours, theirs) == (
        "the login is not the same: root's sshd is no here and yes there, UsePAM is no here and yes there,"
        " the source of accounts is files here and sss there"
    )
    assert other_login(ours, ours) == ""


@pytest.mark.parametrize("theirs", [None, {**RESULTS, "target": {"sshdVersion": "OpenSSH_9.2"}}], ids=["none", "some"])
def test_logins_are_the_same_as_far_as_one_of_two_runs_has_no_results(theirs: dict[str, Any] | None) -> None:
    found = None if theirs is None else read_test_status({"results": theirs}).results
    assert other_login(None, found) == other_login(found, None) == ""


def test_servers_that_no_login_told_are_told_by_the_targets_sshd_as_far_as_both_are_known() -> None:
    old, new, unknown, none = (
        read_test_status({"results": {**RESULTS, **target}}).results
        for target in (
            {"target": {"sshdVersion": "OpenSSH_9.2"}},
            {"target": {"sshdVersion": "OpenSSH_10.0"}},
            {"target": {"accepted": 1}},
            {},
        )
    )
    assert other_login(old, new) == "the login is not the same: sshd is OpenSSH_9.2 here and OpenSSH_10.0 there"
    assert other_login(old, old) == other_login(old, unknown) == other_login(none, old) == other_login(old, none) == ""
