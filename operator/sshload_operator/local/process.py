"""One process of a local run: this Python with a module of ours, on loopback."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from sshload_contract.wire.program import ProgramConfig

from sshload_operator.local.sshd import LocalRunError
from sshload_operator.state import Role
from sshload_operator.world.keys import Keys

LOOPBACK: Final = "127.0.0.1"
_SECRET_MODE: Final = 0o600


@dataclass(frozen=True, slots=True)
class LocalProcess:
    """One process to start, and the port on loopback whose `/readyz` says that it is ready (None: it has none)."""

    name: str
    role: Role
    command: Sequence[str]
    ready_port: int | None


@dataclass(frozen=True, slots=True)
class Here:
    """What a program in the path is given: its port, that of what is behind it, free ones, and the run's folder.

    `keys` are those of the target, on which they let `user` in, and valid for `valid_s`. `speaks_http` says what the
    workers send to it.
    """

    port: int
    behind: int
    free: Iterator[int]
    folder: Path
    user: str
    keys: Keys
    valid_s: float
    speaks_http: bool


@dataclass(frozen=True, slots=True)
class LocalProgram:
    """A program in the path: what its PID 1 reads, the port on loopback that says it is ready, and what to know."""

    config: ProgramConfig
    ready_port: int
    notes: tuple[str, ...]


def last_words_path(folder: Path, name: str) -> Path:
    """Return where a process leaves the reason of its failure, as a container does in /dev/termination-log."""
    return folder / f"{name}.last-words"


def python(module: str, *arguments: str) -> tuple[str, ...]:
    """Return the command that runs a module with this Python."""
    return (sys.executable, "-P", "-m", module, *arguments)


def stats_url(port: int) -> str:
    """Return where the counts are that are served at this port."""
    return f"http://{LOOPBACK}:{port}/stats"


def require_libraries(need: str, libraries: Sequence[str], extras: str = "extra local") -> None:
    """Raise LocalRunError where what `need` speaks of is not installed."""
    missing = [name for name in libraries if find_spec(name) is None]
    if missing:
        raise LocalRunError(
            f"{need} {', '.join(missing)}, which is not installed here: install sshload with its {extras}, as"
            " `make venv` does"
        )


def write_secret(path: Path, text: str) -> None:
    """Write a file that only this user can read; raises OSError."""
    path.touch(mode=_SECRET_MODE)
    path.write_text(text, encoding="ascii")
