"""An ssh-agent of the worker's own, with one key in it.

It listens in a directory that only this user may enter, is told the key over its socket, never by argument or
environment, and ends with this process. Where that is killed, the pipe to the agent's companion (`cat`) closes, which
ends the companion, and the agent looks for its companion every ten seconds.
"""

import atexit
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

from sshload_worker.login.private_key import PrivateKey, agent_identity
from sshload_worker.login.wire import wire_string
from sshload_worker.outcomes import GeneratorFaultError

_SOCKET_PATH_LIMIT_BYTES = 107  # sun_path of unix(7) holds 108 with the closing zero
_COMPANION = 'echo "$SSH_AGENT_PID"; exec cat'
_ADD_IDENTITY = b"\x11"
_SUCCESS = b"\x06"
_ANSWER_BYTES = 5
_ANSWER_TIMEOUT_S = 10.0
_CLEAN_ENVIRONMENT = ("PATH", "TMPDIR", "LD_LIBRARY_PATH")


class Agent:
    """A running agent; clients find it at `socket_path`. `pid` is 0 before its start and after its end.

    Raises GeneratorFaultError where there is no place for its socket.
    """

    def __init__(self) -> None:
        try:
            self._folder = tempfile.mkdtemp(prefix="sshload-")
        except OSError as error:
            raise GeneratorFaultError(f"no ssh-agent: $TMPDIR cannot be written to ({error.strerror})") from None
        self.socket_path = str(Path(self._folder) / "agent")
        self._companion: subprocess.Popen[bytes] | None = None
        self.pid = 0
        atexit.register(self.end)

    def start(self) -> None:
        """Start the agent and wait until it listens; raises GeneratorFaultError where it cannot."""
        if len(os.fsencode(self.socket_path)) > _SOCKET_PATH_LIMIT_BYTES:
            raise GeneratorFaultError(f"no ssh-agent: $TMPDIR is too long for a socket's path ({self.socket_path})")
        command = ["ssh-agent", "-a", self.socket_path, "sh", "-c", _COMPANION]
        environment = {name: os.environ[name] for name in _CLEAN_ENVIRONMENT if name in os.environ}
        try:
            self._companion = subprocess.Popen(  # noqa: S603 - no part of the command is anybody's input
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment
            )
        except OSError as error:
            raise GeneratorFaultError(
                f"ssh-agent cannot be started: {error.strerror} (the worker's image needs openssh-client)"
            ) from None
        said = self._companion.stdout.readline().decode("utf-8", "replace").strip() if self._companion.stdout else ""
        if not said.isdecimal():
            raise GeneratorFaultError(f"ssh-agent cannot be started: {said or 'it says nothing'}")
        self.pid = int(said)

    def add(self, key: PrivateKey) -> None:
        """Give the agent a key; raises GeneratorFaultError where it does not take it."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_ANSWER_TIMEOUT_S)
            try:
                connection.connect(self.socket_path)
                connection.sendall(wire_string(_ADD_IDENTITY + agent_identity(key)))
                answer = connection.recv(_ANSWER_BYTES)
            except OSError as error:
                raise GeneratorFaultError(f"ssh-agent does not answer: {error}") from None
        if not answer.endswith(_SUCCESS):
            raise GeneratorFaultError("ssh-agent does not take the private key")

    def end(self) -> None:
        """End the agent and remove its directory. Does nothing where that is done already."""
        atexit.unregister(self.end)
        if self.pid:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGTERM)
            self.pid = 0
        if self._companion is not None:
            self._companion.communicate()  # closes its input, which ends it
            self._companion = None
        shutil.rmtree(self._folder, ignore_errors=True)


def start_agent(key: PrivateKey) -> Agent:
    """Return an agent with the key in it; raises GeneratorFaultError where there is none to be had."""
    agent = Agent()
    try:
        agent.start()
        agent.add(key)
    except GeneratorFaultError:
        agent.end()
        raise
    return agent
