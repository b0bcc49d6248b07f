"""Who may take a Lease, and when: by what was seen of it, and for how long."""

import pytest
from sshload_operator.decision.lease import LONGEST_S, FoundLease, ObservedLease, Take, WaitFor, lease_step, seen

ME, OTHER = "sshload-system/operator-a", "sshload-system/operator-b"
NOW_S = 1_000.0


def lease(holder: str, duration_s: float = 30.0, version: str = "7") -> FoundLease:
    return FoundLease(holder, duration_s, version)


def test_where_there_is_no_lease_it_may_be_made() -> None:
    assert lease_step(None, NOW_S, ME) == Take("")


@pytest.mark.parametrize("holder", ["", ME])
def test_a_lease_of_nobody_and_ones_own_of_before_may_be_taken_at_once(holder: str) -> None:
    assert lease_step(ObservedLease(lease(holder), NOW_S), NOW_S, ME) == Take("7")


@pytest.mark.parametrize("for_s", [0.0, 10.0, 29.0])
def test_the_lease_of_another_is_waited_for_until_it_has_not_changed_for_its_duration(for_s: float) -> None:
    assert lease_step(ObservedLease(lease(OTHER), NOW_S - for_s), NOW_S, ME) == WaitFor(OTHER, 30.0 - for_s)
    assert lease_step(ObservedLease(lease(OTHER), NOW_S - 30.0), NOW_S, ME) == Take("7")


def test_a_lease_that_claims_a_long_duration_is_believed_for_a_minute() -> None:
    claimed = lease(OTHER, duration_s=1e9)
    assert lease_step(ObservedLease(claimed, NOW_S), NOW_S, ME) == WaitFor(OTHER, LONGEST_S)
    assert lease_step(ObservedLease(claimed, NOW_S - LONGEST_S), NOW_S, ME) == Take("7")


def test_a_lease_without_a_duration_may_be_taken() -> None:
    assert lease_step(ObservedLease(lease(OTHER, duration_s=0), NOW_S), NOW_S, ME) == Take("7")


def test_a_version_counts_from_its_first_sight_and_a_new_one_from_now() -> None:
    first = seen(None, lease(OTHER), NOW_S)
    assert first == ObservedLease(lease(OTHER), NOW_S)
    assert seen(first, lease(OTHER), NOW_S + 5) == first
    renewed = lease(OTHER, version="8")
    assert seen(first, renewed, NOW_S + 5) == ObservedLease(renewed, NOW_S + 5)
    assert seen(first, None, NOW_S + 5) is None
