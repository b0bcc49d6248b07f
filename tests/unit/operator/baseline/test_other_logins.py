"""What a run's scope says of a baseline whose logins agreed on something else, or reached another server."""

from dataclasses import replace
from typing import Any

import pytest
from baselines import LAST_PASSED, asked, finished, run_to_end, seen, slower
from crd_schema import problems, status_schema
from runs import retold, target_stats
from sshload_contract.steal import MachineCpu
from sshload_contract.wire.report import Negotiated, NegotiatedCount
from sshload_contract.wire.run_summary import RunSummary

AS_TODAY = Negotiated(
    "mlkem768x25519-sha256", "aes256-gcm@openssh.com", "implicit", "ssh-ed25519", "SSH-2.0-OpenSSH_10.0"
)
IN_THE_BASELINE = "Beside the baseline before, the login is not the same: "


def logins(*agreed: Negotiated) -> RunSummary:
    """Return the summary of a run whose logins agreed on these, the first the most frequent."""
    counted = tuple(NegotiatedCount(one, 100 - number) for number, one in enumerate(agreed))
    return slower(1.0, negotiated=counted)


def scope(ours: RunSummary, *before: dict[str, Any], spec: Any = None) -> list[str]:
    passes = run_to_end(asked() if spec is None else spec, ours, seen(*before))
    assert passes.said() == ("Passed", "ThresholdsMet")
    told: list[str] = passes.status["results"].get("scope", [])
    return [one for one in told if "the login is not the same" in one]


@pytest.mark.parametrize(
    ("field", "was", "told"),
    [
        (
            "kex",
            "curve25519-sha256",
            "the key exchange is mlkem768x25519-sha256 here and curve25519-sha256 there",
        ),
        (
            "cipher",
            "chacha20-poly1305@openssh.com",
            "the cipher is aes256-gcm@openssh.com here and chacha20-poly1305@openssh.com there",
        ),
        ("mac", "hmac-sha2-256", "the MAC is implicit here and hmac-sha2-256 there"),
        ("host_key", "rsa-sha2-512", "the host key is ssh-ed25519 here and rsa-sha2-512 there"),
        (
            "server_version",
            "SSH-2.0-OpenSSH_9.2",
            "the server is SSH-2.0-OpenSSH_10.0 here and SSH-2.0-OpenSSH_9.2 there",
        ),
    ],
)
def test_whatever_was_negotiated_otherwise_is_told_in_one_sentence(field: str, was: str, told: str) -> None:
    before = finished(logins(replace(AS_TODAY, **{field: was})))
    assert scope(logins(AS_TODAY), before) == [IN_THE_BASELINE + told]


def test_all_that_differs_is_told_at_once() -> None:
    before = finished(logins(replace(AS_TODAY, kex="curve25519-sha256", host_key="rsa-sha2-512")))
    assert scope(logins(AS_TODAY), before) == [
        (
            f"{IN_THE_BASELINE}the key exchange is mlkem768x25519-sha256 here and curve25519-sha256 there,"
            " the host key is ssh-ed25519 here and rsa-sha2-512 there"
        )
    ]


def test_of_the_same_logins_nothing_is_told() -> None:
    assert scope(logins(AS_TODAY), finished(logins(AS_TODAY))) == []


@pytest.mark.parametrize(
    ("before_the_standard", "name"),
    [
        ("curve25519-sha256@libssh.org", "curve25519-sha256"),
        ("sntrup761x25519-sha512@openssh.com", "sntrup761x25519-sha512"),
    ],
)
def test_two_names_of_one_key_exchange_are_no_difference(before_the_standard: str, name: str) -> None:
    old, new = (logins(replace(AS_TODAY, kex=kex)) for kex in (before_the_standard, name))
    assert scope(old, finished(new)) == scope(new, finished(old)) == []


