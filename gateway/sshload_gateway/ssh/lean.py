"""asyncssh without what the gateway does not need of it, and pays for with each packet.

asyncssh has no options for it: this depends on its insides, which a test of the packets that sshd gets holds it to.
"""

from typing import Any, Final

import asyncssh
from asyncssh.channel import SSHChannel
from asyncssh.constants import MSG_IGNORE
from asyncssh.logging import SSHLogger

_AUTHENTICATED: Final = ("aes128-gcm@", "aes256-gcm@", "chacha20-poly1305@")


def lean_connection(ssh: asyncssh.SSHClientConnection) -> asyncssh.SSHClientConnection:
    """Make a connection that is logged in lean; return it."""
    _without_empty_packets(ssh)
    _without_logs(ssh)
    return ssh


def lean_channel(channel: SSHChannel[bytes]) -> None:
    """Let a channel of a lean connection form no words for each packet, and its connection count what it receives."""
    channel.log_sent_packet = _nothing  # type: ignore[method-assign]
    counted = channel._conn.log_received_packet if channel._conn is not None else _nothing  # noqa: SLF001 - see above
    channel.log_received_packet = counted  # type: ignore[method-assign]


def _without_empty_packets(ssh: asyncssh.SSHClientConnection) -> None:
    """Let a connection send only packets that say something, where its cipher authenticates each of them.

    asyncssh sends an empty one before each, as a defence of CBC. It costs both sides as much as the packet itself.
    """
    if not str(ssh.get_extra_info("send_cipher")).startswith(_AUTHENTICATED):
        return
    send = ssh.send_packet

    def send_packet(pkttype: int, *args: bytes, handler: Any = None) -> None:
        if pkttype != MSG_IGNORE:
            send(pkttype, *args, handler=handler)

    ssh.send_packet = send_packet  # type: ignore[method-assign]


def _without_logs(ssh: asyncssh.SSHClientConnection) -> None:
    ssh._logger = _Silent()  # noqa: SLF001 - see above
    ssh.log_sent_packet = _nothing  # type: ignore[method-assign]  # those that it receives are counted


def _nothing(*_arguments: Any, **_options: Any) -> None:
    """Log nothing."""


class _Silent(SSHLogger):
    """Logs warnings and errors only, and forms no words for other lines, which have commands in them."""

    info = debug1 = debug2 = packet = _nothing

    def get_child(self, child: str = "", context: str = "") -> "_Silent":  # noqa: ARG002 - asyncssh's signature
        return self
