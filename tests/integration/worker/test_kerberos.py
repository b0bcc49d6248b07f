"""Logins by Kerberos against a real KDC and sshd: what they log agrees with the results, and what each failure is."""

import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from time import monotonic_ns, time

import pytest
from free_ports import free_port
from kerberos_target import HOST, KerberosTarget, kerberos_target
from one_iteration import counted, prepare, run_once
from run_configs import arrivals
from running_target import wait_until
from sshload_contract.client import Library
from sshload_contract.kerberos import Kdc, Kerberos, Realm
from sshload_contract.users import NumberedUsers, Pick, UsersInTurn
from sshload_contract.vocabulary import Outcome, Window
from sshload_contract.wire.run_config import RunConfig
from sshload_worker.login.gss import Initiator, fill_by_password, seconds_left
from sshload_worker.login.tickets import use_realms
from sshload_worker.outcomes import GeneratorFaultError
from sshload_worker.recording.health import HealthMonitor
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.step_clock import Due

pytestmark = [pytest.mark.root, pytest.mark.slow]
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


@pytest.mark.parametrize("fresh", [False, True])
def test_the_kdcs_part_of_a_login_is_timed_where_a_login_has_one(server: KerberosTarget, *, fresh: bool) -> None:
    done = run_once(server.run_config("user00001", Library.ASYNCSSH, LOAD, fresh=fresh))
    assert {step for step in done.steps if step.startswith("auth")} == {"auth", "auth.gssapi"} | (
        {"auth.kdc"} if fresh else set()
    )


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
def test_a_kdc_that_does_not_answer_in_time_is_told_in_place_of_the_server(
    server: KerberosTarget, library: Library
) -> None:
    config = server.run_config("user00001", library, LOAD, fresh=True)
    recorder = Recorder("", 0)
    timeouts = replace(config.client.timeouts, auth_s=1.5)
    iteration = prepare(replace(config, client=replace(config.client, timeouts=timeouts)), recorder)
    with server.kdc_paused():
        iteration.run(Due(monotonic_ns(), Window.MEASURED))
    done = counted(recorder)
    assert (done.outcome, done.failed_step) == (Outcome.KDC_UNREACHABLE, "auth")
    assert done.message == "no KDC has answered within 1.5 s"


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
    return with_files(server, library, user=user, ticket_cache_path=str(cache))


def test_a_file_that_is_no_ticket_cache_ends_the_run(server: KerberosTarget, tmp_path: Path) -> None:
    path = tmp_path / "ccache"
    path.write_text("FILE:/tmp/krb5cc_0")
    with pytest.raises(GeneratorFaultError, match="the target's ticket cache is no file that kinit has written"):
        run_once(with_cache(server, Library.ASYNCSSH, path))


@either_library
def test_a_jump_host_and_the_target_behind_it_each_take_a_ticket(server: KerberosTarget, library: Library) -> None:
    logins = accepted(server)
    config = server.run_config("user00001", library, LOAD)
    done = run_once(replace(config, via=(server.endpoint("user00002"),)))
    assert (done.outcome, done.message) == (Outcome.OK, "")
    assert accepted(server) - logins == Counter(user00001=1, user00002=1)


@either_library
def test_a_keytab_gets_the_tickets(server: KerberosTarget, library: Library) -> None:
    logins = accepted(server)
    keytab = server.keytab("user00001", "user00002")
    config = with_files(server, library, user="user00002", keytab_path=str(keytab))
    assert run_once(config).outcome is Outcome.OK
    assert accepted(server) - logins == Counter(user00002=1)


def test_each_user_of_a_population_gets_tickets_by_a_keytab(server: KerberosTarget) -> None:
    logins, tickets = accepted(server), Counter(server.issued())
    keytab = server.keytab("user00001", "user00002", "user00003")
    config = with_files(server, Library.ASYNCSSH, user="", keytab_path=str(keytab))
    users = UsersInTurn(NumberedUsers("user{n}", 1, 3, 5), Pick.ROUND_ROBIN, 0, 1.0)
    iteration = prepare(replace(config, target=replace(config.target, users=users)), Recorder("", 0))
    for turn in range(3):
        iteration.run(Due(monotonic_ns(), Window.MEASURED, turn=turn))
    assert accepted(server) - logins == Counter(user00001=1, user00002=1, user00003=1)
    asked = Counter(server.issued()) - tickets
    assert {user for _, user, _ in asked} == {"user00001", "user00002", "user00003"}
    assert set(asked.values()) == {1}


def test_a_keytab_without_the_users_key_is_the_workers_own_fault(server: KerberosTarget) -> None:
    keytab = server.keytab("user00001")
    done = run_once(with_files(server, Library.ASYNCSSH, user="user00002", keytab_path=str(keytab)))
    assert done.outcome is Outcome.GENERATOR_FAULT
    assert done.message == "the target's keytab has no key of user00002: `klist -k` lists what is in it"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, r"the target's keytab \(absent\) cannot be read: No such file or directory"),
        (b"-----BEGIN", "the target's keytab is no keytab of Kerberos 5: `klist -k` lists what is in one"),
    ],
)
def test_a_keytab_that_cannot_be_read_ends_the_run(
    server: KerberosTarget, tmp_path: Path, content: bytes | None, said: str
) -> None:
    path = tmp_path / ("absent" if content is None else "keytab")
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(GeneratorFaultError, match=said):
        run_once(with_files(server, Library.ASYNCSSH, user="user00001", keytab_path=str(path)))


@pytest.fixture(scope="module")
def of_seconds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KerberosTarget]:
    """Run a target whose tickets are good for a few seconds."""
    with kerberos_target(tmp_path_factory.mktemp("short-lived"), users=1, ticket_s=4) as target:
        yield target


@either_library
def test_tickets_are_renewed_before_they_end(of_seconds: KerberosTarget, library: Library) -> None:
    tickets = Counter(of_seconds.issued())
    recorder = Recorder("", 0)
    iteration = prepare(of_seconds.run_config("user00001", library, LOAD), recorder)

    def renewed_twice() -> bool:
        iteration.run(Due(monotonic_ns(), Window.MEASURED))
        asked = Counter(of_seconds.issued()) - tickets
        return asked["AS", "user00001", "krbtgt/SSHLOAD.TEST"] >= 3

    wait_until(renewed_twice, "two renewals")
    report = recorder.take_report(HealthMonitor().health(connections=0, overflows=0), final=True)
    assert report.counts[Window.MEASURED].failed == 0, report.errors


@either_library
def test_a_ticket_that_has_ended_is_told(of_seconds: KerberosTarget, library: Library, tmp_path: Path) -> None:
    cache = filled(of_seconds, tmp_path, "user00001")
    ends_at_s = time() + seconds_left(str(cache)) + 1
    wait_until(lambda: time() > ends_at_s, "the end of the ticket")
    done = run_once(with_cache(of_seconds, library, cache))
    assert (done.outcome, done.failed_step, done.message) == (Outcome.NO_TICKET, "auth", "Ticket expired")


def with_files(server: KerberosTarget, library: Library, *, user: str, **files: str) -> RunConfig:
    """Return a run of a user whose credentials are in other files than a password's."""
    config = server.run_config(user, library, LOAD)
    return replace(config, target=replace(config.target, password_path="", **files))
