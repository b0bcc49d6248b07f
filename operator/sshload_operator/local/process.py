"""One process of a local run: this Python with a module of ours, on loopback."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from sshload_operator.local.sshd import LocalRunError
from sshload_operator.state import Role

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
class LocalProgram:
    """A program in the path to the target: its process, where it serves its counts, and what to know of it."""

    process: LocalProcess
    stats_port: int
    notes: tuple[str, ...]


def last_words_path(folder: Path, name: str) -> Path:
    """Return where a process leaves the reason of its failure, as a container does in /dev/termination-log."""
    return folder / f"{name}.last-words"


def python(module: str, *arguments: str) -> tuple[str, ...]:
    """Return the command that runs a module with this Python."""
    return (sys.executable, "-P", "-m", module, *arguments)


def in_path(role: Role, config: str, ready_port: int) -> LocalProcess:
    """Return the process of a program in the path to the target; `config` is the name of its file."""
    command = python("sshload_target.in_path", "--config", config, "--host", LOOPBACK)
    return LocalProcess(str(role), role, command, ready_port)


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
