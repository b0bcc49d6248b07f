"""The worker as users run it: its image's Python, libraries and code, as files in a folder (scripts/images root)."""

import ctypes
import subprocess
import tempfile
from pathlib import Path

from programs import ROOT

_CLONE_NEWNS = 0x0002_0000
_OF_THE_MACHINE = ("/proc", "/sys", "/dev", tempfile.gettempdir(), str(ROOT))


def python_in(root: Path) -> tuple[str, ...]:
    """Return the command of an image's Python, for which some of the machine's folders are mounted among its files.

    The mounts are of this process and its children alone, and go with them. Needs root; raises OSError without.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNS):
        raise OSError(ctypes.get_errno(), "no mount namespace of its own")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    for folder in _OF_THE_MACHINE:
        place = root / folder.removeprefix("/")
        place.mkdir(parents=True, exist_ok=True)
        subprocess.run(["mount", "--rbind", folder, place], check=True)
    return "chroot", str(root), "/opt/sshload/bin/python"
