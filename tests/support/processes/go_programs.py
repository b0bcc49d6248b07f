"""Go programs for tests: each compiled once, for all checkouts, from modules that a go.sum locks."""

import fcntl
import hashlib
import os
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from testing.machine import CACHE

ROOT = Path(__file__).parents[3]

FEW_OPTIMISATIONS = ("-gcflags", "all=-dwarf=false -l", "-ldflags", "-s -w")
"""Flags of a build that is done soon."""


@dataclass(frozen=True, slots=True)
class Go:
    """The command go, with modules and compiled packages of its own."""

    path: str
    environment: Mapping[str, str]

    def run(self, module: Path, *arguments: str | Path) -> str:
        """Run it in the folder of a module and return what it prints; raises CalledProcessError where it fails."""
        return subprocess.run(
            [self.path, *arguments], cwd=module, check=True, env=self.environment, stdout=subprocess.PIPE, text=True
        ).stdout


def compiled(name: str, made_from: Iterable[Path], make: Callable[[Go, Path], None]) -> Path:
    """Return the folder that `make` has filled, now or before, from these files.

    What the compiler needed is taken away again.
    """
    key = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(made_from))).hexdigest()[:16]
    folder = CACHE / f"{name}-{key}"
    if not folder.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with (CACHE / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.exists():  # another process may have made it meanwhile
                _fill(folder, make)
    return folder


def _fill(folder: Path, make: Callable[[Go, Path], None]) -> None:
    path = subprocess.run([ROOT / "scripts/find-go"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    with TemporaryDirectory(dir=CACHE) as own:
        environment = {
            "GOMODCACHE": f"{own}/modules",
            "GOCACHE": f"{own}/build",
            **os.environ,
            "GOTOOLCHAIN": "local",
            "GOFLAGS": "-modcacherw -mod=readonly",
            "CGO_ENABLED": "0",
            "GOGC": "off",  # the compiler's own garbage collector takes a fifth of its CPU time
            "GOMEMLIMIT": "1GiB",
        }
        made = Path(own, "made")
        made.mkdir()
        make(Go(path, environment), made)
        made.rename(folder)
