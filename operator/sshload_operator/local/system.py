"""Whether this machine can run a target as its distribution has it (`target.managed.system`)."""

import os
import subprocess
from typing import Final

from sshload_operator.local.sshd import LocalRunError

_UNSHARE: Final = ("/usr/bin/unshare", "--mount", "--pid", "--ipc", "--fork", "--mount-proc", "true")
"""unshare(1) of util-linux, which Debian and Ubuntu cannot be without."""
_TIMEOUT_S: Final = 10.0


def check_system() -> None:
    """Raise LocalRunError if this user, or this machine's kernel, cannot have namespaces with accounts of their own."""
    if os.geteuid() != 0:
        raise LocalRunError(
            "spec.target.managed.system needs root, because only root's sshd logs in other users with PAM: run it with"
            " sudo, in a cluster, or without system"
        )
    try:
        tried = subprocess.run(  # noqa: S603 - our own command
            _UNSHARE, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S
        )
    except FileNotFoundError as error:
        raise LocalRunError(f"spec.target.managed.system needs unshare(1) of util-linux: {error}") from error
    if tried.returncode != 0:
        raise LocalRunError(
            "spec.target.managed.system needs mount and process namespaces, which this machine refuses"
            f" ({tried.stderr.strip()}): run it outside of a container, or without system"
        )
