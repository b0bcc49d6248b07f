"""The namespaces of a target on a machine that is not its own: a process table, mounts and IPC that end with it.

In them nothing of the machine can be written: all its file systems are read-only, and where programs write there is
memory (tmpfs) that nobody else sees. Nor can root's programs there mount anything, or reach a disk. sshd and PAM are
the machine's, and so is /etc, in a copy. No daemon of the machine can be asked (its sockets are in /run):
systemd-logind, nscd, sssd and the journal take no part, and hear nothing.
"""

import os
import signal
import stat
import sys
from pathlib import Path
from typing import Final, NoReturn

from sshload_target.errors import ConfigRefusedError
from sshload_target.pid1 import AWAITED_SIGNALS, STOP_SIGNALS
from sshload_target.system import kernel
from sshload_target.system.private_etc import ETC, copy_etc

_NO_MORE: Final = kernel.MS_NOSUID | kernel.MS_NODEV
_EMPTY: Final = {
    "/home": "mode=0755,nr_inodes=1m",
    "/run": "mode=0755",
    "/var/log": "mode=0755",
    "/tmp": "mode=1777",  # noqa: S108 - the mode of one of its own
    "/var/tmp": "mode=1777",  # noqa: S108 - likewise
    "/dev/shm": "mode=1777",  # noqa: S108 - likewise
}
"""What begins empty, with its options of tmpfs(5). 100,000 homes take 600,000 inodes."""
FOLDERS_ONLY: Final = (
    "/var/lib/extrausers",
    "/var/lib/krb5kdc",
    "/var/lib/lastlog",
    "/var/lib/ldap",
    "/var/lib/sss",
)
"""Where daemons keep what they know: their folders stay, with owners and modes, and their files are not seen."""
_DEVICES: Final = Path("/dev")
_KEPT_DEVICES: Final = ("full", "null", "random", "tty", "urandom", "zero")
_DEVICE_LINKS: Final = {
    "fd": "/proc/self/fd",
    "ptmx": "pts/ptmx",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
}
_FORGONE: Final = {
    "NET_ADMIN": 12,
    "SYS_MODULE": 16,
    "SYS_RAWIO": 17,
    "SYS_ADMIN": 21,
    "SYS_BOOT": 22,
    "SYS_TIME": 25,
    "MKNOD": 27,
    "MAC_OVERRIDE": 32,
    "MAC_ADMIN": 33,
    "SYSLOG": 34,
    "PERFMON": 38,
    "BPF": 39,
    "CHECKPOINT_RESTORE": 40,
}
"""What no program started from here on has, not even root's: with these it could leave, or change the machine.

The numbers are those of capabilities(7) in linux/capability.h.
"""
_OF_THE_MACHINE: Final = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")
"""Where /proc has settings of the whole machine, as container engines know them."""
_PSEUDO_TERMINALS: Final = "/dev/pts"
_GROUP_OF_TERMINALS: Final = 5
"""tty, in every distribution; grantpt(3)."""


