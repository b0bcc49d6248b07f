"""The sockets that the kernel lists: real ones of this machine, and what a kernel says that lists none."""

import asyncio
import socket
import struct

import pytest
from sshload_contract import kernel_sockets
from sshload_contract.kernel_sockets import LISTEN, SOCKET_BYTES, TIME_WAIT, count, sockets
from until import until

MORE_THAN_ONE_ANSWER_HAS = 500
_PORTS = struct.Struct("!4xHH")


def test_only_connections_to_the_port_are_counted_as_those_that_keep_a_source_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.create_server(("127.0.0.1", 0)) as other:
        for server, connections in ((listening, 3), (other, 1)):
            for _ in range(connections):
                with socket.create_connection(server.getsockname()) as client:
                    accepted, _ = server.accept()
                    client.shutdown(socket.SHUT_RDWR)
                    accepted.close()
        port = listening.getsockname()[1]
        asyncio.run(until(lambda: count(socket.AF_INET, TIME_WAIT, remote_port=port) == 3))
        assert count(socket.AF_INET6, TIME_WAIT, remote_port=port) == 0
        assert count(socket.AF_INET, LISTEN, remote_port=port) == 0


def test_each_socket_is_told_once_however_many_answers_the_kernel_gives() -> None:
    with socket.socket() as first:
        first.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        first.bind(("127.0.0.1", 0))
        first.listen()
        port = first.getsockname()[1]
        beside = [socket.socket() for _ in range(MORE_THAN_ONE_ANSWER_HAS - 1)]
        try:
            for one in beside:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
                one.bind(("127.0.0.1", port))
                one.listen()
            told = list(sockets(socket.AF_INET, LISTEN, local_port=port))
        finally:
            for one in beside:
                one.close()
    assert [_PORTS.unpack_from(one) for one in told] == [(port, 0)] * MORE_THAN_ONE_ANSWER_HAS
    assert min(map(len, told)) >= SOCKET_BYTES


def test_a_kernel_that_refuses_to_list_is_no_kernel_without_sockets() -> None:
    with pytest.raises(OSError, match="does not list"):
        list(sockets(socket.AF_X25, LISTEN))


@pytest.mark.parametrize("answers", [0, 3], ids=["never answers", "never ends"])
def test_a_kernel_that_does_not_come_to_an_end_is_not_waited_for(answers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_sockets, "_TIMEOUT_S", 0.01)
    monkeypatch.setattr(kernel_sockets, "_MOST_ANSWERS", 3)
    ours, kernels = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with kernels:
        for _ in range(answers):
            kernels.send(kernel_sockets._HEADER.pack(kernel_sockets._HEADER.size, 20, 0, 1, 0))
        monkeypatch.setattr("sshload_contract.kernel_sockets.socket.socket", lambda *_: ours)
        with pytest.raises(OSError, match="without end" if answers else "timed out"):
            count(socket.AF_INET, TIME_WAIT, remote_port=22)
