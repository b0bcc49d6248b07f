"""The settings of Kerberos that a worker makes of a test, and what its failures are told as."""

import os
from pathlib import Path

import pytest
from sshload_contract.kerberos import Kdc, Kerberos, Realm
from sshload_contract.vocabulary import Outcome
from sshload_worker.login.tickets import Tickets, by_keytab, config_path, kerberos_failure, use_realms
from sshload_worker.outcomes import GeneratorFaultError

REALMS = Kerberos(
    (
        Realm("EXAMPLE.COM", (Kdc("kdc.example.com", 88), Kdc("2001:db8::1", 8888)), ()),
        Realm("OTHER.ORG", (Kdc("kdc.other.org", 88),), (".other.org", "b.example.com")),
    ),
    fresh_tickets=False,
)
ADDRESSES = {
    ("kdc.example.com", 88): ["192.0.2.1", "192.0.2.2"],
    ("2001:db8::1", 8888): ["2001:db8::1"],
    ("kdc.other.org", 88): ["198.51.100.7"],
}

EXPECTED = """
EXAMPLE.COM = { kdc = 192.0.2.1:88 kdc = 192.0.2.2:88 kdc = [2001:db8::1]:8888 }
OTHER.ORG = { kdc = 198.51.100.7:88 }
[domain_realm] .other.org = OTHER.ORG b.example.com = OTHER.ORG
"""


def test_kerberos_knows_the_realms_of_the_test_and_the_addresses_that_were_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KRB5_CLIENT_KTNAME", "/etc/of/the/user")
    monkeypatch.setenv("KRB5_CONFIG", "/etc/krb5.conf")
    use_realms(REALMS, ADDRESSES)
    text = Path(config_path()).read_text(encoding="ascii")
    assert text.partition("[realms]")[2].split() == EXPECTED.split()
    settings = dict(line.split(" = ") for line in text.partition("[realms]")[0].splitlines()[1:])
    assert settings.pop("default_realm") == "EXAMPLE.COM"
    assert settings.pop("udp_preference_limit") == "1"
    assert settings.pop("qualify_shortname") == '""'
    assert set(settings.values()) == {"false"}
    assert [name for name in os.environ if name.startswith("KRB5")] == ["KRB5_CONFIG"]
    assert Path(config_path()).parent.stat().st_mode & 0o77 == 0


@pytest.mark.parametrize(
    ("words", "outcome"),
    [
        ("Cannot contact any KDC for realm 'EXAMPLE.COM'", Outcome.KDC_UNREACHABLE),
        ('Cannot find KDC for realm "OTHER.ORG"', Outcome.KDC_UNREACHABLE),
        ("Client 'a@EXAMPLE.COM' not found in Kerberos database", Outcome.NO_TICKET),
        ("KDC has no support for encryption type", Outcome.NO_TICKET),
    ],
)
def test_only_a_kdc_that_does_not_answer_is_unreachable(words: str, outcome: Outcome) -> None:
    failure = kerberos_failure(words)
    assert (failure.outcome, failure.message) == (outcome, words)


@pytest.mark.parametrize(
    ("fresh", "words", "outcome"),
    [
        (False, "Server host/a@B not found in Kerberos database", Outcome.AUTH_REJECTED),
        (True, "Server host/a@B not found in Kerberos database", Outcome.NO_TICKET),
        (True, "Clock skew too great", Outcome.AUTH_REJECTED),
        (False, "Cannot contact any KDC for realm 'B'", Outcome.KDC_UNREACHABLE),
    ],
)
def test_what_is_said_within_a_login_is_of_the_server_unless_the_login_asked_a_kdc(
    *, fresh: bool, words: str, outcome: Outcome
) -> None:
    tickets = Tickets("a", lambda _: 0, fresh=fresh)
    assert tickets.refusal(words).outcome is outcome


def test_a_file_that_is_no_keytab_is_named() -> None:
    with pytest.raises(GeneratorFaultError, match="the target's keytab is no keytab"):
        by_keytab(b"", "probe", "the target's keytab")