def enter(folder: Path) -> None:
    """Go on in namespaces of this process's own, as the first process in them. `folder` is the only one to write to.

    The calling process does not return: it passes stop signals on, and ends as the one that went on. Raises
    ConfigRefusedError if the kernel refuses them.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, AWAITED_SIGNALS)
    try:
        kernel.unshare(kernel.CLONE_NEWNS | kernel.CLONE_NEWPID | kernel.CLONE_NEWIPC)
    except OSError as error:
        raise ConfigRefusedError(f"this machine gives no namespaces: {error}") from error
    inside = os.fork()
    if inside:
        _follow(inside)
    kernel.signal_at_parents_end(signal.SIGKILL)
    try:
        _make_private(folder)
    except OSError as error:
        raise ConfigRefusedError(f"the namespaces cannot be made ready: {error}") from error


def _follow(inside: int) -> NoReturn:
    """Wait for the process in the namespaces, and end as it does. A stop signal is passed on to it."""
    while True:
        received = signal.sigwait(AWAITED_SIGNALS)
        if received in STOP_SIGNALS:
            os.kill(inside, signal.SIGTERM)
        ended, status = os.waitpid(inside, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else 128 - code)


def _make_private(folder: Path) -> None:
    wanted = _programs_below(tuple(_EMPTY))
    kept = {path: os.open(path, os.O_PATH) for path in (*wanted, folder)}
    kernel.mount("", "/", flags=kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.set_read_only("/", recursively=True)
    kernel.mount("proc", "/proc", "proc", _NO_MORE | kernel.MS_NOEXEC)
    for place in filter(os.path.exists, _OF_THE_MACHINE):
        kernel.mount(place, place, flags=kernel.MS_BIND)
        kernel.set_read_only(place)
    _make_etc()
    _make_devices()
    for place, options in _EMPTY.items():
        kernel.mount("tmpfs", place, "tmpfs", _NO_MORE, options)
    for place in FOLDERS_ONLY:
        _empty_files(Path(place))
    terminals = f"newinstance,ptmxmode=0666,mode=0620,gid={_GROUP_OF_TERMINALS}"
    kernel.mount("devpts", _PSEUDO_TERMINALS, "devpts", options=terminals)
    for path, descriptor in kept.items():
        path.mkdir(parents=True, exist_ok=True)
        kernel.mount(f"/proc/self/fd/{descriptor}", str(path), flags=kernel.MS_BIND)
        os.close(descriptor)
    kernel.set_read_only(str(folder), read_only=False)
    os.chdir(folder)
    os.environ.pop("TMPDIR", None)  # a folder that is not seen here
    kernel.forgo(_FORGONE)


def _programs_below(places: tuple[str, ...]) -> tuple[Path, ...]:
    """Return the folders of this Python, and of its modules, that would no longer be seen."""
    folders = {Path(path).resolve() for path in (sys.prefix, sys.base_prefix, *filter(None, sys.path))}
    hidden = [folder for folder in folders if folder.is_dir() and any(folder.is_relative_to(place) for place in places)]
    return tuple(sorted(hidden))


def _make_etc() -> None:
    """Mount a copy of /etc on it. The copy is made elsewhere, because the original is seen until then."""
    kernel.mount("tmpfs", "/var/tmp", "tmpfs", _NO_MORE, "mode=0755")  # noqa: S108 - a mount of its own
    copy = Path("/var/tmp")  # noqa: S108 - likewise
    copy_etc(copy)
    kernel.mount(str(copy), str(ETC), flags=kernel.MS_BIND)


def _make_devices() -> None:
    """Mount a /dev with those devices only that every program may use: a disk can be written past its file system."""
    kept = {name: os.open(_DEVICES / name, os.O_PATH) for name in _KEPT_DEVICES}
    kernel.mount("tmpfs", str(_DEVICES), "tmpfs", kernel.MS_NOSUID | kernel.MS_NOEXEC, "mode=0755")
    for name, descriptor in kept.items():
        (_DEVICES / name).touch()
        kernel.mount(f"/proc/self/fd/{descriptor}", str(_DEVICES / name), flags=kernel.MS_BIND)
        os.close(descriptor)
    for name, to in _DEVICE_LINKS.items():
        (_DEVICES / name).symlink_to(to)
    for folder in ("pts", "shm"):
        (_DEVICES / folder).mkdir()


def _empty_files(place: Path) -> None:
    """Put memory on a folder, with the folders below it and none of its files."""
    if not place.is_dir():
        return
    below = [(Path(folder), os.stat(folder)) for folder, _, _ in os.walk(place)]  # noqa: PTH116 - of os.walk
    kernel.mount("tmpfs", str(place), "tmpfs", _NO_MORE)
    for folder, found in below:
        folder.mkdir(exist_ok=True)
        os.chown(folder, found.st_uid, found.st_gid)
        folder.chmod(stat.S_IMODE(found.st_mode))
