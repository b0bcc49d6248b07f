"""Connections lost to a full listen queue, by real sockets of this kernel."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
from sshload_target.sshd.listen_queue import ListenQueue

_CONNECTIONS = 12
_ANSWERED_WITHIN_S = 60.0


@contextmanager
def listener(address: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET) -> Iterator[socket.socket]:
    """Listen with the shortest queue."""
    with socket.socket(family) as listening:
        listening.bind((address, port))
        listening.listen(0)
        yield listening


def overflow(listening: socket.socket) -> None:
    """Let connections come that nobody accepts, and wait until one is made and as many packets were sent as can be."""
    with ExitStack() as clients:
        for _ in range(_CONNECTIONS):
            client = clients.enter_context(socket.socket(listening.family))
            client.setblocking(False)
            client.connect_ex(listening.getsockname())
        listening.settimeout(_ANSWERED_WITHIN_S)
        listening.accept()[0].close()


@pytest.mark.parametrize(
    ("family", "address"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")], ids=["IPv4", "IPv6"]
)
@pytest.mark.parametrize("is_named", [True, False], ids=["at its address", "at every address"])
def test_what_a_sockets_own_full_queue_lost_is_counted(
    family: socket.AddressFamily, address: str, *, is_named: bool
) -> None:
    with listener(address, family=family) as own:
        queue = ListenQueue(own.getsockname()[1], address if is_named else "")
        assert queue.overflows() == 0
        overflow(own)
        lost = queue.overflows()
        assert lost is not None
        assert lost > 0


def test_what_a_strangers_queue_lost_is_not_counted() -> None:
    with listener("127.0.0.1") as own, listener("127.0.0.1") as stranger:
        queue, whole = (ListenQueue(one.getsockname()[1], "127.0.0.1") for one in (own, stranger))
        overflow(stranger)
        assert whole.overflows()
        assert queue.overflows() == 0


def test_what_a_stranger_lost_at_another_address_with_the_same_port_is_not_counted() -> None:
    with listener("127.0.0.1") as own, listener("127.0.0.2", own.getsockname()[1]) as stranger:
        queue = ListenQueue(own.getsockname()[1], "127.0.0.1")
        overflow(stranger)
        assert queue.overflows() == 0


def test_a_port_at_which_nobody_listens_has_lost_nothing() -> None:
    with listener("127.0.0.1") as own:
        port = own.getsockname()[1]
    assert ListenQueue(port, "").overflows() == 0


def test_a_kernel_that_lists_no_sockets_leaves_the_count_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise what a sandbox without this family of sockets raises."""

    def refuse(*_: object) -> socket.socket:
        raise OSError("Address family not supported by protocol")

    queue = ListenQueue(22, "")
    monkeypatch.setattr("sshload_contract.kernel_sockets.socket.socket", refuse)
    assert queue.overflows() is None
