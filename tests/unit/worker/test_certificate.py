import subprocess
import time
from pathlib import Path

import pytest
from ssh_server import write_key
from sshload_contract.vocabulary import Outcome
from sshload_worker.login.certificate import UserCertificate, check_user_certificate, is_certificate
from sshload_worker.login.private_key import read_private_key
from sshload_worker.outcomes import GeneratorFaultError, StepFailure

pytestmark = pytest.mark.xdist_group("generated keys")  # made once per process
ROLE = "the target's certificate (id-cert.pub)"
VALID = ["-V", "20260101000000Z:20270101000000Z"]
DURING_UNIX_S = 1_780_000_000  # in May 2026
BEFORE_UNIX_S = 1_700_000_000
AFTER_UNIX_S = 1_800_000_000


def sign(ca: Path, key: Path, *options: str) -> bytes:
    command = ["ssh-keygen", "-q", "-s", ca, "-I", "somebody", "-n", "me", *options, key.with_suffix(".pub")]
    subprocess.run(command, check=True)
    return key.with_name(f"{key.name}-cert.pub").read_bytes()


def public_blob(key: Path) -> bytes:
    return read_private_key(key.read_bytes(), "", "a key").public_blob


def refusal(data: bytes, blob: bytes, now_unix_s: float = DURING_UNIX_S) -> str:
    with pytest.raises(GeneratorFaultError) as raised:
        check_user_certificate(data, blob, now_unix_s, ROLE)
    assert str(raised.value).startswith(ROLE)
    return str(raised.value)


@pytest.mark.parametrize(
    "kind",
    [("ed25519",), ("ecdsa", "-b", "256"), ("ecdsa", "-b", "384"), ("ecdsa", "-b", "521"), ("rsa",)],
    ids=" ".join,
)
@pytest.mark.parametrize("validity", [pytest.param(VALID, id="for a year"), pytest.param([], id="for ever")])
def test_a_certificate_of_the_key_is_good_while_it_is_valid(
    tmp_path: Path, kind: tuple[str, ...], validity: list[str]
) -> None:
    key = write_key(tmp_path / "id", *kind)
    data = sign(write_key(tmp_path / "ca"), key, *validity)
    check_user_certificate(data, public_blob(key), DURING_UNIX_S, ROLE)


def test_a_certificate_of_another_key_is_told(tmp_path: Path) -> None:
    data = sign(write_key(tmp_path / "ca"), write_key(tmp_path / "id"), *VALID)
    assert "belongs to another private key" in refusal(data, public_blob(write_key(tmp_path / "other")))


def test_a_certificate_out_of_its_time_is_told_with_the_instant(tmp_path: Path) -> None:
    key = write_key(tmp_path / "id")
    data = sign(write_key(tmp_path / "ca"), key, *VALID)
    blob = public_blob(key)
    assert "expired at 2027-01-01T00:00:00Z" in refusal(data, blob, AFTER_UNIX_S)
    assert "valid only from 2026-01-01T00:00:00Z" in refusal(data, blob, BEFORE_UNIX_S)


