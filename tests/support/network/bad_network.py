"""A worker's side and a server's side, each a network namespace of its own, with a bad network between them.

Needs root: where namespaces cannot be made, it fails and says so.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from lossy_link import FAR_ADDRESS, Passed, Weather
from ssh_server import Keys, SshServer, ssh_server

_LINK = Path(__file__).with_name("lossy_link.py")


class BadNetwork:
    """The line and its two ends. `near` and `far` are the words before a command that make it run there."""

    def __init__(self, link: subprocess.Popen[str], near_pid: str, far_pid: str) -> None:
        self._link = link
        self.near = _inside(near_pid)
        self.far = _inside(far_pid)

    def change(self, weather: Weather) -> Passed:
        """Change what happens to packets from now on; return what has happened so far."""
        assert self._link.stdin is not None
        assert self._link.stdout is not None
        self._link.stdin.write(json.dumps(asdict(weather)) + "\n")
        self._link.stdin.flush()
        return Passed(**json.loads(self._link.stdout.readline()))


@contextmanager
def bad_network() -> Iterator[BadNetwork]:
    """Make both sides, with a good line for now; they and all that runs in them end with the block."""
    command: list[str | Path] = ["unshare", "--net", sys.executable, _LINK]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as link:
        assert link.stdin is not None
        assert link.stdout is not None
        assert link.stderr is not None
        pids = link.stdout.readline().split()
        if not pids:
            problem = "this machine makes no network namespaces with TUN devices, which needs root and /dev/net/tun: "
            raise AssertionError(problem + link.stderr.read())
        try:
            yield BadNetwork(link, *pids)
        finally:
            link.stdin.close()


@contextmanager
def far_server(network: BadNetwork, folder: Path, keys: Keys, directives: str = "") -> Iterator[SshServer]:
    """Run a real sshd on the far side."""
    with ssh_server(folder, keys, directives, address=FAR_ADDRESS, within=network.far) as server:
        yield server


def _inside(pid: str) -> Sequence[str]:
    return ("nsenter", f"--net=/proc/{pid}/ns/net", "--")
