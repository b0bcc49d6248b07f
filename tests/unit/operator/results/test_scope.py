"""Results say of what they are, where the reader's own server or client may differ."""

from dataclasses import replace
from typing import Any

import pytest
from plans import EXTERNAL, plan, quickstart
from runs import generator, load, retold, summary, target_stats
from sshload_contract.steal import MachineCpu
from sshload_contract.vocabulary import InPath, Verdict
from sshload_contract.wire.ldap import AccountCache, LdapFacts
from sshload_contract.wire.program import ProgramStats, ProgramUse
from sshload_contract.wire.report import Negotiated, NegotiatedCount
from sshload_contract.wire.run_summary import Paused
from sshload_operator.decision.load_test.results import results_status

MANAGED = quickstart()
OWN = quickstart(target={"external": EXTERNAL})
PAM = (
    "The target is an sshd without PAM (UsePAM no), for one user with one key: a login of your distribution with PAM"
    " costs more. It offers the key exchanges of its version's default list"
)
KEX = (
    "The key exchange was curve25519-sha256: OpenSSH's own clients ask for sntrup761x25519-sha512 since 9.0, and for"
    " mlkem768x25519-sha256 since 10.0"
)
BANNER = "From OpenSSH 10.3 on, banner includes the start of sshd-auth: compare login with earlier releases, not banner"


def scope(
    spec: dict[str, Any],
    kex: str = "curve25519-sha256",
    version: str = "SSH-2.0-OpenSSH_10.2p1 Debian-1",
    better_kex: str | None = None,
) -> list[str]:
    agreed = Negotiated(kex=kex, cipher="c", mac="m", host_key="ssh-ed25519", server_version=version)
    found = retold(summary(600), negotiated=(NegotiatedCount(agreed, 600),))
    found = replace(found, better_kex=better_kex)
    return list(results_status(plan(spec), found, Verdict.PASSED).scope)


def on_machine(used_s: float, *, cpus: int = 2, stolen_s: float = 0.0, proxy_s: float = 0.0) -> list[str]:
    """Return what is said of a run of 100 s on a machine whose CPUs were used so long, 30 s of it by the run itself."""
    idle_s = cpus * 100.0 - used_s
    before = target_stats(0, cpu_s=0.0, machine_cpu=MachineCpu(1_000.0, 0.0, 400.0, cpus))
    after = target_stats(700, cpu_s=20.0, machine_cpu=MachineCpu(1_000.0 + cpus * 100, stolen_s, 400.0 + idle_s, cpus))
    proxy = ProgramUse(ProgramStats(0.0, 0.0, 0), ProgramStats(proxy_s, 0.0, 0))
    found = summary(600, target_before=before, target_after=after, generator=generator(cpu_s=10.0))
    found = replace(found, in_path={InPath.PROXY: proxy})
    return [told for told in results_status(plan(MANAGED), found, Verdict.PASSED).scope if "Others" in told]


def test_a_machine_that_others_keep_busy_is_told_first() -> None:
    assert on_machine(190.0) == [
        (
            "Others used 80% of the 2 CPUs of the target's machine while it was measured: on an idle machine its"
            " latencies may be shorter, and its capacity larger"
        )
    ]
    assert "of the CPU of the target's machine" in on_machine(90.0, cpus=1)[0]


@pytest.mark.parametrize("used_s", [30.0, 79.0])
def test_a_machine_that_is_the_runs_own_or_nearly_so_needs_no_word(used_s: float) -> None:
    assert on_machine(used_s) == []


def test_what_was_stolen_and_what_is_in_the_path_used_is_not_others_use() -> None:
    assert on_machine(90.0)
    assert on_machine(90.0, stolen_s=20.0) == on_machine(90.0, proxy_s=20.0) == []


def test_a_managed_target_is_told_as_what_it_is() -> None:
    assert scope(MANAGED) == [PAM, KEX]
    assert scope(OWN) == [KEX]


