"""What a process says last reaches a peer that takes it late, though the process ends at once."""

import contextlib
import socket
import subprocess
import sys
from pathlib import Path

import gevent
import pytest
import zmq
from free_ports import free_port
from locust.rpc.protocol import Message
from locust.rpc.zmqrpc import BaseSocket, Client, Server
from plans import TOKEN
from sshload_worker.coordination.messages import encrypt_lines, flush_and_close, read_token

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


@pytest.fixture(name="encrypted")
def _encrypted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BaseSocket, "__init__", BaseSocket.__init__)  # as it is now, afterwards too
    encrypt_lines(TOKEN)


@pytest.mark.usefixtures("encrypted")
@pytest.mark.parametrize("size", [0, 100, 32_000, 65_536, 5 * _MIB])
def test_a_message_of_a_worker_arrives_whole_however_large_it_is(size: int) -> None:
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


@pytest.mark.usefixtures("encrypted")
def test_a_master_takes_frames_of_twice_a_workers_size_and_a_handshake_within_ten_seconds() -> None:
    port = free_port()
    master, worker = Server("127.0.0.1", port), Client("127.0.0.1", port, "worker-0")
    try:
        asked = (zmq.CURVE_SERVER, zmq.MAXMSGSIZE, zmq.HANDSHAKE_IVL)
        assert [master.socket.getsockopt(option) for option in asked] == [1, 65_536, 10_000]
        assert worker.socket.getsockopt(zmq.CURVE_SERVER) == 0
    finally:
        worker.close(linger=0)
        master.close(linger=0)


@pytest.mark.usefixtures("encrypted")
def test_a_master_hears_nobody_without_the_token_of_its_run() -> None:
    port = free_port()
    master, worker = Server("127.0.0.1", port), Client("127.0.0.1", port, "worker-0")
    encrypt_lines("f0" * 32)
    stranger = Client("127.0.0.1", port, "stranger")
    try:
        stranger.send(Message("fault", None, "stranger"))
        failed = stranger.socket.get_monitor_socket(zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL | zmq.EVENT_DISCONNECTED)
        with gevent.Timeout(60):
            failed.recv_multipart()
            worker.send(Message("hello", None, "worker-0"))
            assert master.recv_from_client()[0] == "worker-0"
    finally:
        stranger.socket.disable_monitor()
        for line in (stranger, worker, master):
            line.close(linger=0)


def test_a_line_to_nobody_is_closed_after_its_time() -> None:
    line = Client("127.0.0.1", free_port(), "worker-0")
    line.send(Message("leave", None, "worker-0"))
    context = line.socket.context
    flush_and_close(line, 1)
    assert context.closed


@pytest.mark.parametrize("text", ["", "0" * 63, "0" * 65, "A" * 64, "g" * 64, f"{'0' * 64} {'0' * 64}"])
def test_a_file_that_holds_something_else_is_no_token(tmp_path: Path, text: str) -> None:
    (tmp_path / "token").write_text(text)
    with pytest.raises(ValueError, match="does not hold 64 hexadecimal digits"):
        read_token(tmp_path / "token")


def test_a_token_is_the_line_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    assert read_token(tmp_path / "token") == TOKEN
