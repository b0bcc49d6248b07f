"""A server on a core of its own, in a cgroup of its own, with what the tests read in the home of its user."""

import os
import random
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from below import end_with_all_below
from git_repository import git_repository
from measurements import FILE_MB
from other_servers import listens
from own_cgroups import OwnCgroups, own_cgroups
from servers import Place, Server, within
from sshload_contract.wire.target import Usage
from sshload_target.usage.cgroups import CgroupV1Reader, CgroupV2Reader

_STARTS_WITHIN_S = 60.0
_POLL_S = 0.02
_PLENTY_OF_MEMORY = 12 * 1024**3
_PLENTY_OF_PROCESSES = 20_000
_ONCE_TOLD = 'read -r go && exec "$@" < /dev/null'
"""Starts a command once it is told to: when this process is in its cgroup."""

_MANY = 10_000
_SOURCES = 2_000
_SOURCE_BYTES = 4_000


class NotStartedError(Exception):
    """A server does not listen; the text is what it said."""


@dataclass(frozen=True)
class Running:
    """A server that listens, and the files that a client needs."""

    place: Place
    known_hosts: Path
    cgroup: OwnCgroups
    core: int

    def usage(self) -> Usage:
        """Return what all its processes have used, those that ended too, as the product reads it of a pod's target."""
        places = self.cgroup.places
        by_controller = {one.parent.name: (one,) for one in places}
        if "cpuacct" in by_controller:
            return CgroupV1Reader(by_controller["cpuacct"], by_controller["memory"], (), ()).read()
        return CgroupV2Reader(places[0]).read()


def make_content(home: Path) -> None:
    """Make what the tests read, in the folder `league` of a home."""
    folder = home / "league"
    (folder / "many").mkdir(parents=True)
    for number in range(_MANY):
        (folder / f"many/file-{number:05}").touch()
    (folder / "file").write_bytes(_random(1).randbytes(round(FILE_MB * 1e6)))
    sources = folder / "sources"
    sources.mkdir()
    drawn = _random(2)
    for number in range(_SOURCES):
        (sources / f"source-{number:04}").write_bytes(drawn.randbytes(_SOURCE_BYTES // 2).hex().encode())
    repository = git_repository(sources)
    repository.commit()
    repository.git("clone", "--quiet", "--bare", ".", str(folder / "project.git"))
    repository.git("--git-dir", str(folder / "project.git"), "gc", "--quiet")


def _random(seed: int) -> random.Random:
    """Return content that cannot be compressed, and is the same each time."""
    return random.Random(seed)  # noqa: S311 - no secret


@contextmanager
def running(server: Server, place: Place, core: int) -> Iterator[Running]:
    """Run a server on this core until the block ends; raises NotStartedError where it does not listen."""
    started = server.start(place)
    home = place.folder.parent
    known_hosts = place.folder / "known_hosts"
    shown = [path.with_suffix(".pub").read_text() for path in place.host_keys]
    lines = [line for text in (*shown, started.own_host_keys) for line in text.splitlines() if line]
    known_hosts.write_text("".join(f"[127.0.0.1]:{place.port} {line}\n" for line in lines))
    command = ["taskset", "--cpu-list", str(core), *within(started.root, home, started.command)]
    cores = float(os.cpu_count() or 1)
    with (
        own_cgroups(cpu_cores=cores, memory_bytes=_PLENTY_OF_MEMORY, processes=_PLENTY_OF_PROCESSES) as cgroup,
        (place.folder / "output").open("wb") as output,
        subprocess.Popen(
            ["sh", "-c", _ONCE_TOLD, "sh", *command], stdin=subprocess.PIPE, stdout=output, stderr=output
        ) as process,
    ):
        try:
            cgroup.put(process.pid)
            assert process.stdin is not None
            process.stdin.write(b"go\n")
            process.stdin.close()
            _await_listening(process, place, server.name)
            yield Running(place, known_hosts, cgroup, core)
        finally:
            _end(process, cgroup)


def _await_listening(process: "subprocess.Popen[bytes]", place: Place, name: str) -> None:
    deadline_s = time.monotonic() + _STARTS_WITHIN_S
    while not listens(place.port):
        said = (place.folder / "output").read_text(errors="replace")
        if process.poll() is not None or time.monotonic() > deadline_s:
            raise NotStartedError(f"{name} does not listen: {said}")
        time.sleep(_POLL_S)


def _end(process: "subprocess.Popen[bytes]", cgroup: OwnCgroups) -> None:
    """End the server and all it started, whoever has inherited it."""
    end_with_all_below(process.pid)
    process.wait()
    for pid in (cgroup.places[0] / "cgroup.procs").read_text().split():
        end_with_all_below(int(pid))
