"""Connections through a jump host: a channel to the next server, behind what looks like that server's socket.

libssh2 needs a socket, and gets one end of a pair; a greenlet, the pump, carries the bytes between the other end and
the channel. It alone drives the jump host's session from then on. What it holds is bounded: it takes nothing more from
a side before the other side has taken what it has. The channel's window is libssh2's own (2 MiB), whatever the client's
settings say: those are for the channels of the steps.
"""

import _socket
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

import gevent
from ssh2.exceptions import SSH2Error
from sshload_contract.vocabulary import Step

from sshload_worker.clients.descriptor import Descriptor
from sshload_worker.clients.ssh2.driver import Driver
from sshload_worker.clients.ssh2.jump_pump import Pump
from sshload_worker.outcomes import StepFailure

_ORIGIN = ("127.0.0.1", 0)  # where the server is told that the connection comes from (RFC 4254 section 7.2)


class JumpHost(Protocol):
    """A connection that is logged in to a jump host."""

    @property
    def driver(self) -> Driver:
        """What drives its session."""

    def close(self) -> None:
        """End it at once."""


class TunnelDescriptor(Descriptor):
    """A Descriptor whose connection is a channel of a jump host; it ends the jump host's connection with its own."""

    __slots__ = ("_far", "_jump_host", "_pump", "_pumping")

    def __init__(self, jump_host: JumpHost) -> None:
        near, self._far = _socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        for end in (near, self._far):
            end.setblocking(False)
        super().__init__(near, quick_ack=False)
        self._jump_host = jump_host
        self._pump: Pump | None = None
        self._pumping: gevent.Greenlet[[], None] | None = None

    def connect(self, address: tuple[object, ...]) -> None:
        """Let the jump host connect to `address`, a host and a port; raises StepFailure where it does not."""
        host, port = address
        driver = self._jump_host.driver
        try:
            channel = driver.until_opened(Step.CONNECT, driver.session.direct_tcpip_ex, host, port, *_ORIGIN)
        except StepFailure as failure:
            raise StepFailure(
                failure.outcome, f"the jump host gave no way to {host}:{port}: {failure.message}"
            ) from None
        self._pump = Pump(driver, channel, self._far)
        self._pumping = gevent.spawn(self._pump.run)

    def in_one_go(self, attempt: Callable[..., Any], *arguments: object) -> Any:
        """Return what `attempt` returns: what a pair of sockets carries makes no segments."""
        return attempt(*arguments)

    def peer_has_closed(self) -> bool:
        """Tell whether the other side, or the way to it, has ended; what it has sent may still be unread."""
        return self._pump is None or self._pump.ended

    def shut_down(self) -> None:
        """End the connection now, and that to the jump host with it."""
        super().shut_down()
        if self._pump is not None and self._pumping is not None:
            with suppress(SSH2Error, OSError):  # the goodbye goes on if there is room for it
                self._pump.move()
            self._pumping.kill(block=False)
        self._jump_host.close()
