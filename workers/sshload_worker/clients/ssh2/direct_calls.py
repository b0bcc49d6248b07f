"""Direct calls of libssh2, for what ssh2-python 1.2 lacks or gets wrong.

ssh2-python's objects are Cython classes without a method table, so the pointer to libssh2's structure comes directly
after the object header. The layout is checked at import against the pinned version, and tests run all of these calls
against a real sshd.

What ssh2-python lacks or gets wrong:

- It reports exit code 0 and no signal for a killed command. If a server closes a channel with neither an exit status
  nor a signal, libssh2 too returns 0, the initial value: so the exit status is first set to another number.
- A file can be closed only once, and closing cannot be repeated after EAGAIN. An SFTP subsystem is ended when its
  Python object is destroyed, without waiting for the server.
- A channel's window and packet size cannot be chosen.
- Reading the text of an error leaks one kilobyte.
- libssh2 stops waiting for a reply after 60 s, whatever the time limits of the run are.
"""

import ctypes
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from ssh2.channel import Channel
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
    SFTPHandle: _HEADER_BYTES + 3 * _POINTER_BYTES,  # the pointer, the SFTP object, whether it is closed
}
_CLOSED_OFFSET_BYTES = _HEADER_BYTES + 2 * _POINTER_BYTES
_EXIT_CODE_MASK = 0xFFFF_FFFF  # RFC 4254 section 6.10: a uint32, which libssh2 returns as an int
_NO_EXIT_STATUS = -0x5353_4820
"""The exit status of a channel before the server sends one. No command ends with this number."""

_NO_TIMEOUT_S = 2**31 - 1
_MOST_INTEGERS = 64
_FIELDS_BEFORE_PATH = 5
_LIBSSH2_FILE = re.compile(r"libssh2(-[0-9a-f]+)?\.so(\.\d+)*")  # in a wheel, the name contains part of a checksum

DEFAULT_WINDOW_BYTES = 2_097_152
DEFAULT_PACKET_BYTES = 32_768
"""libssh2's own defaults for a channel."""


class UnsupportedLibraryError(ImportError):
    """The objects or the libssh2 of the installed ssh2-python are not those of the pinned version."""


def loaded_libssh2(maps: str) -> set[str]:
    """Return the paths of libssh2 in the text of /proc/PID/maps (proc(5)): the last field, which may contain blanks."""
    fields = (line.split(maxsplit=_FIELDS_BEFORE_PATH) for line in maps.splitlines())
    paths = {line[_FIELDS_BEFORE_PATH] for line in fields if len(line) > _FIELDS_BEFORE_PATH}
    return {path for path in paths if _LIBSSH2_FILE.fullmatch(Path(path).name)}


def _load_libssh2() -> ctypes.CDLL:
    if any(kind.__basicsize__ != expected_bytes for kind, expected_bytes in _BYTES.items()):
        raise UnsupportedLibraryError("ssh2-python's objects do not have the layout of version 1.2.0.post1")
    loaded = loaded_libssh2(Path("/proc/self/maps").read_text(errors="surrogateescape"))
    if len(loaded) != 1:
        raise UnsupportedLibraryError("ssh2-python does not use exactly one shared library libssh2: install its wheel")
    library = ctypes.CDLL(loaded.pop())
    address, integer, unsigned = ctypes.c_void_p, ctypes.c_int, ctypes.c_uint
    for name, result, arguments in (
        ("channel_eof", integer, [address]),
        ("channel_get_exit_signal", integer, [address] * 7),
        ("channel_get_exit_status", integer, [address]),
        (
            "channel_open_ex",
            address,
            [address, ctypes.c_char_p, unsigned, unsigned, unsigned, ctypes.c_char_p, unsigned],
        ),
        ("free", None, [address, address]),
        ("session_last_error", integer, [address, address, address, integer]),
        ("session_set_read_timeout", None, [address, ctypes.c_long]),
        ("sftp_close_handle", integer, [address]),
        ("sftp_get_channel", address, [address]),
    ):
        function = getattr(library, f"libssh2_{name}")
        function.restype, function.argtypes = result, arguments
    return library


LIBSSH2 = _load_libssh2()
"""The library that ssh2-python uses."""


