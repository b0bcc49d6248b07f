"""The allow-list holds where a worker connects: whatever is written, and whatever a name resolves to."""

import random
import socket
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from attempts import ATTEMPTS, MAPPED_ATTEMPTS, all_but_explicit
from client_kinds import MINA_SSHD, OPENSSH, SSH2_PYTHON, Kind, every_kind_usually
from gevent.server import DatagramServer
from one_iteration import run_once
from run_configs import arrivals, endpoint, run_config, scenario
from ssh_server import SshServer
from sshload_contract.allow_list import AllowedTarget, AllowList, DeniedRange
from sshload_contract.kerberos import Kdc, Kerberos, Realm
from sshload_contract.steps import ForwardStep
from sshload_contract.vocabulary import Outcome, RunEnd
from sshload_contract.wire.run_config import Endpoint, RunConfig
from sshload_worker.outcomes import TargetNotAllowedError
from unkind_servers import speaking
from whole_run import whole_run

Answers = Mapping[str, Sequence[Sequence[str]]]
"""By name, the IPv4 addresses of the first answer, of the second and so on; the last one is given again and again."""

_PORT = 53  # the only one that resolv.conf(5) can mean
_HEADER = struct.Struct(">6H")
_QUESTION_END = struct.Struct(">2H")
_ADDRESS = struct.Struct(">HHHIH4s")
_ANSWER, _NO_SUCH_NAME = 0x8180, 0x8183
_NAME_OF_THE_QUESTION = 0xC00C
_TYPE_A, _CLASS_IN = 1, 1


