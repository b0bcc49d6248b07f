"""A program in the path to a managed target: the configuration that its PID 1 reads, and its answers."""

from dataclasses import dataclass, field
from typing import Final

from sshload_contract.bounds import WIRE_VERSION, Amount, Count

ADDRESS_PLACE: Final = "@ADDRESS@"
"""The placeholder in a program's configuration for the address on which it must listen; IPv6 in brackets."""

SERVER_PLACE: Final = "@SERVER@"
"""The placeholder for the address of the server; IPv6 in brackets."""

FOLDER_PLACE: Final = "@FOLDER@"
"""The placeholder for the path of a folder of the program's own, in which it may write."""


@dataclass(frozen=True, slots=True)
class ProgramConfig:
    """A program in the path, as its PID 1 reads it from `--config`.

    `command` is run with the path of a file as its last argument. The file has `config` with its placeholders replaced.
    `server` is the name or address of the server. If `config` has a placeholder for it, a name is resolved once, before
    the start. The program listens on `port`, and its PID 1 answers on `stats_port`. `open_files` is how many files it
    must be able to have open at once.
    """

    version: int = field(default=WIRE_VERSION, kw_only=True)
    command: tuple[str, ...]
    config: str
    server: str
    port: int
    stats_port: int
    open_files: int


@dataclass(frozen=True, slots=True)
class ProgramStats:
    """What a program has used since its start.

    `cpu_s` is user and system time of all its processes, without the PID 1 that observes them, and without the time for
    their packets that the kernel accounts to other processes. `cpu_throttled_s` is how long the container's CPU limit
    throttled it. `memory_peak_bytes` is the sum of the peak resident memory of its processes, so shared pages count for
    each; it excludes the kernel's memory for connections. It is None if the kernel does not report it.
    """

    version: int = field(default=WIRE_VERSION, kw_only=True)
    cpu_s: Amount
    cpu_throttled_s: Amount
    memory_peak_bytes: Count | None


@dataclass(frozen=True, slots=True)
class ProgramUse:
    """The answers of a program just before the load and just after it."""

    before: ProgramStats
    after: ProgramStats
