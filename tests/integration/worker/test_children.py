"""What tests of this folder learn of their own programs, beside a client that is one."""

import subprocess
from dataclasses import replace
from pathlib import Path

import gevent
from one_iteration import run_once
from run_configs import arrivals, client, endpoint, run_config
from ssh_server import SshServer
from sshload_contract.client import Library
from sshload_contract.vocabulary import Outcome


def is_running(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


def test_a_program_that_ends_while_the_loop_runs_keeps_its_exit_code_beside_ssh(sshd: SshServer) -> None:
    config = replace(run_config(endpoint(sshd), arrivals(1, 1)), client=replace(client(), library=Library.OPENSSH))
    assert run_once(config).outcome is Outcome.OK
    ended = subprocess.Popen(["sh", "-c", "exit 3"])
    while is_running(ended.pid):
        gevent.sleep(0.01)
    gevent.sleep(0.01)
    assert ended.wait() == 3
