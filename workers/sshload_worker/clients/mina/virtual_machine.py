"""The Java program beside the worker, one for each worker process: how it is found, started and ended."""

import atexit
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from shutil import rmtree, which

from sshload_worker.clients.mina.conversation import Conversation, Request
from sshload_worker.outcomes import UnsupportedSettingError
from sshload_worker.recording.health import add_program, remove_program

_LIBRARIES = Path(sys.prefix) / "share/sshload/mina-sshd"
_MAIN = "dev.sshload.Driver"
_WHERE_TO_GET_IT = "use the image sshload-worker-java for spec.workers.image, or run `make mina-sshd` for `sshload run`"


class VirtualMachine:
    """The running program. `path` is the Unix socket on which it accepts conversations."""

    def __init__(self) -> None:
        """Start it, and wait until it listens; raises UnsupportedSettingError if that fails."""
        java = which("java")
        if java is None or not _LIBRARIES.is_dir():
            lacking = "a Java runtime" if java is None else "MINA SSHD"
            raise UnsupportedSettingError(
                f"spec.client.library: this worker has no {lacking} for mina-sshd: {_WHERE_TO_GET_IT}"
            )
        self._folder = tempfile.mkdtemp(prefix="sshload-")  # short, because the length of socket paths is limited
        self.path = f"{self._folder}/driver"
        command = [java, "-XX:-UsePerfData", "-XX:+ExitOnOutOfMemoryError", "-cp", f"{_LIBRARIES}/*", _MAIN, self.path]
        self._process = subprocess.Popen(  # noqa: S603 - no part of the command is anybody's input
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        atexit.register(self.end)
        said = self._process.stdout.readline() if self._process.stdout else b""
        if said.strip() != b"ready":
            self.end()
            raise UnsupportedSettingError("spec.client.library: the Java program of mina-sshd did not start")
        add_program(self._process.pid)

    def conversation(self) -> Conversation:
        """Return a new conversation; raises OSError if the process has no file descriptor left."""
        return Conversation(self.path)

    def known(self) -> tuple[tuple[str, ...], ...]:
        """Return the key exchanges, ciphers, MACs and host key algorithms that it knows."""
        asking = self.conversation()
        answer = asking.ask(Request.KNOWN)
        asking.close()
        return tuple(tuple(answer.text().split(",")) for _ in range(4))

    def end(self) -> None:
        """End it, and wait until it has ended."""
        atexit.unregister(self.end)
        self._process.communicate()  # closing its input ends it
        remove_program(self._process.pid)
        rmtree(self._folder, ignore_errors=True)


@cache
def virtual_machine() -> VirtualMachine:
    """Return the Java program of this process. The first call starts it."""
    return VirtualMachine()
