"""One command on a connection: what it wrote, how it ended, and its end where nobody waits for it any more."""

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

import asyncssh

from sshload_gateway.ssh.failures import ServerError, SessionRefusedError
from sshload_gateway.ssh.lean import lean_channel

_GRACE_S: Final = 1.0
"""How long a command has between SIGTERM and SIGKILL, and its channel to close after that."""


class CommandOutcome(StrEnum):
    """How a command ended."""

    EXITED = "exited"
    SIGNALLED = "signalled"
    TIMEOUT = "timeout"
    OUTPUT_LIMIT = "output-limit"
    CONNECTION_LOST = "connection-lost"


@dataclass(frozen=True, slots=True)
class Command:
    """What to run, and its limits: bytes are of stdout and of stderr, each."""

    line: str
    stdin: bytes
    timeout_s: float
    output_bytes: int


@dataclass(frozen=True, slots=True)
class Result:
    """What a command did. The exit code is None unless it exited, the signal empty unless one ended it by itself."""

    outcome: CommandOutcome
    exit_code: int | None
    signal: str
    stdout: bytes
    stderr: bytes
    duration_s: float
    has_ended: bool
    """Whether the server said so; where it did not, the remote process may still run."""


class Execution:
    """One try to run a command on a connection."""

    def __init__(self, command: Command) -> None:
        self._command = command
        self._running = _Running(command.stdin, command.output_bytes)
        self._is_begun = False

    @property
    def is_sound(self) -> bool:
        """Whether no channel is left open, so that the connection may serve others."""
        return not self._is_begun or self._running.closed.is_set()

    async def run(self, ssh: asyncssh.SSHClientConnection) -> Result:
        """Run the command to its end, or to one of its limits, and then end its remote process.

        A cancelled call ends the remote process too. The server signals the process group that it started; a process
        that left this group lives on, and OpenSSH signals nothing that runs as root.

        Raises SessionRefusedError if nothing ran because the server opened no session, and ServerError where it
        opened none in time, or opened one and refused the command.
        """
        began_s = time.monotonic()
        deadline = asyncio.get_running_loop().time() + self._command.timeout_s
        try:
            async with asyncio.timeout_at(deadline):
                await self._open(ssh)
                outcome = await _ended(self._running)
        except TimeoutError:
            if self._running.channel is None:
                what = f"the server opened no session within {self._command.timeout_s:g} s, and nothing ran"
                raise ServerError(what) from None
            outcome = CommandOutcome.TIMEOUT
        except asyncio.CancelledError:
            await asyncio.shield(_end(self._running))
            raise
        duration_s = time.monotonic() - began_s
        if outcome in (CommandOutcome.TIMEOUT, CommandOutcome.OUTPUT_LIMIT):
            await _end(self._running)
        return self._running.result(outcome, duration_s)

    async def _open(self, ssh: asyncssh.SSHClientConnection) -> None:
        self._is_begun = True
        try:
            await ssh.create_session(lambda: self._running, self._command.line, encoding=None, request_pty=False)
        except asyncssh.ChannelOpenError as error:
            if error.code == asyncssh.OPEN_REQUEST_SESSION_FAILED:
                await _within(self._running.closed, _GRACE_S)  # it stays open while the server takes no stdin
                raise ServerError("the server opened a session and refused to run a command in it") from None
            self._is_begun = False
            raise SessionRefusedError from None
        except (asyncssh.DisconnectError, OSError):
            return  # the connection ended after the command was sent, which may run


@dataclass(slots=True, eq=False)
class _Running(asyncssh.SSHClientSession[bytes]):
    """Sends stdin behind the command, hears what the channel says, and keeps no more than the limit of it."""

    stdin: bytes
    limit: int
    channel: "asyncssh.SSHClientChannel[bytes] | None" = None
    """The channel once the server has opened it, before the server says whether it runs the command."""
    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)
    exit_code: int | None = None
    signal: str = ""
    is_over_limit: bool = False
    over: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once the output is too long, or the channel closes."""
    closed: asyncio.Event = field(default_factory=asyncio.Event)

    def connection_made(self, chan: "asyncssh.SSHClientChannel[bytes]") -> None:
        self.channel = chan
        lean_channel(chan)
        asyncio.get_running_loop().call_soon(self._send_stdin)  # after the command, which asyncssh sends next

    def _send_stdin(self) -> None:
        if self.channel is not None:
            with suppress(OSError):  # it has ended already, or reads nothing
                self.channel.write(self.stdin)
                self.channel.write_eof()

    def data_received(self, data: bytes, datatype: asyncssh.DataType) -> None:
        kept = self.stderr if datatype == asyncssh.EXTENDED_DATA_STDERR else self.stdout
        room = self.limit - len(kept)
        kept += data[:room]
        if len(data) > room:
            self.is_over_limit = True
            self.over.set()

    def exit_status_received(self, status: int) -> None:
        self.exit_code = status

    def exit_signal_received(self, signal: str, core_dumped: bool, msg: str, lang: str) -> None:  # noqa: ARG002, FBT001
        self.signal = signal

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncssh's signature
        self.closed.set()
        self.over.set()

    def result(self, outcome: CommandOutcome, duration_s: float) -> Result:
        is_own_end = outcome in (CommandOutcome.EXITED, CommandOutcome.SIGNALLED)
        return Result(
            outcome,
            self.exit_code if outcome is CommandOutcome.EXITED else None,
            self.signal if is_own_end else "",
            bytes(self.stdout),
            bytes(self.stderr),
            duration_s,
            has_ended=self.exit_code is not None or bool(self.signal),
        )


async def _ended(running: _Running) -> CommandOutcome:
    """Wait until the channel closes or the output is too long; return how the command ended."""
    await running.over.wait()
    if running.is_over_limit:
        return CommandOutcome.OUTPUT_LIMIT
    if running.exit_code is not None:
        return CommandOutcome.EXITED
    return CommandOutcome.SIGNALLED if running.signal else CommandOutcome.CONNECTION_LOST


async def _end(running: _Running) -> None:
    """End the remote process and its channel: SIGTERM, SIGKILL after a grace, and then whatever the server says."""
    channel = running.channel
    if channel is None:
        return
    for name in ("TERM", "KILL"):
        if running.closed.is_set():
            return
        try:
            channel.send_signal(name)
        except OSError:  # the channel is closing
            break
        await _within(running.closed, _GRACE_S)
    channel.close()
    await _within(running.closed, _GRACE_S)


async def _within(event: asyncio.Event, time_s: float) -> None:
    try:
        async with asyncio.timeout(time_s):
            await event.wait()
    except TimeoutError:
        return
