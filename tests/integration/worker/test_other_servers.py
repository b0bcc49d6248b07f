"""Every library and step against servers that are not OpenSSH, by the table of other_server_table."""

import socket
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from client_kinds import Kind, every_kind
from free_ports import free_port
from gevent.server import StreamServer
from git_repository import git_repository
from guide import ROOT
from one_iteration import run_once
from other_server_table import OTHERS, Place, doings, page
from other_servers import OtherServer, go_server
from run_configs import arrivals, run_config, scenario
from ssh_server import Keys
from sshload_contract.client import Auth
from sshload_contract.steps import ExecStep, ScenarioStep
from sshload_contract.vocabulary import Outcome
from sshload_contract.wire.run_config import Endpoint, RunConfig
from sshload_worker.clients.libraries import prepare_library

STEP_S = 60.0
USERS = ("load@10.0.0.1", "load%host.example", "load+x", "jörg", "CORP\\load", "root@asset@bastion:22")


@pytest.fixture(scope="module", params=OTHERS)
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


def config_for(server: OtherServer, keys: Keys, kind: Kind, *steps: ScenarioStep, user: str = "") -> RunConfig:
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
    return replace(run_config(target, arrivals(1, 1)), client=kind.client(step_s=STEP_S), scenario=scenario(*steps))


@every_kind
def test_each_step_ends_at_another_server_as_the_table_says(
    server: OtherServer, name: str, kind: Kind, keys: Keys, place: Place
) -> None:
    wrong = {}
    for title, doing in doings(place).items():
        if title not in OTHERS[name].left_out and all(kind.takes(type(step)) for step in doing.steps):
            done = run_once(config_for(server, keys, kind, *doing.steps))
            if done.outcome is not OTHERS[name].outcome(title, doing, kind):
                wrong[title] = (done.outcome, done.message)
    assert wrong == {}


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
