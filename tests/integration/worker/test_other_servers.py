"""Every library and step against servers that are not OpenSSH, by the table of other_server_table."""

import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from time import monotonic_ns

import pytest
from client_kinds import ASYNCSSH, KINDS, MINA_SSHD, OPENSSH, OPENSSH_SHARED, PARAMIKO, SSH2_PYTHON, Kind, every_kind
from free_ports import free_port
from gevent.server import StreamServer
from git_repository import git_repository
from guide import ROOT
from master_here import counted
from one_iteration import run_once, unexpected
from other_server_table import KEEP_ALIVE, OTHERS, Other, Place, doings, page
from other_servers import OtherServer, go_server
from run_configs import arrivals, run_config, scenario
from ssh_server import Keys
from sshload_contract.client import Auth, Library
from sshload_contract.steps import ExecStep, ScenarioStep
from sshload_contract.vocabulary import Outcome, Window
from sshload_contract.wire.run_config import Endpoint, RunConfig
from sshload_worker.clients.libraries import prepare_library
from sshload_worker.recording.health import HealthMonitor
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.held_sessions import HeldSessions
from sshload_worker.scenario.step_clock import Due
from sshload_worker.scenario.target_login import resolve_first_hop
from sshload_worker.scenario.target_sessions import prepare_target
from sshload_worker.summary.totals import Totals

STEP_S = 60.0
BRIEF_S = 4.0
REQUESTS = 3

USUAL = {
    "ProFTPD (mod_sftp)": PARAMIKO,
    "Dropbear": SSH2_PYTHON,
    "TinySSH": OPENSSH,
    "asyncssh": MINA_SSHD,
    "Go (x/crypto/ssh, pkg/sftp)": ASYNCSSH,
    "Apache MINA SSHD": OPENSSH_SHARED,
}
"""A client for each server, and each client once: what everybody tests."""

USUAL_HOLDERS = {**USUAL, "TinySSH": SSH2_PYTHON, "Apache MINA SSHD": SSH2_PYTHON}
USERS = ("load@10.0.0.1", "load%host.example", "load+x", "jörg", "CORP\\load", "root@asset@bastion:22")


def does_something(other: Other, kind: Kind) -> bool:
    """Return whether this client does anything at this server."""
    return kind.library not in other.left_out


def holds_sessions(other: Other, kind: Kind) -> bool:
    """Return whether this client holds sessions at this server, and can ask for a reply there."""
    return kind.library is not Library.OPENSSH and not {kind.library} & {*other.left_out, *other.always}


def at_each_server(does: Callable[[Other, Kind], bool], usual: Mapping[str, Kind]) -> pytest.MarkDecorator:
    """Return the mark of a test for each server, and each kind of client that does it there.

    Everybody tests those in `usual`.
    """
    return pytest.mark.parametrize(
        ("name", "kind"),
        [
            pytest.param(name, kind, id=f"{name}-{kind}", marks=() if usual[name] == kind else pytest.mark.full)
            for name, other in OTHERS.items()
            for kind in KINDS
            if does(other, kind)
        ],
        indirect=["name"],
    )


