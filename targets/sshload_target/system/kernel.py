"""Linux's calls for namespaces and mounts, which Python 3.11 has not."""

import ctypes
import os
from collections.abc import Mapping
from typing import Final

CLONE_NEWNS: Final = 0x0002_0000
CLONE_NEWIPC: Final = 0x0800_0000
CLONE_NEWPID: Final = 0x2000_0000
MS_NOSUID: Final = 0x2
MS_NODEV: Final = 0x4
MS_NOEXEC: Final = 0x8
MS_BIND: Final = 0x1000
MS_REC: Final = 0x4000
MS_PRIVATE: Final = 0x4_0000
_PR_SET_PDEATHSIG: Final = 1
_PR_CAPBSET_DROP: Final = 24
_SYS_MOUNT_SETATTR: Final = 442
"""The number on every architecture; mount_setattr(2) is in Linux since 5.12."""
_AT_FDCWD: Final = -100
_AT_RECURSIVE: Final = 0x8000
_MOUNT_ATTR_RDONLY: Final = 0x1

_libc = ctypes.CDLL(None, use_errno=True)


class _MountAttributes(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "user_namespace"))


def unshare(flags: int) -> None:
    """Leave namespaces for new ones (unshare of Linux); raises OSError."""
    _check(_libc.unshare(flags), "unshare")


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    """Attach a file system, or a folder, to a place in the tree; raises OSError."""
    texts = (text.encode() or None for text in (source, target, kind))
    _check(_libc.mount(*texts, ctypes.c_ulong(flags), options.encode() or None), f"mount on {target}")


def set_read_only(path: str, *, recursively: bool = False, read_only: bool = True) -> None:
    """Let nothing be written by a mount, with those below it or alone, or let it again; raises OSError."""
    change = {"set" if read_only else "clear": _MOUNT_ATTR_RDONLY}
    attributes = _MountAttributes(**change)
    flags = _AT_RECURSIVE if recursively else 0
    done = _libc.syscall(
        ctypes.c_long(_SYS_MOUNT_SETATTR),
        ctypes.c_int(_AT_FDCWD),
        path.encode(),
        ctypes.c_uint(flags),
        ctypes.byref(attributes),
        ctypes.c_size_t(ctypes.sizeof(attributes)),
    )
    _check(done, f"mount_setattr on {path}")


def signal_at_parents_end(number: int) -> None:
    """Have this process sent a signal when its parent ends (PR_SET_PDEATHSIG of prctl(2)); raises OSError."""
    _check(_libc.prctl(_PR_SET_PDEATHSIG, number), "prctl(PR_SET_PDEATHSIG)")


def forgo(capabilities: Mapping[str, int]) -> None:
    """Let no program that is started from here on have these (PR_CAPBSET_DROP of prctl(2)); raises OSError."""
    for name, number in capabilities.items():
        _check(_libc.prctl(_PR_CAPBSET_DROP, number), f"prctl(PR_CAPBSET_DROP, {name})")


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