def wait_without_limit(session: Session) -> None:
    """Let libssh2 wait for a reply as long as the caller does."""
    LIBSSH2.libssh2_session_set_read_timeout(pointer(session), _NO_TIMEOUT_S)


def last_error_text(session: Session) -> str:
    """Return libssh2's text for the session's last error."""
    text = ctypes.c_char_p()
    LIBSSH2.libssh2_session_last_error(pointer(session), ctypes.byref(text), None, 0)
    return (text.value or b"").decode("utf-8", "replace")


def open_channel(session: Session, kind: bytes, window_bytes: int, packet_bytes: int, message: bytes = b"") -> Any:
    """Open a channel (RFC 4254 section 5.1): return it, or EAGAIN. Raises SSH2Error if the server refuses it."""
    opened = LIBSSH2.libssh2_channel_open_ex(
        pointer(session), kind, len(kind), window_bytes, packet_bytes, message, len(message)
    )
    if not opened:
        return handle_error_codes(session.last_errno())
    channel = Channel.__new__(Channel, session)
    pointer(channel).value = opened
    return channel


_signal = ctypes.c_void_p()
_signal_bytes = ctypes.c_size_t()
_signal_results = ctypes.byref(_signal), ctypes.byref(_signal_bytes), None, None, None, None
_exit_status = LIBSSH2.libssh2_channel_get_exit_status
_exit_signal = LIBSSH2.libssh2_channel_get_exit_signal


def _find_exit_status_offset() -> int:
    """Return the offset of the exit status in libssh2's channel structure, found by reading it from known numbers."""
    numbers = (ctypes.c_int * _MOST_INTEGERS)(*range(_MOST_INTEGERS))
    found: int = _exit_status(ctypes.addressof(numbers))
    return found * ctypes.sizeof(ctypes.c_int)


_EXIT_STATUS_OFFSET_BYTES = _find_exit_status_offset()


def expect_exit_status(channel: Channel) -> None:
    """Mark a new channel as having no exit status until the server sends one."""
    at = pointer(channel).value
    if at is not None:
        ctypes.c_int.from_address(at + _EXIT_STATUS_OFFSET_BYTES).value = _NO_EXIT_STATUS


def command_end(session: Session, channel: Channel) -> tuple[int | None, str]:
    """Return the exit code of a channel's command, and the name of the signal that killed it (KILL).

    `expect_exit_status` must have been called for the channel. The code is None if the server sent none, and the name
    is empty if no signal killed the command.
    """
    at = pointer(channel)
    status = _exit_status(at)
    exit_code = None if status == _NO_EXIT_STATUS else status & _EXIT_CODE_MASK
    _exit_signal(at, *_signal_results)
    if not _signal.value:
        return exit_code, ""
    name = ctypes.string_at(_signal.value, _signal_bytes.value).decode("ascii", "replace")
    LIBSSH2.libssh2_free(pointer(session), _signal)
    return exit_code, name


def own_file(handle: SFTPHandle) -> None:
    """Take over an open file from its Python object, which would crash if it were destroyed after the subsystem."""
    ctypes.c_int.from_address(id(handle) + _CLOSED_OFFSET_BYTES).value = 1


def close_file(handle: SFTPHandle) -> int:
    """Close and free a file from `own_file`: return 0 after the server's reply, or EAGAIN. Raises SSH2Error."""
    return int(handle_error_codes(LIBSSH2.libssh2_sftp_close_handle(pointer(handle))))


def ending_of(sftp: SFTP) -> Callable[[], int]:
    """Return a function that returns nonzero once the server has ended a subsystem and all its data is read.

    libssh2 itself would keep waiting for data. The function may be called until the subsystem is ended here.
    """
    return partial(LIBSSH2.libssh2_channel_eof, LIBSSH2.libssh2_sftp_get_channel(pointer(sftp)))


def channel_of(sftp: SFTP) -> Channel:
    """Return the channel of a subsystem, which now ends with this channel. `sftp` must not be used any more."""
    channel = sftp.get_channel()
    pointer(sftp).value = None
    return channel


def pointer(wrapper: Any) -> ctypes.c_void_p:
    """Return the libssh2 pointer in an ssh2-python object, for reading and writing."""
    return ctypes.c_void_p.from_address(id(wrapper) + _HEADER_BYTES)
