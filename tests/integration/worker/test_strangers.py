"""Whoever reaches the master's port without the run's token can neither join the run nor end it."""

import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from locust.rpc.protocol import Message
from locust.rpc.zmqrpc import Client
from plans import TOKEN
from run_configs import arrivals, endpoint, run_config
from ssh_server import SshServer
from sshload_contract.vocabulary import RunEnd
from sshload_worker.coordination import messages
from sshload_worker.coordination.messages import encrypt_lines
from whole_run import WholeRun, whole_run

_STRANGERS = 120


@contextmanager
def speaking(run: WholeRun, token: str) -> Iterator[None]:
    """Say what no worker says, which ends a run, over a line that is encrypted by a token; stay until it was heard."""
    encrypt_lines(token)
    stranger = Client("127.0.0.1", run.locust_port, "stranger")
    fault = {"worker": 0, "words": "of a stranger"}
    try:
        stranger.send(Message("client_ready", None, "stranger"))
        stranger.send(Message(messages.FAULT, fault, "stranger"))
        yield
    finally:
        stranger.close(linger=0)


@pytest.mark.parametrize(
    ("token", "load_s", "end"),
    [
        pytest.param("f0" * 32, 5.0, RunEnd.COMPLETED, id="another token"),
        pytest.param(TOKEN, 600.0, RunEnd.GENERATOR_FAULT, id="the token of the run"),
    ],
)
def test_only_who_has_the_token_can_end_a_run(
    sshd: SshServer, tmp_path: Path, token: str, load_s: float, end: RunEnd
) -> None:
    with whole_run(tmp_path, run_config(endpoint(sshd), arrivals(10, load_s))) as run:
        run.wait_until(lambda: run.iterations() > 5, "the first iterations")
        with speaking(run, token):
            summary = run.summary()
    assert summary.end is end
    assert ("a worker's message cannot be read" in summary.message) == (end is RunEnd.GENERATOR_FAULT)


def test_more_connections_than_a_master_takes_leave_it_its_workers(sshd: SshServer, tmp_path: Path) -> None:
    """Strangers who say nothing take all that it has; the workers of the run keep theirs. Here it has little more."""
    with whole_run(tmp_path, run_config(endpoint(sshd), arrivals(10, 600.0))) as run, ExitStack() as opened:
        run.wait_until(lambda: run.iterations() > 0, "the first iterations")
        files = Path(f"/proc/{run.master.pid}/fd")
        its_own, hard = resource.prlimit(run.master.pid, resource.RLIMIT_NOFILE)
        lowered = len(list(files.iterdir())) + _STRANGERS // 2
        resource.prlimit(run.master.pid, resource.RLIMIT_NOFILE, (lowered, hard))
        for _ in range(_STRANGERS):
            opened.enter_context(socket.create_connection(("127.0.0.1", run.locust_port), 60))
        before = run.iterations()
        run.wait_until(lambda: run.iterations() > before + 20, "iterations")
    assert its_own <= 2_048