def test_a_certificate_is_valid_from_its_first_second_to_before_its_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Instants are those of UTC, wherever the worker runs."""
    key = write_key(tmp_path / "id")
    first_unix_s, last_unix_s = 1_767_225_600, 1_798_761_600
    line, blob = sign(write_key(tmp_path / "ca"), key, *VALID), public_blob(key)
    check_user_certificate(b" ".join(line.split()[:2]), blob, first_unix_s, ROLE)
    check_user_certificate(line, blob, last_unix_s - 0.5, ROLE)
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("TZ", "America/New_York")
        time.tzset()
        assert "expired at 2027-01-01T00:00:00Z" in refusal(line, blob, last_unix_s)
        assert "valid only from 2026-01-01T00:00:00Z" in refusal(line, blob, first_unix_s - 0.5)
    time.tzset()


def test_a_certificate_that_is_valid_from_a_year_on_that_no_calendar_has_is_told(tmp_path: Path) -> None:
    key = write_key(tmp_path / "id")
    line = sign(write_key(tmp_path / "ca"), key, "-V", "0x3afff44180:0xfffffffffffffffe")
    assert "is valid only from 9999-12-31T23:59:59Z on" in refusal(line, public_blob(key))


def test_a_certificate_with_a_letter_that_base64_has_not_is_none(tmp_path: Path) -> None:
    key = write_key(tmp_path / "id")
    kind, packed, *_ = sign(write_key(tmp_path / "ca"), key, *VALID).split()
    assert "is not a certificate" in refusal(kind + b" " + packed[:40] + b"!" + packed[40:], public_blob(key))


@pytest.mark.parametrize(
    ("blob", "claims"),
    [
        pytest.param(b"\x00\x00\x00\x20ssh-ed25519-cert-v01@openssh.com", True, id="a certificate"),
        pytest.param(b"\x00\x00\x00\x0bssh-ed25519", False, id="a key"),
        pytest.param(b"\x00\x00\x00\x20ssh", False, id="cut off"),
        pytest.param(b"\x00", False, id="nothing"),
        pytest.param(b"\x00\x00\x00\x40" + b"-cert-v01@openssh.com".rjust(64, b"x"), True, id="the longest type"),
        pytest.param(b"\x00\x00\x00\x41" + b"-cert-v01@openssh.com".rjust(65, b"x"), False, id="a longer one"),
    ],
)
def test_what_a_server_shows_claims_to_be_a_certificate_by_its_type(blob: bytes, *, claims: bool) -> None:
    assert is_certificate(blob) is claims


def test_a_hosts_certificate_is_told(tmp_path: Path) -> None:
    key = write_key(tmp_path / "id")
    data = sign(write_key(tmp_path / "ca"), key, *VALID, "-h")
    assert "is a host's certificate" in refusal(data, public_blob(key))


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"ssh-ed25519-cert-v01@openssh.com", id="one word"),
        pytest.param(b"ssh-ed25519-cert-v01@openssh.com !!!", id="no base64"),
        pytest.param(b"ssh-ed25519-cert-v01@openssh.com AAAA", id="too short"),
    ],
)
def test_what_is_no_certificate_is_told(data: bytes) -> None:
    assert "is not a certificate" in refusal(data, b"")


def test_a_public_key_is_no_certificate(tmp_path: Path) -> None:
    key = write_key(tmp_path / "id")
    assert "its type is 'ssh-ed25519'" in refusal(key.with_suffix(".pub").read_bytes(), public_blob(key))


REFUSED = StepFailure(Outcome.AUTH_REJECTED, "the server refused publickey")


def outside(behind_s: int, ahead_s: int) -> str:
    clock = f"a clock more than {behind_s} s behind this worker's or {ahead_s} s ahead of it"
    return f"; {clock} is outside its certificate's validity"


FOR_AN_HOUR = UserCertificate(b"", DURING_UNIX_S, DURING_UNIX_S + 3600)


@pytest.mark.parametrize(
    ("after_s", "outcome", "said"),
    [
        pytest.param(
            3600, Outcome.CERTIFICATE_EXPIRED, "; its certificate ended at 2026-05-28T21:26:40Z, 0 s ago", id="ended"
        ),
        pytest.param(
            3700.4, Outcome.CERTIFICATE_EXPIRED, "; its certificate ended at 2026-05-28T21:26:40Z, 100 s ago", id="past"
        ),
        pytest.param(3599, Outcome.AUTH_REJECTED, outside(3599, 1), id="soon over"),
        pytest.param(300, Outcome.AUTH_REJECTED, outside(300, 3300), id="just begun"),
        pytest.param(301, Outcome.AUTH_REJECTED, "", id="in the middle, so clocks are not the likely reason"),
    ],
)
def test_a_refused_certificate_is_explained_by_its_own_times_only(after_s: float, outcome: Outcome, said: str) -> None:
    """A server does not say why it refuses one: what its clock says is not known here."""
    explained = FOR_AN_HOUR.explain(REFUSED, DURING_UNIX_S + after_s)
    assert (explained.outcome, explained.message) == (outcome, f"the server refused publickey{said}")


def test_other_failures_have_nothing_to_do_with_a_certificate() -> None:
    failure = StepFailure(Outcome.DISCONNECTED, "the server closed the connection")
    assert FOR_AN_HOUR.explain(failure, DURING_UNIX_S + 7200) is failure