def test_where_one_of_the_two_does_not_tell_nothing_is_told() -> None:
    assert scope(logins(AS_TODAY), finished(logins())) == scope(logins(), finished(logins(AS_TODAY))) == []


def test_logins_of_two_kinds_are_other_logins_than_those_of_one() -> None:
    mixed = logins(AS_TODAY, replace(AS_TODAY, kex="curve25519-sha256"))
    assert scope(mixed, finished(logins(AS_TODAY))) == [
        (
            f"{IN_THE_BASELINE}the key exchange is mlkem768x25519-sha256 or curve25519-sha256 here and"
            " mlkem768x25519-sha256 there"
        )
    ]


def test_logins_of_the_same_two_kinds_are_the_same_whichever_were_more() -> None:
    other = replace(AS_TODAY, kex="curve25519-sha256")
    assert scope(logins(AS_TODAY, other), finished(logins(other, AS_TODAY))) == []


def test_the_oldest_baseline_of_a_schedule_is_told_too() -> None:
    of_schedule = asked(baseline=LAST_PASSED)
    first = finished(logins(replace(AS_TODAY, kex="curve25519-sha256")), name="first")
    last = finished(logins(AS_TODAY), name="last")
    last["status"]["completionTime"] = "2026-11-21T11:30:00Z"
    assert scope(logins(AS_TODAY), first, last, spec=of_schedule) == [
        (
            "Beside the baseline first, the login is not the same: the key exchange is mlkem768x25519-sha256 here and"
            " curve25519-sha256 there"
        )
    ]


def test_of_two_baselines_whose_logins_were_others_the_last_one_is_told() -> None:
    first = finished(logins(replace(AS_TODAY, kex="curve25519-sha256")), name="first")
    last = finished(logins(replace(AS_TODAY, cipher="aes128-ctr")), name="last")
    last["status"]["completionTime"] = "2026-11-21T11:30:00Z"
    assert scope(logins(AS_TODAY), first, last, spec=asked(baseline=LAST_PASSED)) == [
        (
            "Beside the baseline last, the login is not the same: the cipher is aes256-gcm@openssh.com here and"
            " aes128-ctr there"
        )
    ]


def test_the_sshd_that_runs_is_told_only_where_no_login_tells_the_server() -> None:
    ours, before = (
        (target_stats(0, sshd_version=version), target_stats(700, sshd_version=version))
        for version in ("OpenSSH_10.0", "OpenSSH_9.2")
    )
    found = retold(logins(AS_TODAY), target_before=ours[0], target_after=ours[1])
    earlier = retold(logins(AS_TODAY), target_before=before[0], target_after=before[1])
    assert scope(found, finished(earlier)) == []
    assert scope(retold(found, negotiated=()), finished(retold(earlier, negotiated=()))) == [
        f"{IN_THE_BASELINE}sshd is OpenSSH_10.0 here and OpenSSH_9.2 there"
    ]


def test_all_that_a_scope_can_say_fits_in_a_status_the_baseline_first() -> None:
    idle, busy = MachineCpu(1_000.0, 0.0, 400.0, 2), MachineCpu(1_200.0, 0.0, 410.0, 2)
    found = retold(
        logins(replace(AS_TODAY, kex="curve25519-sha256", server_version="SSH-2.0-OpenSSH_10.3")),
        target_before=target_stats(0, machine_cpu=idle),
        target_after=target_stats(700, machine_cpu=busy),
    )
    passes = run_to_end(asked(), found, seen(finished(logins(AS_TODAY))))
    told = passes.status["results"]["scope"]
    assert [one.split()[0] for one in told] == ["Beside", "Others", "The", "The", "From"]
    assert list(problems(passes.status, status_schema())) == []


def test_names_of_any_length_leave_a_sentence_that_the_crd_takes() -> None:
    before = finished(logins(replace(AS_TODAY, kex="x" * 5_000, cipher="y" * 5_000)))
    (told,) = scope(logins(AS_TODAY), before)
    assert len(told) <= 300
