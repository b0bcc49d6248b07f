"""What tests rely on when they start a server at a port of their choice."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest
from free_ports import FreePorts, free_port
from sshload_operator.local.ports import PORTS

TAKE_AND_WAIT = """\
from free_ports import free_port
print(*[free_port() for _ in range(90)], flush=True)
input()
"""


def test_no_outgoing_connection_and_no_local_run_takes_such_a_port() -> None:
    first, last = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    ports = {free_port() for _ in range(90)}
    assert len(ports) == 90
    assert not any(first <= port <= last for port in ports)
    assert ports.isdisjoint(PORTS)


def test_processes_that_run_at_the_same_time_take_different_ports() -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", TAKE_AND_WAIT],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        ) for _ in range(5)
    ]  # fmt: skip
    taken: list[str] = []
    for process in processes:
        assert process.stdout is not None
        taken += process.stdout.readline().split()
    for process in processes:
        process.communicate("\n", timeout=60)
    assert len(set(taken)) == 5 * 90


def test_a_port_that_is_listened_on_is_not_given() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, pytest.raises(OSError, match="is free"):
        FreePorts([listener.getsockname()[1]]).take()


def test_a_port_that_was_given_is_not_given_again_before_a_server_listens_there() -> None:
    with pytest.raises(OSError, match="is free"):
        FreePorts([free_port()]).take()
