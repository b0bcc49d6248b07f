"""Which ports a local run takes."""

import subprocess
import sys
from pathlib import Path

import pytest
from sshload_operator.local import ports as local_ports
from sshload_operator.local.ports import PORTS, free_ports

TAKE_AND_WAIT = """\
from sshload_operator.local import ports
ports.PORTS = range(20_000, 20_100)
print(*ports.free_ports(10), flush=True)
input()
"""


def test_ports_differ_and_are_none_that_an_outgoing_connection_may_take() -> None:
    first, last = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    ports = free_ports(50)
    assert len(set(ports)) == 50
    assert not any(first <= port <= last for port in ports)


def test_two_runs_at_a_time_take_different_ports_though_their_processes_do_not_listen_yet(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", TAKE_AND_WAIT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        taken = set(map(int, other.stdout.readline().split()))
        monkeypatch.setattr(local_ports, "PORTS", [*taken, *PORTS[:100]])
        assert taken.isdisjoint(free_ports(60))
        other.communicate("\n")
    assert len(taken) == 10
