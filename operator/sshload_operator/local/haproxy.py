"""The HAProxy of this machine, as the proxy of a local run: whether it is there, and how many connections it takes."""

import resource
import shutil
import subprocess
from dataclasses import dataclass, replace
from typing import Final

from sshload_operator.api.proxy import Proxy
from sshload_operator.local.sshd import LocalRunError

_SEARCHED: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_TIMEOUT_S: Final = 10.0
_FILES_PER_CONNECTION: Final = 2
_OTHER_FILES: Final = 200
_MOST_NAME: Final = 100


@dataclass(frozen=True, slots=True)
class LocalHaproxy:
    """The installed HAProxy: where it is, and what it calls itself."""

    path: str
    name: str


def installed_haproxy() -> LocalHaproxy:
    """Return this machine's HAProxy; raises LocalRunError where there is none that runs."""
    path = shutil.which("haproxy", path=_SEARCHED)
    if path is None:
        raise LocalRunError(
            "spec.target.managed.proxy: haproxy is not installed: `apt-get install haproxy`, or leave the proxy out"
        )
    asked = subprocess.run(  # noqa: S603 - a fixed path without arguments from outside
        [path, "-v"], capture_output=True, text=True, check=False, timeout=_TIMEOUT_S
    )
    if asked.returncode != 0 or not asked.stdout:
        raise LocalRunError(f"spec.target.managed.proxy: {path} -v ended with {asked.returncode}: reinstall haproxy")
    return LocalHaproxy(path, " ".join(asked.stdout.splitlines()[0].split()[:3])[:_MOST_NAME])


def fitting(proxy: Proxy) -> tuple[Proxy, tuple[str, ...]]:
    """Return the proxy with as many connections as this user's limit of open files allows, and a note if that is fewer.

    Raises LocalRunError where the limit allows none.
    """
    _, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    room = (most_files - _OTHER_FILES) // _FILES_PER_CONNECTION
    if most_files == resource.RLIM_INFINITY or room >= proxy.max_connections:
        return proxy, ()
    if room < 1:
        raise LocalRunError(
            f"spec.target.managed.proxy: {most_files} open files are too few for haproxy: raise ulimit -Hn"
        )
    note = (
        f"the proxy passes on at most {room} connections at once, and not {proxy.max_connections}, because this user"
        f" may open {most_files} files (ulimit -Hn)"
    )
    return replace(proxy, max_connections=room), (note,)
