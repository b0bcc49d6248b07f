"""Certificates that the worker signs for its users, by every client library: sshd's log says which one came."""

import re
from base64 import b64decode
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic, time

import gevent
import pytest
from client_kinds import SSH2_PYTHON, Kind, each_by
from run_configs import arrivals, endpoint, run_config
from ssh_server import SshServer, write_key
from sshload_contract.client import Auth, Certificates
from sshload_contract.vocabulary import Outcome
from sshload_contract.wire.report import LoginFailure
from sshload_worker.login import login as login_module
from sshload_worker.login.certificate import read_certificate_fields
from sshload_worker.login.issuer import Issuer
from sshload_worker.login.login import Login
from sshload_worker.login.private_key import read_private_key
from sshload_worker.scenario.first_login import log_in_once
from sshload_worker.scenario.target_login import prepare_login, resolve

HOURLY = Certificates(
    lifetime_s=3600.0, renew=True, renew_before_s=None, backdate_s=60.0, principals=("{user}",), extensions=()
)
EACH_SECOND = replace(HOURLY, lifetime_s=6.0, renew_before_s=5.0)
LIMIT_S = 300.0
each_by_certificate = each_by(Auth.CERTIFICATE)


@dataclass
class Certified:
    """A server that takes an authority's certificates, and a worker's Login with that authority."""

    server: SshServer
    login: Login
    authority: Path

    def log_in(self) -> LoginFailure | None:
        """Log in once, as before a load; return why this failed, or None."""
        assert self.login.address is not None
        return log_in_once(0, self.login, (self.login.address,), lambda _: None)

    def signed(self) -> tuple[str, str]:
        """Return key id and serial of the certificate that the next login has."""
        found = self.login.in_turn(0).credentials.certificate_line
        fields = read_certificate_fields(b64decode(found.split()[1]))
        return fields.key_id, str(fields.serial)

    def accepted(self) -> list[tuple[str, str]]:
        """Return key id and serial of each certificate with which sshd says that somebody logged in."""
        return re.findall(
            r"^Accepted publickey for .* ssh2: ED25519-CERT \S+ ID (\S+) \(serial (\d+)\) CA ED25519",
            self.server.log,
            re.MULTILINE,
        )

    def signing_at(self, asked: Certificates, now: Callable[[], float]) -> "Certified":
        """Return the same with certificates that are signed at another time of day."""
        key = read_private_key(self.authority.read_bytes(), "", "the CA")
        return replace(self, login=replace(self.login, issuer=Issuer(key, asked, now)))


@pytest.fixture
def certified(start_sshd: Callable[[str], SshServer], tmp_path: Path) -> Callable[[Kind, Certificates], Certified]:
    """Return a function that starts a server which takes nothing but certificates of an authority."""

    def start(kind: Kind, asked: Certificates) -> Certified:
        authority = write_key(tmp_path / "user_ca")
        server = start_sshd(f"LogLevel VERBOSE\nTrustedUserCAKeys {authority}.pub\nAuthorizedKeysFile none")
        target = replace(endpoint(server), auth=Auth.CERTIFICATE, user_ca_path=str(authority))
        config = replace(run_config(target, arrivals(1, 1)), client=replace(kind.client(), certificates=asked))
        return Certified(server, prepare_login(config, resolve(target, pytest.fail)), authority)

    return start


@each_by_certificate
def test_each_login_has_the_certificate_that_the_worker_signed_last_and_sshd_names_the_same_serials(
    certified: Callable[[Kind, Certificates], Certified], kind: Kind, auth: Auth
) -> None:
    assert auth is Auth.CERTIFICATE
    here = certified(kind, EACH_SECOND)
    here.login.begin()
    signed: list[tuple[str, str]] = []
    deadline_s = monotonic() + LIMIT_S
    while len(set(signed)) < 3:
        assert monotonic() < deadline_s
        before = here.signed()
        assert here.log_in() is None
        after = here.signed()
        here.server.await_log(rf"^Accepted .* \(serial ({before[1]}|{after[1]})\)")
        if before == after:
            assert here.accepted()[-1] == before
            signed.append(before)
        gevent.sleep(0.1)
    assert {key_id for key_id, _ in here.accepted()} == {here.login.user}
    serials = sorted({int(serial) for _, serial in here.accepted()})
    assert serials == list(range(serials[0], serials[-1] + 1))


@each_by_certificate
def test_a_login_with_a_certificate_that_has_ended_is_told_with_the_certificate_s_own_time(
    certified: Callable[[Kind, Certificates], Certified], kind: Kind, auth: Auth
) -> None:
    assert auth is Auth.CERTIFICATE
    ended = certified(kind, HOURLY).signing_at(HOURLY, lambda: time() - 3700)
    failure = ended.log_in()
    assert failure is not None
    assert failure.outcome is Outcome.CERTIFICATE_EXPIRED, failure
    assert re.search(r"; its certificate ended at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ, (99|1\d\d) s ago$", failure.message)
    ended.server.await_log("^Certificate invalid: expired")


def test_a_worker_whose_clock_is_ahead_says_what_a_server_s_clock_may_be_and_not_what_it_is(
    certified: Callable[[Kind, Certificates], Certified], monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the server the certificate is of the future, which it does not tell."""

    def ahead() -> float:
        return time() + 200

    asked = replace(HOURLY, backdate_s=60.0)
    early = certified(SSH2_PYTHON, asked).signing_at(asked, ahead)
    monkeypatch.setattr(login_module, "time", ahead)
    failure = early.log_in()
    assert failure is not None
    assert failure.outcome is Outcome.AUTH_REJECTED, failure
    assert re.search(
        r"; a clock more than 6\d s behind this worker's or 3[56]\d\d s ahead of it is outside its certificate's",
        failure.message,
    ), failure
    early.server.await_log("^Certificate invalid: not yet valid")


def test_a_certificate_that_the_server_refuses_for_another_reason_is_a_rejected_login(
    certified: Callable[[Kind, Certificates], Certified],
) -> None:
    asked = replace(HOURLY, principals=("somebody-else",), backdate_s=3600.0)
    failure = certified(SSH2_PYTHON, asked).log_in()
    assert failure is not None
    assert failure.outcome is Outcome.AUTH_REJECTED, failure
    assert "certificate" not in failure.message
