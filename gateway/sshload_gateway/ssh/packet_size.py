"""How little a server may let a packet hold.

asyncssh sends what the window has room for at one go, whatever the size of its packets. At a byte each, a megabyte of
stdin takes it ten seconds, in which the gateway serves nobody.
"""

from typing import Any, Final

import asyncssh

_LEAST_BYTES: Final = 256
"""OpenSSH takes 32,768."""


def refuse_small_packets(ssh: asyncssh.SSHClientConnection) -> asyncssh.SSHClientConnection:
    """Let a connection end where the server opens a channel whose packets may hold next to nothing; return it."""
    add = ssh.add_channel

    def add_channel(channel: Any) -> int:
        confirm = channel.process_open_confirmation

        def confirmed(number: int, window: int, packet_bytes: int, packet: Any) -> None:
            if packet_bytes < _LEAST_BYTES:
                raise asyncssh.ProtocolError(f"packets of {packet_bytes} bytes are too small")
            confirm(number, window, packet_bytes, packet)

        channel.process_open_confirmation = confirmed
        return add(channel)

    ssh.add_channel = add_channel  # type: ignore[method-assign, assignment]  # no option does it
    return ssh
