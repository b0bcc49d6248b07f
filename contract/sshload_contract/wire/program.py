"""A program in the path to a managed target, seen from outside: what its PID 1 reads, and what it answers."""

from dataclasses import dataclass
from typing import Final

from sshload_contract.wire.bounds import Amount, Count

PROGRAM_CONFIG_VERSION: Final = 1
PROGRAM_STATS_VERSION: Final = 1

ADDRESS_PLACE: Final = "@ADDRESS@"
"""Where the configuration of a program has the address on which it is to listen; one of IPv6 stands in brackets."""

SERVER_PLACE: Final = "@SERVER@"
"""Where it has the address of the server, likewise."""

FOLDER_PLACE: Final = "@FOLDER@"
"""Where it has the path of a folder of its own, in which it may write."""


@dataclass(frozen=True, slots=True)
class ProgramConfig:
    """A program in the path, as its PID 1 reads it from `--config`.

    `command` is what is run, followed by the path of the file with `config`, whose places are filled in before.
    `server` is the name or address of the server. Where `config` has a place for it, a name is looked up once, before
    the start. The program listens on `port`, and its PID 1 answers on `stats_port`. `open_files` is how many files it
    must be able to have open at once.
    """

    version: int
    command: tuple[str, ...]
    config: str
    server: str
    port: int
    stats_port: int
    open_files: int


@dataclass(frozen=True, slots=True)
class ProgramStats:
    """What a program has used since its start.

    `cpu_s` is user and system time of all its processes, without the PID 1 that observes them, and without what the
    kernel does for their packets in the time of others. `cpu_throttled_s` is how long the container's CPU limit held it
    up. `memory_peak_bytes` is the most resident memory of each of its processes, added up, so that pages that they
    share count for each; the kernel's memory for connections is not in it. It is None where the kernel does not tell.
    """

    version: int
    cpu_s: Amount
    cpu_throttled_s: Amount
    memory_peak_bytes: Count | None


@dataclass(frozen=True, slots=True)
class ProgramUse:
    """What a program told just before the load and just after it."""

    before: ProgramStats
    after: ProgramStats
