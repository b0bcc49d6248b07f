"""The workers' certificate authority: what it signs, as ssh-keygen reads it, and when it signs anew."""

import subprocess
from base64 import b64decode
from dataclasses import replace
from pathlib import Path

import gevent
import pytest
from ssh_server import write_key
from sshload_contract.client import Certificates
from sshload_worker.login.certificate import CertificateFields, UserCertificate, read_certificate_fields
from sshload_worker.login.issuer import Issuer
from sshload_worker.login.private_key import read_private_key

pytestmark = pytest.mark.xdist_group("generated keys")  # made once per process
NOON_UNIX_S = 1_780_000_000
EXTENSIONS = ("permit-pty", "permit-X11-forwarding")
HOURLY = Certificates(
    lifetime_s=3600.0,
    renew=True,
    renew_before_s=600.0,
    backdate_s=60.0,
    principals=("{user}",),
    extensions=EXTENSIONS,
)


class Clock:
    """A time of day that a test sets."""

    def __init__(self) -> None:
        self.now_s = float(NOON_UNIX_S)

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


def issuer_by(folder: Path, clock: Clock, asked: Certificates = HOURLY, kind: str = "ed25519") -> Issuer:
    key = write_key(folder / "ca", kind)
    return Issuer(read_private_key(key.read_bytes(), "", "the CA"), asked, clock)


def public_line(folder: Path, name: str = "id", kind: str = "ed25519") -> bytes:
    return write_key(folder / name, kind).with_suffix(".pub").read_bytes()


def fields(certificate: UserCertificate) -> CertificateFields:
    return read_certificate_fields(b64decode(certificate.line.split()[1]))


def as_listed(folder: Path, certificate: UserCertificate) -> str:
    path = folder / "listed"
    path.write_bytes(certificate.line)
    command = ["ssh-keygen", "-L", "-f", path]
    done = subprocess.run(command, env={"TZ": "UTC", "PATH": "/usr/bin"}, check=True, capture_output=True, text=True)
    return done.stdout


@pytest.mark.parametrize("kind", ["ed25519", "ecdsa", "rsa"])
@pytest.mark.parametrize("by", ["ed25519", "ecdsa", "rsa"])
def test_a_certificate_is_what_ssh_keygen_would_sign_for_the_user(
    tmp_path: Path, clock: Clock, kind: str, by: str
) -> None:
    key = public_line(tmp_path, kind=kind)
    signed = issuer_by(tmp_path, clock, kind=by).certificate_of("ada", key)
    listed = as_listed(tmp_path, signed)
    assert 'Key ID: "ada"' in listed
    assert "Valid: from 2026-05-28T20:25:40 to 2026-05-28T21:26:40" in listed
    assert listed.split("Principals:")[1].split("Critical Options:")[0].split() == ["ada"]
    assert listed.split("Extensions:")[1].split() == sorted(EXTENSIONS)
    assert f"Serial: {fields(signed).serial}" in listed
    assert "user certificate" in listed
    assert (signed.valid_after_unix_s, signed.valid_before_unix_s) == (NOON_UNIX_S - 60, NOON_UNIX_S + 3600)
    assert b" ".join(key.split()[:2]).split()[1] != signed.line.split()[1]


def test_principals_may_have_the_user_in_them(tmp_path: Path, clock: Clock) -> None:
    asked = replace(HOURLY, principals=("everybody", "team-{user}"))
    signed = issuer_by(tmp_path, clock, asked).certificate_of("ada", public_line(tmp_path))
    assert fields(signed).principals == ("everybody", "team-ada")


