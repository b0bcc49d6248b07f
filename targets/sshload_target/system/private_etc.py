"""Whether /etc is private, so that accounts and PAM's files may be written there.

It is if it is a mount of its own that was marked when it was made: its mark names the device and the inode of the
mounted folder. No machine has such a file, and a copy of it elsewhere, or a mark that a backup brought back, names
another folder. Whoever makes a private /etc copies the machine's, or the image's, into it (`copy_etc`).

`python -m sshload_target.system.private_etc FOLDER` does that for a container whose /etc will be FOLDER's mount.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from sshload_target.errors import ConfigRefusedError

ETC: Final = Path("/etc")
_MARK: Final = ".sshload-private"
_MOUNTS: Final = Path("/proc/self/mountinfo")
_MOUNTED_AT: Final = 4  # the field of mountinfo, from 0: proc_pid_mountinfo(5)
_MATCHES_NOTHING: Final = "*"
_PASSWORD_FILES: Final = ("shadow", "gshadow")


def copy_etc(to: Path) -> None:
    """Copy /etc into a folder, mark it, and let no password of the copied accounts match; raises OSError.

    The copy keeps owners and modes. Backups of the files with passwords are left out.
    """
    copied = subprocess.run(  # noqa: S603 - our own arguments
        ["/bin/cp", "--archive", f"{ETC}/.", str(to)], capture_output=True, text=True, check=False
    )
    if copied.returncode != 0:
        raise OSError(f"{ETC} cannot be copied: {copied.stderr.strip()}")
    for name in _PASSWORD_FILES:
        (to / f"{name}-").unlink(missing_ok=True)
        if (to / name).exists():
            _forget_passwords(to / name)
    (to / _MARK).write_text(_identity(to), encoding="ascii")


def refuse_unless_private(etc: Path = ETC, mounts: Path = _MOUNTS) -> None:
    """Raise ConfigRefusedError unless an /etc was made to be written."""
    mounted = {line.split()[_MOUNTED_AT] for line in mounts.read_text(encoding="utf-8").splitlines()}
    mark = etc / _MARK
    is_marked = mark.is_file() and mark.read_text(encoding="utf-8", errors="replace") == _identity(etc)
    if str(etc) not in mounted or not is_marked:
        raise ConfigRefusedError(
            f"{etc} is not a private one that was made for this run, so that no accounts are made in it"
        )


def _identity(folder: Path) -> str:
    found = folder.stat()
    return f"{found.st_dev}:{found.st_ino}\n"


def _forget_passwords(file: Path) -> None:
    """Write a star in place of each password (shadow(5)), which no password matches and no key is refused for."""
    lines = (line.split(":") for line in file.read_text(encoding="utf-8").splitlines())
    kept = "".join(f"{':'.join((name, _MATCHES_NOTHING, *rest))}\n" for name, _, *rest in lines)
    os.truncate(file, 0)
    file.write_text(kept, encoding="utf-8")


if __name__ == "__main__":
    copy_etc(Path(sys.argv[1]))
