"""A copy of /etc with one more user in it, for the mount namespace of a process; the machine's /etc is left as it is.

A copy of /etc/passwd alone would not do: its mount ends when a package that is installed meanwhile replaces the file.
"""

import subprocess
from pathlib import Path

UID = 10_001  # as in the target's image
NAME = "load"


def etc_with_user(folder: Path, home: Path) -> Path:
    """Return a copy of /etc in this folder, with a user NAME who lives in `home`. Only root can make it."""
    subprocess.run(["cp", "--archive", "/etc", folder / "etc"], check=True)
    with (folder / "etc/passwd").open("a") as users:
        users.write(f"{NAME}:*:{UID}:{UID}::{home}:/bin/sh\n")
    return folder / "etc"
