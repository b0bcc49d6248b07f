"""A program in the path: its configuration with all places filled in, its limit of open files, and its start."""

import os
import resource
import signal
import socket
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from sshload_contract.wire.program import (
    ADDRESS_PLACE,
    FOLDER_PLACE,
    SERVER_PLACE,
    ProgramConfig,
)

from sshload_target.config_file import read_config_file
from sshload_target.errors import ConfigRefusedError, InterruptedTargetError
from sshload_target.pid1 import stop_is_pending

_LOOK_UP_AGAIN_S: Final = 0.2
_IPV6_ADDRESSES: Final = Path("/proc/net/if_inet6")
_EVERY_IPV4: Final = "0.0.0.0"  # noqa: S104 -- the pod's own addresses


def read_config(file: Path) -> ProgramConfig:
    """Return the configuration in a file; raises ConfigRefusedError with the path of what is wrong in it."""
    config = read_config_file(ProgramConfig, file)
    if not config.command:
        raise ConfigRefusedError(f"{file}: command is empty")
    return config


def make_ready(config: ProgramConfig, host: str, folder: Path) -> Sequence[str]:
    """Raise the limit of open files, write the program's configuration into `folder`, and return the whole command.

    Where the configuration has a place for the server, it waits until the server's name is known, as DNS knows a new
    Service only after a while. Raises ConfigRefusedError if so many files are not allowed, and
    InterruptedTargetError where a stop signal comes meanwhile.
    """
    allow_open_files(config.open_files)
    text = config.config
    for place, value in (
        (ADDRESS_PLACE, _in_brackets(host) if host else _every_address()),
        (FOLDER_PLACE, str(folder)),
    ):
        text = text.replace(place, value)
    if SERVER_PLACE in text:
        text = text.replace(SERVER_PLACE, _in_brackets(_look_up(config.server)))
    path = folder / "program.conf"
    path.write_text(text)
    return (*config.command, str(path))


def allow_open_files(wanted: int) -> None:
    """Let this process, and what it starts, have so many files open; raises ConfigRefusedError if it may not."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < wanted:
        raise ConfigRefusedError(
            f"the program needs {wanted} open files, and may have {hard} (ulimit -Hn): let it have fewer connections,"
            " or raise the limit of the container runtime"
        )
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _every_address() -> str:
    """Return the wildcard address of both families, or of IPv4 if there is no IPv6."""
    has_ipv6 = _IPV6_ADDRESSES.exists() and bool(_IPV6_ADDRESSES.read_text())
    return "[::]" if has_ipv6 else _EVERY_IPV4


def _look_up(name: str) -> str:
    while not stop_is_pending():
        try:
            return str(socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)[0][4][0])
        except socket.gaierror:
            time.sleep(_LOOK_UP_AGAIN_S)
    raise InterruptedTargetError(f"ended before the name {name} was known")


def _in_brackets(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def start(command: Sequence[str]) -> int:
    """Start the command and return its process id; it has no signal blocked, whatever is so in this process.

    Raises ConfigRefusedError if there is no such program.
    """
    try:
        return os.posix_spawnp(
            command[0],
            list(command),
            os.environ,
            file_actions=[(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)],
            setsigmask=[],
            setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],
        )
    except OSError as error:
        raise ConfigRefusedError(f"{command[0]} cannot be started: {error.strerror or error}") from error