class NameServer:
    """What it answers, for no longer than the moment, and the names whose IPv4 addresses it was asked for."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self.asked: list[str] = []
        self.address = ""
        self._server: DatagramServer | None = None

    def start(self) -> None:
        """Listen at an address that nobody else listens at."""
        while self._server is None:
            self.address = "127." + ".".join(str(random.randint(1, 254)) for _ in range(3))  # noqa: S311 - no secret
            server = DatagramServer((self.address, _PORT), self._answer)  # type: ignore[arg-type]  # typed as a stream's
            try:
                server.start()
            except OSError:
                continue
            self._server = server

    def stop(self) -> None:
        """Listen no more."""
        if self._server is not None:
            self._server.stop()

    def launcher(self, folder: Path, *options: str) -> list[str]:
        """Return what starts a process that asks this server, with more lines of resolv.conf(5)."""
        (folder / "resolv.conf").write_text("".join(f"{line}\n" for line in (f"nameserver {self.address}", *options)))
        (folder / "nsswitch.conf").write_text("hosts: files dns\n")
        mounts = "; ".join(f"mount --bind {folder / name} /etc/{name}" for name in ("resolv.conf", "nsswitch.conf"))
        return ["unshare", "--mount", "sh", "-ec", f'{mounts}; exec "$@"', "sh"]

    def _answer(self, query: bytes, source: tuple[str, int]) -> None:
        name, end = _name(query, _HEADER.size)
        kind, _ = _QUESTION_END.unpack_from(query, end)
        question = query[_HEADER.size : end + _QUESTION_END.size]
        addresses = self._next_answer(name) if kind == _TYPE_A else ()
        flags = _ANSWER if name in self._answers else _NO_SUCH_NAME
        number = _HEADER.unpack_from(query)[0]
        records = b"".join(
            _ADDRESS.pack(_NAME_OF_THE_QUESTION, _TYPE_A, _CLASS_IN, 0, 4, socket.inet_aton(address))
            for address in addresses
        )
        assert self._server is not None
        self._server.sendto(_HEADER.pack(number, flags, 1, len(addresses), 0, 0) + question + records, source)

    def _next_answer(self, name: str) -> Sequence[str]:
        answers = self._answers.get(name, ((),))
        times = self.asked.count(name)
        self.asked.append(name)
        return answers[min(times, len(answers) - 1)]


def _name(message: bytes, at: int) -> tuple[str, int]:
    """Return the name at a place of a message, in lower case, and where it ends."""
    labels: list[str] = []
    while length := message[at]:
        labels.append(message[at + 1 : at + 1 + length].decode("ascii").lower())
        at += 1 + length
    return ".".join(labels), at + 1


@contextmanager
def name_server(answers: Answers) -> Iterator[NameServer]:
    """Run a name server within the block."""
    server = NameServer(answers)
    server.start()
    try:
        yield server
    finally:
        server.stop()


NAME = "farm.example.org"
ALLOWED, DENIED = "127.0.0.1", "127.0.0.2"


@dataclass
class Victim:
    """A server that is not to be reached, and how often it was."""

    port: int
    reached: int = 0

    def serve(self, connection: socket.socket) -> None:
        """Count a connection, and refuse to speak SSH."""
        self.reached += 1
        connection.sendall(b"not here\r\n")


@pytest.fixture
def victim() -> Iterator[Victim]:
    found = Victim(port=0)
    with speaking(found.serve) as found.port:
        yield found


def to(server: Endpoint, host: str, port: int) -> Endpoint:
    return replace(server, host=host, port=port, known_hosts_path="")


def as_target(config: RunConfig, host: str, port: int) -> RunConfig:
    return replace(config, target=to(config.target, host, port))


def as_target_behind_a_jump_host(config: RunConfig, host: str, port: int) -> RunConfig:
    return replace(as_target(config, host, port), via=(config.target,))


def as_jump_host(config: RunConfig, host: str, port: int) -> RunConfig:
    return replace(config, via=(to(config.target, host, port),))


def as_second_jump_host(config: RunConfig, host: str, port: int) -> RunConfig:
    return replace(config, via=(config.target, to(config.target, host, port)))


def as_kdc(config: RunConfig, host: str, port: int) -> RunConfig:
    kerberos = Kerberos((Realm("EXAMPLE.COM", (Kdc(host, port),), ()),), fresh_tickets=False)
    return replace(config, client=replace(config.client, kerberos=kerberos))


def as_forward(config: RunConfig, host: str, port: int) -> RunConfig:
    return replace(config, scenario=scenario(ForwardStep("", host, port, "", "not here")))


SERVERS = {
    "target": as_target,
    "target behind a jump host": as_target_behind_a_jump_host,
    "jump host": as_jump_host,
    "second jump host": as_second_jump_host,
    "KDC": as_kdc,
}
EVERY_ATTEMPT = {**ATTEMPTS, **MAPPED_ATTEMPTS}


def config_of(server: SshServer, allow_list: AllowList | None) -> RunConfig:
    """Return a run that logs in to the server, which the list allows by its address."""
    if allow_list is not None:
        allow_list = replace(allow_list, targets=(AllowedTarget("127.0.0.1", (server.port,)), *allow_list.targets))
    return replace(run_config(endpoint(server), arrivals(10, 1.0)), allow_list=allow_list)


def test_a_server_that_is_listed_by_its_address_is_reached(sshd: SshServer) -> None:
    assert run_once(config_of(sshd, AllowList((), ()))).outcome is Outcome.OK


@pytest.mark.parametrize("field", SERVERS)
@pytest.mark.parametrize("attempt", EVERY_ATTEMPT)
def test_what_is_attempted_is_connected_to_by_no_worker(
    sshd: SshServer, victim: Victim, field: str, attempt: str
) -> None:
    config = config_of(sshd, all_but_explicit(victim.port))
    with pytest.raises(TargetNotAllowedError, match=f" port {victim.port} "):
        run_once(SERVERS[field](config, EVERY_ATTEMPT[attempt], victim.port))
    assert victim.reached == 0


@pytest.mark.parametrize("attempt", EVERY_ATTEMPT)
def test_no_server_is_asked_to_connect_to_what_is_attempted(sshd: SshServer, victim: Victim, attempt: str) -> None:
    config = config_of(sshd, all_but_explicit(victim.port))
    done = run_once(as_forward(config, EVERY_ATTEMPT[attempt], victim.port))
    assert (done.outcome, done.failed_step) == (Outcome.GENERATOR_FAULT, "forward")
    assert f" port {victim.port}, which " in done.message
    assert victim.reached == 0


@pytest.mark.parametrize(
    "attempt",
    ["loopback", "loopback in two numbers", "loopback in hexadecimal", "loopback as one number", "all addresses"],
)
@pytest.mark.parametrize("build", [as_target, as_jump_host, as_forward])
def test_without_an_allow_list_the_same_is_reached(
    sshd: SshServer, victim: Victim, build: Callable[[RunConfig, str, int], RunConfig], attempt: str
) -> None:
    """So it is the list that keeps workers away, and not the machine. `sshload run` has none."""
    run_once(build(config_of(sshd, None), ATTEMPTS[attempt], victim.port))
    assert victim.reached == 1


def test_a_forward_to_what_is_listed_is_made(sshd: SshServer, victim: Victim) -> None:
    config = config_of(sshd, AllowList((AllowedTarget("localhost", (victim.port,)),), ()))
    assert run_once(as_forward(config, "localhost", victim.port)).outcome is Outcome.OK
    assert victim.reached == 1


@pytest.fixture
def farm(start_sshd: Callable[[str], SshServer]) -> SshServer:
    """A server at an address that is allowed and at one that is not."""
    return start_sshd(f"ListenAddress {ALLOWED}\nListenAddress {DENIED}\nLogLevel VERBOSE")


def by_name(server: SshServer, folder: Path, name: str = NAME) -> RunConfig:
    """Return a run that logs in by a name, whose host key is known by it."""
    known_hosts = folder / "known_hosts_by_name"
    known_hosts.write_text(server.known_hosts.read_text().replace("[127.0.0.1]", f"[{name}]"))
    target = replace(endpoint(server), host=name, known_hosts_path=str(known_hosts))
    names = AllowList((AllowedTarget("*.org", (server.port,)), AllowedTarget(ALLOWED, (server.port,))), ())
    return replace(run_config(target, arrivals(5, 1.0)), allow_list=names)


@pytest.mark.root
@every_kind_usually(SSH2_PYTHON, OPENSSH, MINA_SSHD)
def test_a_name_that_leads_elsewhere_later_is_connected_to_where_it_led_first(
    farm: SshServer, tmp_path: Path, kind: Kind
) -> None:
    config = replace(by_name(farm, tmp_path), client=kind.client())
    with (
        name_server({NAME: [[ALLOWED], [DENIED]]}) as names,
        whole_run(tmp_path, config, launcher=names.launcher(tmp_path)) as run,
    ):
        summary = run.summary()
        assert (summary.end, summary.trial.load.succeeded) == (RunEnd.COMPLETED, 5), (
            summary.message,
            summary.trial.errors,
        )
        assert names.asked == [NAME]
    assert farm.logins_by_address() == {ALLOWED: 5}


@pytest.mark.root
@pytest.mark.parametrize(
    "first",
    [
        pytest.param([DENIED], id="the only address", marks=pytest.mark.full),
        pytest.param([ALLOWED, DENIED], id="one of two"),
    ],
)
def test_a_name_that_leads_to_a_denied_address_ends_the_run_before_any_connection(
    farm: SshServer, tmp_path: Path, first: list[str]
) -> None:
    config = by_name(farm, tmp_path)
    with (
        name_server({NAME: [first, [ALLOWED]]}) as names,
        whole_run(tmp_path, config, launcher=names.launcher(tmp_path)) as run,
    ):
        summary = run.summary()
    assert summary.end is RunEnd.TARGET_NOT_ALLOWED
    assert f"{NAME} port {farm.port} resolves to {DENIED}, which is in 127.0.0.0/8 (loopback)" in summary.message
    assert summary.trial.load.started == 0
    assert "Connection from" not in farm.log


@pytest.mark.root
def test_a_name_that_leads_into_a_range_of_the_installers_ends_the_run(farm: SshServer, tmp_path: Path) -> None:
    config = by_name(farm, tmp_path)
    services = (DeniedRange("192.0.2.0/24", "the cluster's services"),)
    assert config.allow_list is not None
    config = replace(config, allow_list=replace(config.allow_list, denied=services))
    with (
        name_server({NAME: [["192.0.2.7"]]}) as names,
        whole_run(tmp_path, config, launcher=names.launcher(tmp_path)) as run,
    ):
        summary = run.summary()
    assert summary.end is RunEnd.TARGET_NOT_ALLOWED
    assert "resolves to 192.0.2.7, which is in 192.0.2.0/24 (the cluster's services)" in summary.message


@pytest.mark.root
def test_no_search_list_puts_a_name_below_a_domain_of_the_cluster(farm: SshServer, tmp_path: Path) -> None:
    """With the resolv.conf of a pod, `farm.example.org` would be tried below the namespace's domain first."""
    pod = ("search tenant.svc.cluster.local svc.cluster.local cluster.local", "options ndots:5")
    of_tenant = f"{NAME}.tenant.svc.cluster.local"
    with (
        name_server({of_tenant: [[DENIED]], NAME: [[ALLOWED]]}) as names,
        whole_run(tmp_path, by_name(farm, tmp_path), launcher=names.launcher(tmp_path, *pod)) as run,
    ):
        summary = run.summary()
        assert summary.trial.load.succeeded == 5, (summary.message, summary.trial.errors)
        assert names.asked == [NAME]
    assert farm.logins_by_address() == {ALLOWED: 5}
