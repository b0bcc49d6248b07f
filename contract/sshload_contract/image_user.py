"""How a process gets the name of the images' user under any uid.

OpenSSH's programs exit if their uid has no entry in the user database, and an sshd that does not run as root accepts
logins only of the user whose uid it has. A uid that the cluster assigns, as OpenShift does, is not known before the
process starts.
"""

import os
import pwd
from pathlib import Path
from typing import Final

from sshload_contract.names import IMAGE_USER, IMAGE_USER_HOME

_USER_FILE: Final = Path("/var/lib/extrausers/passwd")  # what libnss-extrausers reads; a link to /tmp in the images
_GROUP: Final = 100  # libnss-extrausers skips users with a system group


def name_own_user(file: Path = _USER_FILE) -> None:
    """Give IMAGE_USER the uid of this process in this container, if it has another one.

    Outside the images, where `file` is not a symbolic link, this does nothing. uids below 500 get no name, because
    libnss-extrausers skips them. Raises OSError if the file cannot be written.
    """
    if not file.is_symlink() or any(
        user.pw_uid == os.getuid() for user in pwd.getpwall() if user.pw_name == IMAGE_USER
    ):
        return
    file.write_text(f"{IMAGE_USER}:*:{os.getuid()}:{_GROUP}::{IMAGE_USER_HOME}:/bin/bash\n", encoding="utf-8")
