"""How a process gets the name of the images' user under any uid.

OpenSSH's programs end where their uid has no entry in the user database, and an sshd that is not root lets in only the
user whose uid it has. A uid that the cluster chose, as OpenShift does, is not known before the process starts.
"""

import os
import pwd
from pathlib import Path
from typing import Final

from sshload_contract.names import IMAGE_USER, IMAGE_USER_HOME

_USER_FILE: Final = Path("/var/lib/extrausers/passwd")  # what libnss-extrausers reads; a link to /tmp in the images
_GROUP: Final = 100  # libnss-extrausers skips users whose group is one of the system's


def name_own_user(file: Path = _USER_FILE) -> None:
    """Let IMAGE_USER be the user of this process's uid, in this container, where that is another one.

    Outside of the images, where `file` is no symbolic link, nothing happens. uids below 500 stay without a name:
    libnss-extrausers skips them. Raises OSError where the file cannot be written.
    """
    if not file.is_symlink() or any(
        user.pw_uid == os.getuid() for user in pwd.getpwall() if user.pw_name == IMAGE_USER
    ):
        return
    file.write_text(f"{IMAGE_USER}:*:{os.getuid()}:{_GROUP}::{IMAGE_USER_HOME}:/bin/bash\n", encoding="utf-8")
