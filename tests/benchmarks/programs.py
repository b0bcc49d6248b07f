"""What the benchmarks start: Go programs, compiled on the way."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".cache/benchmarks"


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


def output(*command: str | Path) -> str:
    """Run a command and return what it prints; its complaints go to the terminal."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
