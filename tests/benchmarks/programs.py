"""What the benchmarks start: Go programs, compiled on the way, and the Python of the worker's image."""

import ctypes
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".cache/benchmarks"

_CLONE_NEWNS = 0x0002_0000
_OF_THE_MACHINE = ("/proc", "/sys", "/dev", tempfile.gettempdir(), str(ROOT))


@dataclass(frozen=True, slots=True)
class Server:
    """A server on loopback, with the public key that it shows."""

    port: int
    host_key: str


def compiled(name: str) -> Path:
    """Return the Go program of that folder; it is compiled if its sources changed."""
    go = output(ROOT / "scripts/find-go").strip()
    CACHE.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "GOTOOLCHAIN": "local", "CGO_ENABLED": "0"}
    folder = ROOT / "tests/benchmarks" / name
    subprocess.run([go, "build", "-trimpath", "-o", CACHE / name, "."], cwd=folder, check=True, env=environment)
    return CACHE / name


@contextmanager
def server_double() -> Iterator[Server]:
    """Run the cheap SSH server until the block ends."""
    with _listening(compiled("server_double")) as lines:
        yield Server(port=_port(next(lines)), host_key=next(lines))


@contextmanager
def delay_proxy(target_port: int, delay_ms: float) -> Iterator[int]:
    """Run the proxy that delays each direction until the block ends; yield its port."""
    command = compiled("delay_proxy"), "-target", f"127.0.0.1:{target_port}", "-delay", f"{delay_ms}ms"
    with _listening(*command) as lines:
        yield _port(next(lines))


@contextmanager
def _listening(*command: str | Path) -> Iterator[Iterator[str]]:
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield iter(process.stdout.readline, "")
        finally:
            process.stdin.close()  # which is what ends it


def _port(address: str) -> int:
    return int(address.strip().rpartition(":")[2])


def python_in(root: Path) -> tuple[str, ...]:
    """Return the command of an image's Python, for which some of the machine's folders are mounted among its files.

    `root` has the files of the image (scripts/images root). The mounts are of this process and its children alone, and
    go with them. Needs root; raises OSError without.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNS):
        raise OSError(ctypes.get_errno(), "no mount namespace of its own")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    for folder in _OF_THE_MACHINE:
        place = root / folder.removeprefix("/")
        place.mkdir(parents=True, exist_ok=True)
        subprocess.run(["mount", "--rbind", folder, place], check=True)
    return "chroot", str(root), "/opt/sshload/bin/python"


def output(*command: str | Path) -> str:
    """Run a command and return what it prints; its complaints go to the terminal."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