def of_server(**facts: Any) -> list[str]:
    found = summary(600, target_before=target_stats(0), target_after=target_stats(700, **facts))
    return [told for told in results_status(plan(MANAGED), found, Verdict.PASSED).scope if " ran " in told]


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        (
            {"as_root": True, "pam": True, "accounts": "sss", "distribution": "Debian GNU/Linux 13 (trixie)"},
            ["OpenSSH_10.0p1 ran as root, with PAM, accounts from sss, on Debian GNU/Linux 13 (trixie)"],
        ),
        ({"as_root": False, "pam": False}, ["OpenSSH_10.0p1 ran without root, without PAM"]),
        ({}, []),
    ],
    ids=["a system", "a small sshd", "an image that does not say"],
)
def test_a_managed_target_says_itself_as_what_it_ran(facts: dict[str, Any], told: list[str]) -> None:
    assert of_server(**facts) == told


def test_words_of_a_target_are_cut_to_what_a_status_holds() -> None:
    (told,) = of_server(as_root=True, pam=True, accounts="x" * 1000, distribution="y" * 1000, sshd_version="z" * 1000)
    assert len(told) <= 300


def test_a_managed_target_with_accounts_is_told_as_what_it_is() -> None:
    assert scope(quickstart(target={"managed": {"system": {}}}))[0].startswith("The target is an sshd as root with PAM")


@pytest.mark.parametrize("more", [{}, {"ldap": {}}])
def test_a_second_factor_of_a_managed_target_is_told(more: dict[str, Any]) -> None:
    spec = quickstart(
        target={"managed": {"system": {"users": 5, "secondFactor": "totp", **more}}},
        client={"prompts": [{"match": "password", "answer": "totp"}]},
    )
    told = scope(spec)[0]
    assert ". After the key, PAM asks for a code (pam_oath). It offers" in told
    assert len(told) <= 300


def test_a_managed_target_with_key_exchanges_of_the_spec_is_told_as_such() -> None:
    own = quickstart(target={"managed": {"sshd": {"kexAlgorithms": ["curve25519-sha256"]}}})
    assert scope(own)[0].endswith("It offers the key exchanges of spec.target.managed.sshd.kexAlgorithms")


def test_what_the_server_would_rather_have_done_is_told_in_place_of_what_openssh_asks_for() -> None:
    assert scope(OWN, better_kex="mlkem768x25519-sha256, sntrup761x25519-sha512") == [
        (
            "The key exchange was curve25519-sha256. The server has others that it or OpenSSH's own clients prefer, and"
            " that ssh2-python did not ask for: mlkem768x25519-sha256, sntrup761x25519-sha512"
        )
    ]
    assert scope(OWN, better_kex="") == []  # this server has nothing that another client would have done
    hybrid = "mlkem768x25519-sha256"
    assert scope(OWN, hybrid, "SSH-2.0-OpenSSH_10.6", better_kex="sntrup761x25519-sha512") == [BANNER]


@pytest.mark.parametrize(
    "kex", ["sntrup761x25519-sha512@openssh.com", "sntrup761x25519-sha512", "mlkem768x25519-sha256"]
)
def test_a_key_exchange_that_openssh_asks_for_needs_no_word(kex: str) -> None:
    assert scope(OWN, kex) == []


@pytest.mark.parametrize(
    ("version", "told"),
    [
        ("SSH-2.0-OpenSSH_10.3p1", True),
        ("SSH-2.0-OpenSSH_11.0", True),
        ("SSH-2.0-OpenSSH_10.2p1", False),
        ("SSH-2.0-OpenSSH_9.9", False),
        ("SSH-2.0-dropbear_2025.88", False),
        ("", False),
    ],
)
def test_banners_of_sshd_auth_are_told_as_no_measure_beside_earlier_ones(version: str, told: bool) -> None:  # noqa: FBT001
    assert (BANNER in scope(OWN, version=version)) is told


