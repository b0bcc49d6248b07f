"""What a process says last reaches a peer that takes it late, though the process ends at once."""

import contextlib
import socket
import subprocess
import sys

import gevent
import pytest
from free_ports import free_port
from locust.rpc.protocol import Message
from locust.rpc.zmqrpc import BaseSocket, Client, Server
from plans import TOKEN
from sshload_worker.coordination.messages import encrypt_lines

_SPEAKER = """
from gevent import monkey
monkey.patch_all()
import sys
from locust.rpc.protocol import Message
from locust.rpc.zmqrpc import Client
from sshload_worker.coordination.messages import flush_and_close

line = Client("127.0.0.1", int(sys.argv[1]), "worker-0")
line.send(Message("leave", {"message": "told to terminate"}, "worker-0"))
print("said", flush=True)
flush_and_close(line, 60_000)
"""


@pytest.mark.slow
def test_the_last_message_arrives_though_its_sender_exits_before_anybody_takes_it() -> None:
    port = free_port()
    speaker = subprocess.Popen([sys.executable, "-c", _SPEAKER, str(port)], stdout=subprocess.PIPE, text=True)
    assert speaker.stdout is not None
    with speaker, speaker.stdout as said:
        assert said.readline() == "said\n"
        master = Server("127.0.0.1", port)
        try:
            with gevent.Timeout(60):
                sender, message = master.recv_from_client()
        finally:
            master.close(linger=0)
    assert isinstance(message, Message)
    assert (sender, message.type, message.data) == ("worker-0", "leave", {"message": "told to terminate"})
    assert speaker.returncode == 0


_LISTENER = """
from sshload_worker.locust_runner.locust_import import import_runner
import_runner()
import sys
from locust.rpc.zmqrpc import Server
from sshload_worker.coordination.messages import encrypt_lines

encrypt_lines("0" * 64)
line = Server("127.0.0.1", int(sys.argv[1]))
print("listens", flush=True)
sys.stdin.read()
"""
# The greeting of ZMTP 3.1 by whoever begins, and the head of a command.
_GREETING = b"\xff" + bytes(7) + b"\x01\x7f\x03\x01" + b"CURVE".ljust(20, b"\0") + bytes(32)
_MIB = 1 << 20


@pytest.mark.slow
@pytest.mark.parametrize("size", [pytest.param(31 * _MIB, id="31 MiB"), pytest.param(1 << 30, id="1 GiB")])
def test_a_stranger_cannot_make_the_master_collect_a_large_message(size: int) -> None:
    """Not of the size of a report either: some tens of these, each from a connection of its own, would be too much."""
    port = free_port()
    command = [sys.executable, "-c", _LISTENER, str(port)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as master:
        assert master.stdout is not None
        assert master.stdout.readline() == "listens\n"
        with socket.create_connection(("127.0.0.1", port)) as stranger:
            stranger.settimeout(60)
            stranger.sendall(_GREETING + b"\x06" + size.to_bytes(8, "big"))
            sent = 0
            with contextlib.suppress(OSError):
                while sent < size - _MIB:
                    sent += stranger.send(bytes(_MIB))
        master.terminate()
    assert sent < 16 * _MIB  # what the sockets of both ends hold is less


@pytest.mark.parametrize("size", [0, 100, 32_000, 65_536, 5 * _MIB])
def test_a_message_of_a_worker_arrives_whole_however_large_it_is(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BaseSocket, "__init__", BaseSocket.__init__)  # as it is now, afterwards too
    encrypt_lines(TOKEN)
    port = free_port()
    master, worker = Server("127.0.0.1", port), Client("127.0.0.1", port, "worker-0")
    try:
        worker.send(Message("report", {"report": "x" * size}, "worker-0"))
        with gevent.Timeout(60):
            sender, message = master.recv_from_client()
    finally:
        worker.close(linger=0)
        master.close(linger=0)
    assert isinstance(message, Message)
    assert (sender, message.type, message.data) == ("worker-0", "report", {"report": "x" * size})