def test_a_certificate_is_renewed_when_it_has_so_long_left_and_never_before(tmp_path: Path, clock: Clock) -> None:
    issuer, key = issuer_by(tmp_path, clock), public_line(tmp_path)
    issuer.sign_ahead([("ada", key)])
    first = issuer.certificate_of("ada", key)
    clock.now_s += 2999.0
    assert 0 < issuer.renew_due() <= 1.0
    assert issuer.certificate_of("ada", key) is first
    clock.now_s += 1.0
    issuer.renew_due()
    second = issuer.certificate_of("ada", key)
    assert fields(second).serial == fields(first).serial + 1
    assert second.valid_before_unix_s == NOON_UNIX_S + 3000 + 3600
    assert issuer.renew_due() > 0
    clock.now_s += 3000.0
    issuer.renew_due()
    assert issuer.certificate_of("ada", key).valid_before_unix_s == NOON_UNIX_S + 6000 + 3600


def test_without_a_time_for_it_a_certificate_is_renewed_when_a_third_of_its_life_is_left() -> None:
    assert replace(HOURLY, renew_before_s=None).renewed_after_s == pytest.approx(2400)


def test_the_renewals_of_many_users_are_spread_over_a_lifetime(tmp_path: Path, clock: Clock) -> None:
    """Else a worker would stop its load for as long as all signatures take."""
    issuer, key = issuer_by(tmp_path, clock), public_line(tmp_path)
    users = [f"user{number}" for number in range(10)]
    issuer.sign_ahead((user, key) for user in users)
    firsts = {user: issuer.certificate_of(user, key) for user in users}
    renewed = []
    for _ in range(10):
        clock.now_s += 300.0
        while not issuer.renew_due():
            pass
        renewed.append(sum(issuer.certificate_of(user, key) is not firsts[user] for user in users))
    assert renewed == list(range(1, 11))
    serials = {fields(issuer.certificate_of(user, key)).serial for user in users}
    assert len(serials) == len(users)


def test_a_user_who_comes_later_is_renewed_in_turn(tmp_path: Path, clock: Clock) -> None:
    issuer, key = issuer_by(tmp_path, clock), public_line(tmp_path)
    issuer.sign_ahead([("ada", key)])
    clock.now_s += 1000.0
    first = issuer.certificate_of("bob", key)
    clock.now_s += 2000.0
    issuer.renew_due()
    assert issuer.certificate_of("bob", key) is first
    clock.now_s += 1000.0
    issuer.renew_due()
    assert issuer.certificate_of("bob", key) is not first


def test_what_is_not_renewed_is_signed_when_a_load_begins_and_then_no_more(tmp_path: Path, clock: Clock) -> None:
    issuer, key = issuer_by(tmp_path, clock, replace(HOURLY, renew=False, renew_before_s=None)), public_line(tmp_path)
    issuer.sign_ahead([("ada", key)])
    clock.now_s += 100.0
    issuer.begin()
    signed = issuer.certificate_of("ada", key)
    assert signed.valid_before_unix_s == NOON_UNIX_S + 100 + 3600
    clock.now_s += 7200.0
    assert issuer.certificate_of("ada", key) is signed


def test_what_is_renewed_is_not_signed_anew_by_each_load_that_begins(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[object] = []
    monkeypatch.setattr(gevent, "spawn", lambda renew: begun.append(renew) or renew)
    issuer, key = issuer_by(tmp_path, clock), public_line(tmp_path)
    issuer.sign_ahead([("ada", key)])
    first = issuer.certificate_of("ada", key)
    for _ in range(2):
        issuer.begin()
    assert issuer.certificate_of("ada", key) is first
    assert len(begun) == 1, "one greenlet renews them"


def test_no_two_workers_have_a_serial_in_common(tmp_path: Path, clock: Clock) -> None:
    key = public_line(tmp_path)
    serials = [fields(issuer_by(tmp_path, clock).certificate_of("ada", key)).serial for _ in range(2)]
    assert serials[0] >> 32 != serials[1] >> 32
    assert [serial & 0xFFFFFFFF for serial in serials] == [1, 1]


def test_the_authority_s_key_shows_nowhere(tmp_path: Path, clock: Clock) -> None:
    issuer = issuer_by(tmp_path, clock)
    secret = (tmp_path / "ca").read_text().splitlines()[3]
    assert secret not in f"{vars(issuer)}"
