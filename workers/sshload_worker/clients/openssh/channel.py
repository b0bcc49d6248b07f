"""Commands on a login of OpenSSH: run by the process that logged in, or by programs that share its connection."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from sshload_contract.vocabulary import Outcome, Timing

from sshload_worker.clients.by_parts import run_by_parts
from sshload_worker.clients.interface import CommandEnd
from sshload_worker.clients.openssh.master import ControlSocket, Master
from sshload_worker.clients.openssh.process import Pipes, Process
from sshload_worker.clients.openssh.settings import SERVER, Directory, forward_to
from sshload_worker.outcomes import StepFailure

_UNNAMED_SIGNAL = "unnamed"  # ssh does not report which one
_OWN_FAILURE = 255
_SHARED_ONLY = ("-o", "ProxyCommand=false")  # else a program that finds no control socket would log in itself


class Session(Protocol):
    """A session that runs one command or forward."""

    def start(self, command: str, pipes: Pipes, *, terminal: bool) -> None:
        """Start a command, or the user's shell if it is empty; raises StepFailure."""

    def forward(self, host: str, port: int, pipes: Pipes) -> None:
        """Open a forward; raises StepFailure."""

    @property
    def is_open(self) -> bool:
        """Whether the server is known to have opened it."""

    def check_accepted(self) -> None:
        """Raise StepFailure if the server refused the command, once nothing more is to come of it."""

    def end(self, pipes: Pipes) -> CommandEnd:
        """Wait for the end; raises StepFailure."""

    def hang_up(self) -> None:
        """End it immediately; never waits."""


class OwnSession:
    """A session of the process that logged in, requested over its control socket."""

    def __init__(self, master: Master) -> None:
        self._master = master
        self._control: ControlSocket | None = None
        self._answered_before: tuple[int, int] | None = None
        self._closed_before = 0

    def start(self, command: str, pipes: Pipes, *, terminal: bool) -> None:
        """Start a command."""
        self._answered_before = self._master.answered_requests()
        self._closed_before = self._master.closed_channels()
        with self._requesting(pipes) as control:
            control.open_session(command, pipes.given(), terminal=terminal)
            pipes.set_raw_mode()

    def forward(self, host: str, port: int, pipes: Pipes) -> None:
        """Open a forward."""
        with self._requesting(pipes) as control:
            control.open_forward(host, port, pipes.given())

    @property
    def is_open(self) -> bool:
        """Whether the server is known to have opened it: it has, once the request returned."""
        return self._control is not None

    def check_accepted(self) -> None:
        """Raise StepFailure if the server refused the command."""
        _check_accepted(self._master, self._answered_before)

    def hang_up(self) -> None:
        """End it immediately; never waits."""
        if self._control is not None:
            self._control.close()

    def end(self, pipes: Pipes) -> CommandEnd:
        """Wait for the end.

        If there is no exit code, the command was killed, the server sent none, or the connection has ended.
        """
        if self._control is None:
            return CommandEnd(exit_code=0, signal="", stderr=b"")
        code = self._control.exit_code()
        self._control.close()
        pipes.await_stderr()
        self.check_accepted()
        if code is not None:
            _check_closed(self._master, self._closed_before)
            return CommandEnd(exit_code=code, signal="", stderr=pipes.stderr)
        killed = self._master.was_killed()
        return CommandEnd(exit_code=None, signal=_UNNAMED_SIGNAL if killed else "", stderr=pipes.stderr)

    @contextmanager
    def _requesting(self, pipes: Pipes) -> Iterator[ControlSocket]:
        """Connect for a request, say as a failure why there is no answer, and give the pipes away."""
        try:
            self._control = ControlSocket(self._master.socket_path)
            yield self._control
        except (OSError, EOFError):
            raise self._lost() from None
        except StepFailure as failure:
            raise StepFailure(failure.outcome, self._master.claim_refusal() or failure.message) from None
        finally:
            pipes.give_away()

    def _lost(self) -> StepFailure:
        self._master.await_end()
        refusal = self._master.claim_refusal()
        if refusal is not None:
            return StepFailure(Outcome.CHANNEL_REFUSED, refusal)
        return self._master.failure(Timing.EXEC)


