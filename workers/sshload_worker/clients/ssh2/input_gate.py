"""InputGate: lets a libssh2 session take in what the server has sent, at one place and at no other.

libssh2 reads from the socket in nearly every call, whatever the call is for. With several channels in use this loses
packets' meaning: a call that waits for the answer to its request fails where it comes across another channel's answer
(packet_requirev in packet.c), and what a call has queued for another channel wakes nobody. With the gate shut, a call
sees what is queued, and else an empty socket. `receive_all` opens it until all that has come is queued.
"""

import ctypes
import errno
from collections.abc import Iterable

from ssh2.channel import Channel
from ssh2.error_codes import LIBSSH2_ERROR_EAGAIN
from ssh2.session import Session
from ssh2.sftp import SFTP
from ssh2.utils import handle_error_codes

from sshload_worker.clients.ssh2.direct_calls import LIBSSH2, pointer

_CALLBACK_RECV = 6  # LIBSSH2_CALLBACK_RECV in libssh2.h
_Receive = ctypes.CFUNCTYPE(
    ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p
)
for _name, _result, _arguments in (
    ("session_callback_set", ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p]),
    ("channel_wait_closed", ctypes.c_int, [ctypes.c_void_p]),
    ("channel_wait_eof", ctypes.c_int, [ctypes.c_void_p]),
    ("sftp_get_channel", ctypes.c_void_p, [ctypes.c_void_p]),
):
    _function = getattr(LIBSSH2, f"libssh2_{_name}")
    _function.restype, _function.argtypes = _result, _arguments


_NOTHING_THERE = _Receive(lambda *_: -errno.EAGAIN)
_NO_RECEIVE = ctypes.cast(_NOTHING_THERE, ctypes.c_void_p).value


class InputGate:
    """The gate of one session, shut from the beginning."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._receive = self._exchange(_NO_RECEIVE)

    def receive_all(self, opened: Iterable[Channel | SFTP]) -> bool:
        """Queue all that the server has sent; raises SSH2Error at its end.

        This is done by asking for the end of a channel, one of `opened`. Tell whether one of them had not ended yet.
        """
        self.open()
        try:
            return any(_receive_all(one) == LIBSSH2_ERROR_EAGAIN for one in opened)
        finally:
            self.shut()

    def open(self) -> None:
        """Let every call receive."""
        self._exchange(self._receive)

    def shut(self) -> None:
        """Let no call receive."""
        self._exchange(_NO_RECEIVE)

    def _exchange(self, receive: int | None) -> int | None:
        before: int | None = LIBSSH2.libssh2_session_callback_set(pointer(self._session), _CALLBACK_RECV, receive)
        return before


def _receive_all(opened: Channel | SFTP) -> int:
    """Return EAGAIN when nothing is left to be taken in, and 0 where the channel has ended before that."""
    channel = pointer(opened).value
    if channel and isinstance(opened, SFTP):
        channel = LIBSSH2.libssh2_sftp_get_channel(channel)
    if not channel:
        return 0
    result = LIBSSH2.libssh2_channel_wait_eof(channel) or LIBSSH2.libssh2_channel_wait_closed(channel)
    return int(handle_error_codes(result))
