"""The proxy of a local run: this machine's own, whether it is there, and how many connections it takes."""

import resource
import shutil
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from sshload_operator.api.targets.proxy import Proxy
from sshload_operator.local.process import LOOPBACK, Here, LocalProgram
from sshload_operator.local.sshd import LocalRunError
from sshload_operator.planning.proxy_programs import (
    FILES_PER_CONNECTION,
    OTHER_FILES,
    PROXY_PROGRAMS,
    ProxyPlaces,
    program_config,
)

_SEARCHED: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_TIMEOUT_S: Final = 10.0
_NAME_WORDS: Final = 3
_MOST_NAME: Final = 100


@dataclass(frozen=True, slots=True)
class LocalProxy:
    """An installed proxy: where its program is, and what it calls itself."""

    path: str
    name: str


def installed_proxy(proxy: Proxy) -> LocalProxy:
    """Return this machine's proxy of the kind; raises LocalRunError if there is none that runs."""
    program = PROXY_PROGRAMS[proxy.kind]
    path = shutil.which(program.name, path=_SEARCHED)
    if path is None or not all(Path(module).exists() for module in program.modules):
        raise LocalRunError(
            f"spec.target.managed.proxy: {program.name} is not installed: `apt-get install"
            f" {' '.join(program.packages)}`, or leave the proxy out"
        )
    asked = subprocess.run(  # noqa: S603 - a fixed path without arguments from outside
        [path, program.version_argument], capture_output=True, text=True, check=False, timeout=_TIMEOUT_S
    )
    said = (asked.stdout or asked.stderr).splitlines()
    if asked.returncode != 0 or not said:
        raise LocalRunError(
            f"spec.target.managed.proxy: {path} {program.version_argument} ended with {asked.returncode}: reinstall"
            f" {program.name}"
        )
    return LocalProxy(path, " ".join(said[0].split()[:_NAME_WORDS])[:_MOST_NAME])


async def local_proxy(proxy: Proxy, here: Here) -> LocalProgram:
    """Return how this machine runs its own proxy; raises LocalRunError."""
    installed = installed_proxy(proxy)
    fitted, notes = fitting(proxy)
    places = ProxyPlaces(here.port, next(here.free), LOOPBACK, here.behind, installed.path, here.speaks_http)
    note = f"the proxy is this machine's {installed.name}, which shares its CPUs with the rest"
    return LocalProgram(program_config(fitted, places), places.stats_port, (note, *notes))


def fitting(proxy: Proxy) -> tuple[Proxy, tuple[str, ...]]:
    """Return the proxy with as many connections as this user's limit of open files allows, and a note if that is fewer.

    Raises LocalRunError if the limit allows none.
    """
    _, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    room = (most_files - OTHER_FILES) // FILES_PER_CONNECTION
    if most_files == resource.RLIM_INFINITY or room >= proxy.max_connections:
        return proxy, ()
    if room < 1:
        raise LocalRunError(
            f"spec.target.managed.proxy: {most_files} open files are too few for {proxy.kind}: raise ulimit -Hn"
        )
    note = (
        f"the proxy passes on at most {room} connections at once, and not {proxy.max_connections}, because this user"
        f" may open {most_files} files (ulimit -Hn)"
    )
    return replace(proxy, max_connections=room), (note,)
