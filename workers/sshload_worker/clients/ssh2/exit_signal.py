"""The signal that ended a remote command, which ssh2-python 1.2 cannot tell: its get_exit_signal() is always empty.

Worse, its get_exit_status() is 0 for a killed command, so that without this a killed command passes for a success. The
library below it, libssh2, does know. Its pointer stands in the Channel and Session objects right behind the object
header (both are Cython classes without methods table; the layout is checked at import against the pinned version, and a
test kills commands on a real sshd), so libssh2 is asked directly.

What libssh2 itself cannot tell: a server that closes a channel with neither an exit status nor a signal. That counts as
exit code 0. OpenSSH sends one of the two always.
"""

import ctypes
from pathlib import Path

import ssh2
from ssh2.channel import Channel
from ssh2.session import Session

_HEADER_BYTES = object.__basicsize__
_POINTER_BYTES = ctypes.sizeof(ctypes.c_void_p)
_CHANNEL_BYTES = _HEADER_BYTES + 2 * _POINTER_BYTES  # the pointer, the session
_SESSION_BYTES = _HEADER_BYTES + 4 * _POINTER_BYTES  # the pointer, the descriptor, the socket, a callback


class UnsupportedLibraryError(ImportError):
    """The installed ssh2-python is not laid out as the pinned version is."""


def _load_libssh2() -> ctypes.CDLL:
    if (Channel.__basicsize__, Session.__basicsize__) != (_CHANNEL_BYTES, _SESSION_BYTES):
        raise UnsupportedLibraryError("ssh2-python's objects have another layout than version 1.2.0.post1")
    bundled = sorted((Path(ssh2.__file__).parent.parent / "ssh2_python.libs").glob("libssh2-*.so*"))
    if len(bundled) != 1:
        raise UnsupportedLibraryError("ssh2-python does not bring its own libssh2: install its wheel")
    library = ctypes.CDLL(str(bundled[0]))
    library.libssh2_channel_get_exit_signal.argtypes = [ctypes.c_void_p] * 7
    library.libssh2_channel_get_exit_signal.restype = ctypes.c_int
    library.libssh2_free.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    library.libssh2_free.restype = None
    return library


_LIBSSH2 = _load_libssh2()


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


def _pointer(wrapper: Channel | Session) -> ctypes.c_void_p:
    return ctypes.c_void_p.from_address(id(wrapper) + _HEADER_BYTES)
