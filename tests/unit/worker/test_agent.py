"""The worker's own ssh-agent: it has one key, in a place of its own, and nothing of it stays."""

import gc
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import weakref
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import gevent
import pytest
from ssh_server import write_key
from sshload_worker.login import private_key
from sshload_worker.login.private_key import Agent, PrivateKey, agent_identity, read_private_key, start_agent
from sshload_worker.login.wire import WireReader
from sshload_worker.outcomes import GeneratorFaultError

pytestmark = pytest.mark.xdist_group("generated keys")  # made once per process
NO_KEY = PrivateKey(openssh=b"", public_blob=b"")
KINDS = [
    ("ed25519",),
    ("ecdsa", "-b", "256"),
    ("ecdsa", "-b", "384"),
    ("ecdsa", "-b", "521"),
    pytest.param(("rsa",), marks=pytest.mark.slow),
]


def key_of(folder: Path, *kind: str) -> PrivateKey:
    return read_private_key(write_key(folder / "id", *(kind or ("ed25519",))).read_bytes(), "", "a key")


def keys_in(agent: Agent) -> list[bytes]:
    """Return the public halves of the keys that an agent has, as ssh-add prints them."""
    environment = {**os.environ, "SSH_AUTH_SOCK": agent.socket_path}
    done = subprocess.run(["ssh-add", "-L"], env=environment, check=True, capture_output=True)
    return [b" ".join(line.split()[:2]) for line in done.stdout.splitlines()]


def wait_until(is_so: Callable[[], bool]) -> None:
    with gevent.Timeout(300):
        while not is_so():
            gevent.sleep(0.01)


def is_running(pid: int) -> bool:
    place = Path(f"/proc/{pid}/stat")
    return place.exists() and place.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.fixture(name="folder")
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder for temporary files, which is empty."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.parametrize("kind", KINDS, ids=" ".join)
def test_the_agent_is_private_and_has_the_key_alone(tmp_path: Path, folder: Path, kind: tuple[str, ...]) -> None:
    key = key_of(tmp_path, *kind)
    agent = start_agent([key])
    try:
        assert Path(agent.socket_path).is_relative_to(folder)
        assert stat.S_IMODE(Path(agent.socket_path).parent.stat().st_mode) == 0o700
        assert keys_in(agent) == [key.public_line]
    finally:
        agent.end()


def test_nothing_of_an_agent_stays_when_it_has_ended(tmp_path: Path, folder: Path) -> None:
    agent = start_agent([key_of(tmp_path)])
    pid = agent.pid
    assert agent._companion is not None
    companion = agent._companion.pid
    assert is_running(pid)
    agent.end()
    assert agent.pid == 0
    assert agent._companion is None
    wait_until(lambda: not is_running(pid))
    assert not Path(f"/proc/{companion}").exists()
    assert list(folder.iterdir()) == []
    agent.end()


def test_an_agent_is_ended_itself_and_not_only_its_companion(tmp_path: Path) -> None:
    """Without its companion it would end too, but as much as ten seconds later."""
    agent = start_agent([key_of(tmp_path)])
    pid, companion = agent.pid, agent._companion
    assert companion is not None
    agent._companion = None
    try:
        agent.end()
        assert is_running(companion.pid)
        wait_until(lambda: not is_running(pid))
    finally:
        companion.communicate()


def test_the_companion_ends_when_its_input_is_closed(tmp_path: Path) -> None:
    """The kernel closes it if the worker is killed."""
    agent = start_agent([key_of(tmp_path)])
    companion = agent._companion
    assert companion is not None
    assert companion.stdin is not None
    try:
        assert is_running(companion.pid)
        companion.stdin.close()
        wait_until(lambda: not is_running(companion.pid))
    finally:
        companion.stdin = None  # it cannot be closed twice
        agent.end()


def test_an_agent_that_has_ended_is_no_longer_remembered(tmp_path: Path) -> None:
    agent = start_agent([key_of(tmp_path)])
    agent.end()
    remembered = weakref.ref(agent)
    del agent
    gc.collect()
    assert remembered() is None


def test_an_agent_ends_with_its_process(tmp_path: Path, folder: Path) -> None:
    key = write_key(tmp_path / "id")
    script = (
        "import sys; from pathlib import Path; from sshload_worker.login.private_key import *;"
        "print(start_agent([read_private_key(Path(sys.argv[1]).read_bytes(), '', 'a key')]).pid)"
    )
    environment = {**os.environ, "TMPDIR": str(folder)}
    command = [sys.executable, "-c", script, str(key)]
    pid = int(subprocess.run(command, env=environment, check=True, capture_output=True).stdout)
    wait_until(lambda: not is_running(pid))
    assert list(folder.iterdir()) == []