@pytest.fixture(scope="module")
def name(request: pytest.FixtureRequest) -> str:
    """Return the name of a server."""
    return str(request.param)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Make what the steps use."""
    folder = tmp_path_factory.mktemp("place")

    def answer(connection: socket.socket, _: object) -> None:
        connection.sendall(b"you said " + connection.recv(100))

    answering = StreamServer(("127.0.0.1", 0), answer)
    answering.start()
    made = Place(folder, answering.server_port, free_port())
    made.prepare()
    repository = folder / "repository"
    repository.mkdir()
    (repository / "file").write_bytes(b"content")
    git_repository(repository).commit()
    yield made
    answering.stop()


@pytest.fixture(scope="module")
def server(name: str, tmp_path_factory: pytest.TempPathFactory, keys: Keys) -> Iterator[OtherServer]:
    """Run the server of this name for all tests of it."""
    with closing(OTHERS[name].start(tmp_path_factory.mktemp("server"), keys)) as started:
        yield next(started)


def config_for(
    server: OtherServer, keys: Keys, kind: Kind, *steps: ScenarioStep, user: str = "", step_s: float = STEP_S
) -> RunConfig:
    prepare_library(kind.library)
    target = Endpoint(
        host="127.0.0.1",
        port=server.port,
        user=user or server.user,
        auth=Auth.PUBLICKEY,
        private_key_path=str(keys.user),
        certificate_path="",
        passphrase_path="",
        password_path="",
        known_hosts_path=str(server.known_hosts),
    )
    return replace(run_config(target, arrivals(1, 1)), client=kind.client(step_s=step_s), scenario=scenario(*steps))


@at_each_server(does_something, USUAL)
def test_each_step_ends_at_another_server_as_the_table_says(
    server: OtherServer, name: str, kind: Kind, keys: Keys, place: Place
) -> None:
    wrong = {}
    place.tidy()
    for title, doing in doings(place).items():
        if not all(kind.takes(type(step)) for step in doing.steps):
            continue
        ending = OTHERS[name].ending(title, kind.library)
        outcomes = (doing.outcome,) if ending is None else ending.outcomes
        step_s = BRIEF_S if Outcome.STEP_TIMEOUT in outcomes else STEP_S
        done = run_once(config_for(server, keys, kind, *doing.steps, step_s=step_s))
        in_step = ending is None or ending.step in ("", done.failed_step)
        if done.outcome not in outcomes or not in_step or bool(done.message) == (done.outcome is Outcome.OK):
            wrong[title] = (done.outcome, done.failed_step, done.message)
    assert wrong == {}


@at_each_server(holds_sessions, USUAL_HOLDERS)
def test_another_server_answers_the_keep_alive_requests_of_a_held_session_as_the_table_says(
    server: OtherServer, name: str, kind: Kind, keys: Keys
) -> None:
    ending = OTHERS[name].ending(KEEP_ALIVE, kind.library)
    outcome = Outcome.OK if ending is None else ending.outcomes[0]
    recorder = Recorder("test-run", 0)
    config = config_for(server, keys, kind)
    target = prepare_target(config, resolve_first_hop(config, unexpected))
    held = HeldSessions(target.connector(recorder), kind.client().timeouts, recorder)
    held.begin(0, Due(at_ns=monotonic_ns(), window=Window.MEASURED))
    for _ in range(REQUESTS):
        held.keep_alive(0)
        held.await_replies(STEP_S if outcome is Outcome.OK else BRIEF_S)
    held.close(Outcome.OK)
    held.stop_waiting()
    totals = Totals()
    totals.add(recorder.take_report(HealthMonitor().health(connections=0, overflows=0), final=True))
    assert counted(totals, "held.hold") == {(Window.MEASURED, outcome): 1}
    replies = counted(totals, "held.keepAlive").get((Window.MEASURED, Outcome.OK), 0)
    assert replies == (REQUESTS if outcome is Outcome.OK else 0)


def test_the_page_of_the_reference_is_this_table() -> None:
    written = (ROOT / "docs/reference/other-servers.md").read_text(encoding="utf-8")
    assert written == page(), "write it again: .venv/bin/python tests/support/ssh/other_server_table.py"


@every_kind
def test_a_server_hears_the_names_that_bastions_take_as_they_are_given(tmp_path: Path, keys: Keys, kind: Kind) -> None:
    wrong = {}
    with closing(go_server(tmp_path, keys)) as started:
        server = next(started)
        for user in USERS:
            step = ExecStep("", 'printf %s "$SSH_USER" | od -An -tx1 | tr -d " \\n"', 0, f"^{user.encode().hex()}$")
            done = run_once(config_for(server, keys, kind, step, user=user))
            if done.outcome is not Outcome.OK:
                wrong[user] = (done.outcome, done.message)
    assert wrong == {}
