"""The ssh process of one login, and its log."""

import os

import gevent
from gevent.event import Event
from sshload_contract.vocabulary import Step

from sshload_worker.clients.openssh.directory import SERVER, Directory
from sshload_worker.clients.openssh.log import LoginLog, failure
from sshload_worker.clients.openssh.mux import ControlSocket
from sshload_worker.clients.openssh.process import PipeEnd, Process
from sshload_worker.outcomes import StepFailure

_OWN_STDOUT = "/proc/self/fd/1"
_KEPT_BYTES = 4_096


class Master:
    """`ssh -M -N`: logs in, and then waits at its control socket."""

    def __init__(self, directory: Directory, options: list[str]) -> None:
        """Start it; raises OSError."""
        self.socket_path = directory.new_name("s")
        self.log = LoginLog()
        self._ended = Event()
        self._log_pipe = PipeEnd(reading=True)
        self._stderr = PipeEnd(reading=True)
        nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        # On stderr a server's banner would be among ssh's own words, so these have a pipe to themselves.
        command = ["ssh", "-E", _OWN_STDOUT, "-F", directory.config, "-M", "-N", "-S", self.socket_path]
        descriptors = (nothing, self._log_pipe.given, self._stderr.given)
        try:
            self.process = Process([*command, *options, SERVER], directory.environment, descriptors)
        finally:
            os.close(nothing)
            self._log_pipe.give_away()
            self._stderr.give_away()
        self._said = b""
        self._stderr_reader = gevent.spawn(self._read_stderr)
        self._reader = gevent.spawn(self._read_log)

    def await_step(self, step: Step) -> None:
        """Wait until the login is through `step`; raises StepFailure where it ends before that."""
        self.log.milestones[step].wait()
        if step not in self.log.reached:
            self._ended.wait()
            raise self.failure(step)

    def is_lost(self) -> bool:
        """Return whether it has ended."""
        return self._ended.is_set() or self.process.ended.is_set()

    def has_ended(self) -> bool:
        """Return whether it has ended, by asking it: of a program that shares its connection one may hear before."""
        return self.is_lost() or not self._answers()

    def await_end(self) -> None:
        """Wait until it has ended, and its log been read."""
        self.process.ended.wait()
        self._ended.wait()

    def was_killed(self) -> bool:
        """Return whether a signal ended a command, of which there is no exit code.

        ssh logs that before it tells of the end. Where commands of one login run at once, the log does not tell them
        apart. Raises StepFailure where the connection has ended instead.
        """
        self._catch_up()
        if self.log.claim_killed():
            return True
        if not self.has_ended():
            return False
        self.await_end()
        raise self.failure(Step.EXEC)

    def claim_refusal(self) -> str | None:
        """Return the reason why the server has refused a channel, None where it has opened all that were requested.

        ssh logs that before it tells of it. Where channels of one login are opened at once, the log does not tell them
        apart.
        """
        self._catch_up()
        return self.log.claim_refusal()

    def exit_statuses(self) -> int:
        """Return of how many commands the server has told the exit status, which ssh logs before it tells of it."""
        self._catch_up()
        return self.log.exit_statuses

    def _catch_up(self) -> None:
        while piece := self._log_pipe.read_available():
            self.log.take(piece)

    def _answers(self) -> bool:
        try:
            ControlSocket(self.socket_path).close()
        except (OSError, EOFError):
            return False
        return True

    def failure(self, step: Step) -> StepFailure:
        """Return the failure in its log, or on its stderr where it could not even begin a log."""
        return failure(step, self.log.lines or self._said.decode("utf-8", "replace").splitlines())

    def close(self) -> None:
        """End it now; never waits."""
        self.process.kill()

    def _read_log(self) -> None:
        while piece := self._log_pipe.read():
            self.log.take(piece)
        self._log_pipe.close()
        self._stderr_reader.join()
        self._ended.set()
        self.log.end()

    def _read_stderr(self) -> None:
        while piece := self._stderr.read():
            self._said = (self._said + piece)[:_KEPT_BYTES]
        self._stderr.close()