def test_an_agent_that_has_ended_by_itself_is_cleared_away_all_the_same(tmp_path: Path, folder: Path) -> None:
    agent = start_agent([key_of(tmp_path)])
    pid = agent.pid
    assert agent._companion is not None
    for running in (agent._companion.pid, pid):  # whoever adopts the second reaps it
        os.kill(running, signal.SIGKILL)
    wait_until(lambda: not is_running(pid))
    agent.end()
    assert list(folder.iterdir()) == []


def test_an_agent_gets_nothing_of_the_workers_environment_but_what_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_WORKER", "x")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    agent = start_agent([key_of(tmp_path)])
    try:
        environment = Path(f"/proc/{agent.pid}/environ").read_bytes().split(b"\0")
    finally:
        agent.end()
    assert {name.partition(b"=")[0] for name in environment if name} <= {b"PATH", b"TMPDIR", b"LD_LIBRARY_PATH", b"PWD"}
    assert f"TMPDIR={tmp_path}".encode() in environment


def refusal(key: PrivateKey = NO_KEY) -> str:
    with pytest.raises(GeneratorFaultError) as raised:
        start_agent([key])
    return str(raised.value)


def test_a_missing_agent_is_told(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    told = "ssh-agent cannot be started: No such file or directory (the worker's image needs openssh-client)"
    assert refusal() == told
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo out of order; exit 1", "out of order"),
        ("echo out of order >&2; exit 1", "out of order"),
        ("exit 1", "it printed nothing"),
    ],
    ids=["with words", "with words of an error", "without a word"],
)
def test_an_agent_that_does_not_start_is_told_in_its_own_words(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, script: str, said: str
) -> None:
    played = tmp_path / "ssh-agent"
    played.write_text(f"#!/bin/sh\n{script}\n")
    played.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert refusal() == f"ssh-agent cannot be started: {said}"
    assert list(folder.iterdir()) == []


def test_a_key_that_the_agent_does_not_take_is_told(tmp_path: Path, folder: Path) -> None:
    """Its private part has a point that is not on the curve."""
    key = key_of(tmp_path, "ecdsa")
    lines = key.openssh.strip().split(b"\n")
    packed = bytearray(b64decode(b"".join(lines[1:-1])))
    packed[packed.rindex(key.public_blob[-64:])] ^= 1
    assert refusal(PrivateKey(b"\n".join((lines[0], b64encode(packed), lines[-1])), key.public_blob)) == (
        "ssh-agent does not accept the private key"
    )
    assert list(folder.iterdir()) == []


@contextmanager
def answering(path: str, answer: Callable[[socket.socket], None]) -> Iterator[None]:
    """Play an agent that answers a request like this."""

    def serve() -> None:
        with listening.accept()[0] as asking:
            answer(asking)

    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        served = gevent.spawn(serve)
        yield
        served.get()


def test_an_agent_that_does_not_answer_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private_key, "_AGENT_TIMEOUT_S", 0.05)
    agent = Agent()

    def answer(asking: socket.socket) -> None:
        while asking.recv(100_000):
            pass

    with (
        answering(agent.socket_path, answer),
        pytest.raises(GeneratorFaultError, match="ssh-agent does not answer: timed out"),
    ):
        agent.add(key_of(tmp_path))
    agent.end()


def test_a_folder_that_is_too_deep_for_a_socket_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By one byte: the agent itself takes what is as long as it may be."""
    room = 107 - len(f"{tmp_path}//sshload-12345678/agent")
    for length in (room, room + 1):
        deep = tmp_path / ("d" * length)
        deep.mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(deep))
        if length == room:
            start_agent([key_of(tmp_path)]).end()
        else:
            assert refusal().startswith("no ssh-agent: $TMPDIR is too long for a socket's path")
        assert list(deep.iterdir()) == []


def test_a_folder_that_cannot_be_written_to_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
    assert refusal() == "no ssh-agent: $TMPDIR cannot be written to (No such file or directory)"


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        pytest.param(("ed25519",), 2, id="ed25519"),
        pytest.param(("ecdsa",), 3, id="ecdsa"),
        pytest.param(("rsa",), 6, id="rsa", marks=pytest.mark.slow),
    ],
)
def test_a_key_is_added_without_its_comment(tmp_path: Path, kind: tuple[str, ...], fields: int) -> None:
    identity = WireReader(agent_identity(key_of(tmp_path, *kind, "-C", "its comment")))
    assert identity.text().startswith((kind[0], f"ssh-{kind[0]}"))
    assert all(len(identity.string()) > 0 for _ in range(fields))
    assert identity.rest == bytes(4)
