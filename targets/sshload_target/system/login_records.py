"""The files in which sshd and PAM record logins, if they exist: utmp(5), wtmp, btmp and lastlog."""

import grp
import os
from pathlib import Path
from typing import Final

_GROUP: Final = "utmp"
_FILES: Final = {"/run/utmp": 0o664, "/var/log/wtmp": 0o664, "/var/log/lastlog": 0o664, "/var/log/btmp": 0o660}


def make_login_records() -> None:
    """Make those that do not exist, empty, as distributions do; raises OSError."""
    groups = {one.gr_name: one.gr_gid for one in grp.getgrall()}
    for file, mode in _FILES.items():
        if not Path(file).exists():
            Path(file).touch()
            os.chown(file, 0, groups.get(_GROUP, 0))
            Path(file).chmod(mode)
