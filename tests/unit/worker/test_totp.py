"""Codes of time, by the vectors of RFC 6238, and which of them a worker has sent."""

from dataclasses import replace
from functools import partial

import pytest
from sshload_contract.client import DEFAULT_TOTP, Totp, TotpAlgorithm
from sshload_worker.login import totp
from sshload_worker.login.totp import SecondFactor, code_of, read_secret
from sshload_worker.outcomes import GeneratorFaultError

SEEDS = {
    TotpAlgorithm.SHA1: b"12345678901234567890",
    TotpAlgorithm.SHA256: b"12345678901234567890123456789012",
    TotpAlgorithm.SHA512: b"1234567890123456789012345678901234567890123456789012345678901234",
}
"""Appendix B has these seeds in its program, by the length of each hash."""


@pytest.fixture(autouse=True)
def _nothing_was_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(totp, "_SENT", {})


@pytest.mark.parametrize(
    ("unix_s", "codes"),
    [
        (59, "94287082 46119246 90693936"),
        (1_111_111_109, "07081804 68084774 25091201"),
        (1_111_111_111, "14050471 67062674 99943326"),
        (1_234_567_890, "89005924 91819424 93441116"),
        (2_000_000_000, "69279037 90698825 38618901"),
        (20_000_000_000, "65353130 77737706 47863826"),
    ],
)
def test_codes_are_those_of_the_rfc(unix_s: int, codes: str) -> None:
    made = [code_of(SEEDS[name], Totp(name, 8, 30.0), unix_s // 30) for name in TotpAlgorithm]
    assert made == codes.split()


def test_a_code_has_as_many_digits_as_it_is_to_have() -> None:
    assert [code_of(SEEDS[TotpAlgorithm.SHA1], replace(DEFAULT_TOTP, digits=digits), 1) for digits in (6, 7, 8)] == [
        "287082",
        "4287082",
        "94287082",
    ]


def test_a_code_was_sent_before_only_by_the_same_user_in_the_same_step() -> None:
    one, other = (SecondFactor(secret * 20, DEFAULT_TOTP, now=lambda: 59.9) for secret in (b"a", b"b"))
    assert [factor.take()[1] for factor in (one, other, one)] == [False, False, True]
    later = replace(one, now=lambda: 60.0)
    assert later.take()[1] is False
    assert later.take()[1] is True


def test_what_a_worker_remembers_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(totp, "_MOST_REMEMBERED", 3)
    for step, secret in enumerate(b"abcdefgh"):
        at_s = 30.0 * step
        SecondFactor(bytes([secret]) * 20, DEFAULT_TOTP, now=partial(float, at_s)).take()
        assert len(totp._SENT) <= 4


def test_what_was_sent_in_this_step_is_not_forgotten_however_many_users_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(totp, "_MOST_REMEMBERED", 3)
    factors = [SecondFactor(bytes([secret]) * 20, DEFAULT_TOTP, now=lambda: 59.9) for secret in b"abcdefgh"]
    assert not any(factor.take()[1] for factor in factors)
    assert all(factor.take()[1] for factor in factors)


@pytest.mark.parametrize(
    "text", ["JBSWY3DPEHPK3PXP", "jbsw y3dp ehpk 3pxp", "JBSW-Y3DP-EHPK-3PXP\n", "JBSWY3DPEHPK3PXP===="]
)
def test_a_secret_is_read_as_authenticators_show_it(text: str) -> None:
    assert read_secret(text, "the secret") == b"Hello!\xde\xad\xbe\xef"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("not base32!", "is not base32", id="other characters"),
        pytest.param("JBSWY3DP1", "is not base32", id="a digit that is none"),
        pytest.param("é" * 16, "is not base32", id="not ASCII"),
        pytest.param("JBSWY3DP", "has 5 bytes, and a TOTP secret has at least 10", id="too short"),
        pytest.param("", "has 0 bytes", id="nothing"),
    ],
)
def test_what_is_no_secret_is_told_without_it(text: str, said: str) -> None:
    with pytest.raises(GeneratorFaultError, match=said) as found:
        read_secret(text, "the secret")
    assert not text or text not in str(found.value)


def test_a_secret_is_not_in_the_words_of_what_makes_codes() -> None:
    assert "Hello" not in repr(SecondFactor(b"Hello Hello Hello", DEFAULT_TOTP))
