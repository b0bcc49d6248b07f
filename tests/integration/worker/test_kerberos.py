"""Logins by Kerberos against a real KDC and sshd: what they log agrees with the results, and what each failure is."""

import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from time import monotonic_ns

import pytest
from free_ports import free_port
from kerberos_target import HOST, KerberosTarget, kerberos_target
from one_iteration import prepare, run_once
from run_configs import arrivals
from sshload_contract.client import Library
from sshload_contract.kerberos import Kdc, Kerberos, Realm
from sshload_contract.vocabulary import Outcome, Window
from sshload_contract.wire.run_config import RunConfig
from sshload_worker.login.gss import Initiator, fill_by_password
from sshload_worker.login.tickets import use_realms
from sshload_worker.recording.health import HealthMonitor
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.step_clock import Due

pytestmark = pytest.mark.root
either_library = pytest.mark.parametrize("library", [Library.ASYNCSSH, Library.OPENSSH])
LOAD = arrivals(1, 1.0)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KerberosTarget]:
    """Run a target with a KDC."""
    with kerberos_target(tmp_path_factory.mktemp("kerberos")) as target:
        yield target


def accepted(server: KerberosTarget) -> Counter[str]:
    """Return how many logins sshd says that it accepted, by user."""
    lines = (line.split() for line in server.target.log().splitlines())
    return Counter(words[3] for words in lines if words[:2] == ["Accepted", "gssapi-with-mic"])


@either_library
@pytest.mark.parametrize("fresh", [False, True])
def test_each_login_is_in_the_log_of_sshd_and_each_ticket_in_that_of_the_kdc(
    server: KerberosTarget, library: Library, *, fresh: bool
) -> None:
    """The KDC is asked for the server's ticket once, before the logins, or at each of them."""
    logins, tickets = accepted(server), Counter(server.issued())
    for user, times in (("user00001", 2), ("user00003", 3)):
        recorder = Recorder("", 0)
        iteration = prepare(server.run_config(user, library, LOAD, fresh=fresh), recorder)
        for _ in range(times):
            iteration.run(Due(monotonic_ns(), Window.MEASURED))
        report = recorder.take_report(HealthMonitor().health(connections=0, overflows=0), final=True)
        assert report.counts[Window.MEASURED].succeeded == times, report.errors
    assert accepted(server) - logins == Counter(user00001=2, user00003=3)
    expected: Counter[tuple[str, str, str]] = Counter()
    for user, times in (("user00001", 2), ("user00003", 3)):
        expected["AS", user, "krbtgt/SSHLOAD.TEST"] = 1
        expected["TGS", user, f"host/{HOST}"] = times if fresh else 1
    assert Counter(server.issued()) - tickets == expected


@either_library
def test_a_user_whom_the_kdc_does_not_know_has_no_ticket(server: KerberosTarget, library: Library) -> None:
    done = run_once(server.run_config("nobody", library, LOAD))
    assert (done.outcome, done.failed_step) == (Outcome.NO_TICKET, "auth")
    assert done.message == "Client 'nobody@SSHLOAD.TEST' not found in Kerberos database"


@either_library
def test_a_wrong_password_gets_no_ticket(server: KerberosTarget, library: Library, tmp_path: Path) -> None:
    config = server.run_config("user00001", library, LOAD)
    (tmp_path / "password").write_text("wrong")
    done = run_once(replace(config, target=replace(config.target, password_path=str(tmp_path / "password"))))
    assert (done.outcome, done.message) == (Outcome.NO_TICKET, "Preauthentication failed")


@either_library
@pytest.mark.parametrize("fresh", [False, True])
def test_a_server_that_the_kdc_does_not_know_has_no_ticket(
    server: KerberosTarget, library: Library, *, fresh: bool
) -> None:
    config = server.run_config("user00001", library, LOAD, fresh=fresh)
    config = replace(config, target=replace(config.target, host="localhost", known_hosts_path=""))
    done = run_once(config)
    assert (done.outcome, done.failed_step) == (Outcome.NO_TICKET, "auth")
    assert done.message == "Server host/localhost@SSHLOAD.TEST not found in Kerberos database"


@either_library
def test_a_kdc_that_is_away_is_told(server: KerberosTarget, library: Library) -> None:
    config = server.run_config("user00001", library, LOAD)
    realm = Realm("SSHLOAD.TEST", (Kdc(HOST, free_port()),), ())
    done = run_once(replace(config, client=replace(config.client, kerberos=Kerberos((realm,), fresh_tickets=False))))
    assert (done.outcome, done.failed_step) == (Outcome.KDC_UNREACHABLE, "auth")
    assert done.message == "Cannot contact any KDC for realm 'SSHLOAD.TEST'"


@either_library
def test_a_realm_that_is_not_the_kdcs_has_no_ticket(server: KerberosTarget, library: Library) -> None:
    config = server.run_config("user00001", library, LOAD)
    realm = Realm("OTHER.TEST", (server.kdc(),), ())
    done = run_once(replace(config, client=replace(config.client, kerberos=Kerberos((realm,), fresh_tickets=False))))
    assert done.outcome is Outcome.NO_TICKET
    assert done.message == "Client 'user00001@OTHER.TEST' not found in Kerberos database"


@either_library
def test_another_users_ticket_is_rejected(server: KerberosTarget, library: Library, tmp_path: Path) -> None:
    done = run_once(with_cache(server, library, filled(server, tmp_path, "user00001"), user="user00002"))
    assert done.outcome is Outcome.AUTH_REJECTED
    assert done.message.startswith("the server refused gssapi-with-mic with these credentials; it offers publickey, ")


@either_library
def test_a_clock_that_differs_is_told_with_kerberos_words(
    server: KerberosTarget, library: Library, tmp_path: Path
) -> None:
    """A ticket cache may state how much its KDC's clock differs, and then the client's authenticators do too."""
    cache = filled(server, tmp_path, "user00001")
    use_realms(server.kerberos(), {(HOST, server.kdc().port): [HOST]})
    Initiator(str(cache), HOST).step()
    content = cache.read_bytes()
    assert content.startswith(b"\x05\x04")
    length = int.from_bytes(content[2:4])
    offset = struct.pack(">HHii", 1, 8, 3_600, 0)
    cache.write_bytes(b"\x05\x04" + struct.pack(">H", len(offset)) + offset + content[4 + length :])
    done = run_once(with_cache(server, library, cache))
    assert (done.outcome, done.message) == (
        Outcome.AUTH_REJECTED,
        "the server refused the ticket: Clock skew too great",
    )


def filled(server: KerberosTarget, folder: Path, user: str) -> Path:
    """Return a ticket cache of a user, as kinit(1) makes it."""
    use_realms(server.kerberos(), {(HOST, server.kdc().port): [HOST]})
    path = folder / "ccache"
    fill_by_password(str(path), server.population.password, user)
    return path


def with_cache(server: KerberosTarget, library: Library, cache: Path, user: str = "user00001") -> RunConfig:
    """Return a run whose user has a ready ticket cache."""
    config = server.run_config(user, library, LOAD)
    return replace(config, target=replace(config.target, password_path="", ticket_cache_path=str(cache)))