class ClientSession:
    """A session of a program of its own (`ssh -S`). An exit code of 255 is either the program's or the command's.

    The same applies to what the program writes to stderr, so the master's log has to decide.
    """

    def __init__(self, master: Master, directory: Directory) -> None:
        self._master = master
        self._directory = directory
        self._process: Process | None = None
        self._statuses_before = 0
        self._answered_before: tuple[int, int] | None = None
        self._closed_before = 0
        self._forwards = False

    def start(self, command: str, pipes: Pipes, *, terminal: bool) -> None:
        """Start a command."""
        self._answered_before = self._master.answered_requests()
        self._closed_before = self._master.closed_channels()
        self._run(["-tt" if terminal else "-T", SERVER, *([command] if command else [])], pipes)

    def forward(self, host: str, port: int, pipes: Pipes) -> None:
        """Open a forward."""
        self._forwards = True
        self._run(["-W", forward_to(host, port), SERVER], pipes)

    def end(self, pipes: Pipes) -> CommandEnd:
        """Wait for the end."""
        if self._process is None:
            return CommandEnd(exit_code=0, signal="", stderr=b"")
        self._process.ended.wait()
        pipes.await_stderr()
        code, stderr = self._process.exit_code, pipes.stderr
        self.check_accepted()
        if code == _OWN_FAILURE:
            if self._master.was_killed():
                return CommandEnd(exit_code=None, signal=_UNNAMED_SIGNAL, stderr=stderr)
            if self._forwards:
                said = stderr.decode("utf-8", "replace").strip()
                raise StepFailure(Outcome.CHANNEL_REFUSED, said or "ssh did not open the forward, and did not say why")
            if self._master.exit_statuses() == self._statuses_before:
                return CommandEnd(exit_code=None, signal="", stderr=stderr)
        _check_closed(self._master, self._closed_before)
        return CommandEnd(exit_code=code, signal="", stderr=stderr)

    @property
    def is_open(self) -> bool:
        """False: the program does not report whether the server has opened it."""
        return False

    def check_accepted(self) -> None:
        """Raise StepFailure if the server refused the command."""
        _check_accepted(self._master, self._answered_before)

    def hang_up(self) -> None:
        """Kill the program immediately; never waits."""
        if self._process is not None:
            self._process.kill()

    def _run(self, arguments: list[str], pipes: Pipes) -> None:
        shared = ["-o", "LogLevel=ERROR", *_SHARED_ONLY, "-S", self._master.socket_path]
        command = ["ssh", *shared, "-F", self._directory.config, *arguments]
        self._statuses_before = self._master.exit_statuses()
        try:
            self._process = Process(command, self._directory.environment, tuple(pipes.given()))
        finally:
            pipes.give_away()


def _check_accepted(master: Master, before: tuple[int, int] | None) -> None:
    """Raise StepFailure if the server refused the channel, or has accepted no command since it answered `before`.

    None stands for a forward, which is no command.

    A refused command may have an exit status all the same: ProFTPD's is 0. A server may end the connection after it
    has refused, but what it has not answered before that is lost, and not refused.
    """
    refusal = master.claim_refusal()
    if refusal is not None:
        raise StepFailure(Outcome.CHANNEL_REFUSED, refusal)
    if before is None:
        return
    accepted, refused = (now - then for now, then in zip(master.answered_requests(), before, strict=True))
    if refused or not (accepted or master.has_ended()):
        raise StepFailure(Outcome.EXEC_REJECTED, "the server refused the request, or closed the channel instead")


def _check_closed(master: Master, before: int) -> None:
    """Raise StepFailure if the connection ended, and the server had closed no channel since it closed `before`.

    It may have told an exit status before, but the output may lack its end. If commands of one login run at the same
    time, the log does not distinguish their channels.
    """
    if master.closed_channels() == before and master.has_ended():
        raise StepFailure(Outcome.DISCONNECTED, "the server closed the connection before the channel")


class OpenSSHChannel:
    """One command, shell or forward (clients.interface.Channel)."""

    run = run_by_parts

    def __init__(self, session: Session) -> None:
        self._session = session
        self._pipes = Pipes()
        self._terminal = False
        self._has_output = False
        self._output_ended = False
        self.is_closed = False

    def request_terminal(self) -> None:
        """Request a pseudo-terminal together with the command."""
        self._terminal = True
        self._pipes.use_terminal()

    def start_shell(self) -> None:
        self._session.start("", self._pipes, terminal=self._terminal)

    def execute(self, command: str) -> None:
        self._session.start(command, self._pipes, terminal=self._terminal)

    def forward(self, host: str, port: int) -> None:
        """Request a connection from the server to `host` and `port`."""
        self._session.forward(host, port, self._pipes)

    def read(self) -> bytes:
        piece = self._pipes.stdout.read()
        if not piece and not self._has_output:
            self._session.check_accepted()
        self._has_output = self._has_output or bool(piece)
        self._output_ended = not piece
        return piece

    def write(self, data: bytes) -> None:
        try:
            self._pipes.stdin.write(data)
        except BrokenPipeError:
            raise StepFailure(Outcome.DISCONNECTED, "ssh accepts no more input") from None

    def send_end(self) -> None:
        self._pipes.stdin.close()

    def close(self) -> CommandEnd:
        """Wait for the end and return how the command ended, or hang up if more output was expected.

        After the end of the output the input stays open: with both ended, ssh closes the channel, and some servers do
        not tell after that how the command ended.
        """
        try:
            if not self._output_ended:
                self._pipes.stdin.close()
            self._pipes.stdout.close()
            if not self._output_ended and (self._has_output or self._session.is_open):
                self._session.hang_up()
                return CommandEnd(exit_code=None, signal="", stderr=self._pipes.stderr)
            return self._session.end(self._pipes)
        finally:
            self._pipes.close()
            self.is_closed = True

    def drop(self) -> None:
        """Release a channel that may not have been closed, in whatever state it is. Never waits."""
        if not self.is_closed:
            self._session.hang_up()
            self._pipes.close()
            self.is_closed = True