def test_a_key_exchange_that_is_not_known_needs_no_word() -> None:
    assert scope(OWN, kex="") == []


def test_without_a_handshake_nothing_is_said_of_it() -> None:
    assert list(results_status(plan(OWN), retold(summary(600), negotiated=()), Verdict.PASSED).scope) == []


def test_a_run_without_a_load_has_nothing_to_compare() -> None:
    nothing = summary(0, steps=(), load=load(0))
    assert list(results_status(plan(MANAGED), nothing, Verdict.ERROR).scope) == []


def test_a_long_name_from_a_server_fits() -> None:
    assert all(len(one) <= 300 for one in scope(MANAGED, kex="x" * 5_000))
    assert all(len(one) <= 300 for one in scope(MANAGED, kex="x" * 5_000, better_kex="y" * 5_000))


@pytest.mark.parametrize("other", [{"kex": "ecdh-sha2-nistp256"}, {"server_version": "SSH-2.0-other"}])
def test_what_one_of_several_servers_would_rather_have_done_is_not_told_of_the_other(other: dict[str, str]) -> None:
    most = Negotiated(kex="curve25519-sha256", cipher="c", mac="m", host_key="ssh-ed25519", server_version="SSH-2.0-x")
    counted = (NegotiatedCount(most, 590), NegotiatedCount(replace(most, **other), 10))
    found = replace(retold(summary(600), negotiated=counted), better_kex="mlkem768x25519-sha256")
    assert list(results_status(plan(OWN), found, Verdict.PASSED).scope) == [KEX]


LDAP = quickstart(
    target={"managed": {"system": {"ldap": {"cache": "cold", "pause": {"after": "3s", "for": "2s"}}}}},
)


@pytest.mark.parametrize(
    ("paused", "told"),
    [
        (None, "slapd was to be stopped 3 s after the start of the load, and was not: the master's log says why"),
        (Paused(3.04, 5.0), "slapd was stopped from 3.0 to 5.0 s after the start of the load"),
    ],
)
def test_a_pause_is_told_and_so_is_one_that_did_not_come(paused: Paused | None, told: str) -> None:
    found = retold(summary(600), paused=paused)
    assert told in results_status(plan(LDAP), found, Verdict.PASSED).scope


def test_who_answers_for_accounts_is_told_with_what_is_behind_it() -> None:
    facts = LdapFacts(cache=AccountCache.WARM, slapd_version="2.6.10", sssd_version="2.10.1")
    (told,) = of_server(as_root=True, pam=True, accounts="sss", ldap=facts)
    assert "accounts from sss (LDAP, warm cache, sssd 2.10.1, slapd 2.6.10)" in told


def test_a_directory_is_named_with_what_takes_no_part() -> None:
    (found,) = [one for one in scope(LDAP) if "sssd answers" in one]
    assert "from slapd on the same machine. No network" in found
    assert "without PAM" not in found


def test_the_cpu_of_a_directory_is_told_by_login_and_not_where_it_was_restarted() -> None:
    def told(before_s: float, after_s: float) -> Any:
        facts = LdapFacts(cache=AccountCache.COLD, slapd_version="2.6.10", sssd_version="2.10.1")
        before, after = (
            target_stats(accepted, ldap=replace(facts, cpu_s=cpu_s))
            for accepted, cpu_s in ((0, before_s), (700, after_s))
        )
        found = summary(600, target_before=before, target_after=after)
        found = retold(found, paused=Paused(3.04, 5.0))
        target = results_status(plan(LDAP), found, Verdict.PASSED).target
        assert target is not None
        assert target.directory is not None
        assert (target.directory.paused_from_seconds, target.directory.paused_to_seconds) == (3.04, 5.0)
        return target.directory.cpu_seconds, target.directory_cpu_per_login_ms

    assert told(1.0, 8.0) == (7.0, 10.0)
    assert told(8.0, 1.0) == (None, None)
