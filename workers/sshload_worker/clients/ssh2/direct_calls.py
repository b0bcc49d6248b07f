"""What libssh2 can do and ssh2-python 1.2 cannot, or does wrongly: libssh2 itself is called.

The pointer to what libssh2 knows stands in ssh2-python's objects right behind the object header (they are Cython
classes without methods table). Their layout is checked at import against the pinned version, and tests run all of this
against a real sshd.

- A killed command has exit code 0 there, and no signal. A server that closes a channel with neither an exit status nor
  a signal passes for exit code 0 with libssh2 too; OpenSSH sends one of the two always.
- A file can be closed once only, not again after EAGAIN; an SFTP subsystem cannot be ended at all.
- A channel's window and packet size cannot be chosen.
- The text of an error comes with a leak of one kilobyte.
- libssh2 gives up waiting for an answer after 60 s, whatever the time limits of the run are.
"""

import ctypes
from pathlib import Path
from typing import Any

import ssh2
from ssh2.channel import Channel
from ssh2.error_codes import LIBSSH2_ERROR_EAGAIN
from ssh2.session import Session
from ssh2.sftp import SFTP
from ssh2.sftp_handle import SFTPHandle
from ssh2.utils import handle_error_codes

_HEADER_BYTES = object.__basicsize__
_POINTER_BYTES = ctypes.sizeof(ctypes.c_void_p)
_BYTES = {
    Channel: _HEADER_BYTES + 2 * _POINTER_BYTES,  # the pointer, the session
    Session: _HEADER_BYTES + 4 * _POINTER_BYTES,  # the pointer, the descriptor, the socket, a callback
    SFTP: _HEADER_BYTES + 2 * _POINTER_BYTES,  # the pointer, the session
    SFTPHandle: _HEADER_BYTES + 3 * _POINTER_BYTES,  # the pointer, the SFTP, whether it is closed
}
_CLOSED_OFFSET_BYTES = _HEADER_BYTES + 2 * _POINTER_BYTES
_EXIT_CODE_MASK = 0xFFFF_FFFF  # RFC 4254 section 6.10: a uint32, which libssh2 returns as an int
_PATIENCE_S = 2**31 - 1

DEFAULT_WINDOW_BYTES = 2_097_152
DEFAULT_PACKET_BYTES = 32_768
"""What libssh2 opens a channel with by itself."""


class UnsupportedLibraryError(ImportError):
    """The installed ssh2-python is not laid out as the pinned version is."""


def _load_libssh2() -> ctypes.CDLL:
    if any(kind.__basicsize__ != expected_bytes for kind, expected_bytes in _BYTES.items()):
        raise UnsupportedLibraryError("ssh2-python's objects have another layout than version 1.2.0.post1")
    bundled = sorted((Path(ssh2.__file__).parent.parent / "ssh2_python.libs").glob("libssh2-*.so*"))
    if len(bundled) != 1:
        raise UnsupportedLibraryError("ssh2-python does not bring its own libssh2: install its wheel")
    library = ctypes.CDLL(str(bundled[0]))
    pointer, integer, unsigned = ctypes.c_void_p, ctypes.c_int, ctypes.c_uint
    for name, result, arguments in (
        ("channel_get_exit_signal", integer, [pointer] * 7),
        ("channel_get_exit_status", integer, [pointer]),
        (
            "channel_open_ex",
            pointer,
            [pointer, ctypes.c_char_p, unsigned, unsigned, unsigned, ctypes.c_char_p, unsigned],
        ),
        ("free", None, [pointer, pointer]),
        ("session_last_error", integer, [pointer, pointer, pointer, integer]),
        ("session_set_read_timeout", None, [pointer, ctypes.c_long]),
        ("sftp_close_handle", integer, [pointer]),
        ("sftp_shutdown", integer, [pointer]),
    ):
        function = getattr(library, f"libssh2_{name}")
        function.restype, function.argtypes = result, arguments
    return library


_LIBSSH2 = _load_libssh2()


def wait_without_limit(session: Session) -> None:
    """Leave it to the caller how long an answer may take."""
    _LIBSSH2.libssh2_session_set_read_timeout(_pointer(session), _PATIENCE_S)


def last_error_text(session: Session) -> str:
    """Return what libssh2 says of the session's last error."""
    text = ctypes.c_char_p()
    _LIBSSH2.libssh2_session_last_error(_pointer(session), ctypes.byref(text), None, 0)
    return (text.value or b"").decode("utf-8", "replace")


def open_channel(session: Session, kind: bytes, window_bytes: int, packet_bytes: int, message: bytes = b"") -> Any:
    """Open a channel of RFC 4254 section 5.1: return it, or EAGAIN; raises SSH2Error where it is refused."""
    opened = _LIBSSH2.libssh2_channel_open_ex(
        _pointer(session), kind, len(kind), window_bytes, packet_bytes, message, len(message)
    )
    if not opened:
        return handle_error_codes(session.last_errno())
    channel = Channel.__new__(Channel, session)
    _pointer(channel).value = opened
    return channel


def exit_code(channel: Channel) -> int:
    """Return the exit code of the channel's command, 0 where it has none."""
    return int(_LIBSSH2.libssh2_channel_get_exit_status(_pointer(channel))) & _EXIT_CODE_MASK


def exit_signal(session: Session, channel: Channel) -> str:
    """Return the name of the signal that ended the channel's command (KILL), empty where none did."""
    name = ctypes.c_void_p()
    length = ctypes.c_size_t()
    _LIBSSH2.libssh2_channel_get_exit_signal(
        _pointer(channel), ctypes.byref(name), ctypes.byref(length), None, None, None, None
    )
    if not name.value:
        return ""
    text = ctypes.string_at(name.value, length.value).decode("ascii", "replace")
    _LIBSSH2.libssh2_free(_pointer(session), name)
    return text


def close_file(handle: SFTPHandle) -> int:
    """Close a file or directory: return 0 once the server has answered, or EAGAIN; raises SSH2Error where it fails."""
    result = _LIBSSH2.libssh2_sftp_close_handle(_pointer(handle))
    if result != LIBSSH2_ERROR_EAGAIN:
        ctypes.c_int.from_address(id(handle) + _CLOSED_OFFSET_BYTES).value = 1  # libssh2 has freed it
    return int(handle_error_codes(result))


def end_sftp(sftp: SFTP) -> int:
    """End a subsystem and free it: return 0 once its channel is closed, or EAGAIN; raises SSH2Error where it fails."""
    result = _LIBSSH2.libssh2_sftp_shutdown(_pointer(sftp))
    if result != LIBSSH2_ERROR_EAGAIN:
        _pointer(sftp).value = None
    return int(handle_error_codes(result))


def disown(channel: Channel) -> None:
    """Let a channel be freed by whom it belongs to, not by this object."""
    _pointer(channel).value = None


def _pointer(wrapper: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p.from_address(id(wrapper) + _HEADER_BYTES)
