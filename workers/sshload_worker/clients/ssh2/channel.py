"""A channel of a libssh2 session.

An attempt may return LIBSSH2_ERROR_EAGAIN only if libssh2 has just read from the socket and has queued nothing for this
channel. Otherwise it would wait for ever for data that has already arrived. So each attempt checks the queues last
(poll_channel_read does not read from the socket).
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from ssh2.channel import Channel
from ssh2.error_codes import LIBSSH2_ERROR_EAGAIN
from ssh2.exceptions import InvalidRequestError
from ssh2.execution import Execution
from ssh2.nonblocking import command_end
from ssh2.session import LIBSSH2_SESSION_BLOCK_OUTBOUND
from sshload_contract.vocabulary import Outcome, Timing

from sshload_worker.clients.interface import CommandEnd, Course
from sshload_worker.clients.ssh2.driver import Driver
from sshload_worker.outcomes import StepFailure

DEFAULT_READ_BYTES = 262_144
_TERMINAL = "xterm"
_AGAIN: int = LIBSSH2_ERROR_EAGAIN
_STDOUT = 0
_ANY = 1
_STDERR_BYTES = 4_096
_WRITE_BYTES = 262_144
_UNREAD_LIMIT_BYTES = 16_777_216
_UNANSWERED = "the server closed the channel in place of an answer"
_SUCCESS = CommandEnd(exit_code=0, signal="", stderr=b"")


class SSH2Channel:
    """One open channel (clients.interface.Channel)."""

    def __init__(self, driver: Driver, channel: Any, read_bytes: int) -> None:
        self._driver = driver
        self._channel = channel
        self._read_bytes = read_bytes
        self._stderr = b""
        self._unread: list[bytes] = []
        self._unread_bytes = 0
        self._ended = False
        self._closed = False

    def __del__(self) -> None:
        if not self._closed:
            self._driver.abandon(Channel.close, self._channel)

    def request_terminal(self) -> None:
        """Request a pseudo terminal."""
        self._driver.until_done(Timing.SHELL_START, self._try_request, self._channel.pty, _TERMINAL)

    def start_shell(self) -> None:
        """Request the user's shell, and wait for the server's reply."""
        self._driver.until_done(Timing.SHELL_START, self._try_request, self._channel.shell)

    def execute(self, command: str) -> None:
        """Request the command, and wait for the server's reply."""
        self._driver.until_done(Timing.EXEC, self._try_request, self._channel.execute, command)

    def run(self, command: str, take: Callable[[bytes], object], course: Course) -> CommandEnd:
        """Run the command, hand each piece of stdout to `take`, and close the channel."""
        execution = Execution(self._channel, command, self._read_bytes)
        driver, part = self._driver, partial(_part, execution)
        try:
            while (piece := driver.until_done(part, self._try_past_late_output, execution.advance)) is not None:
                take(piece)
        finally:
            course.started_ns, course.first_byte_ns = execution.started_ns, execution.first_byte_ns
            course.output_end_ns, course.closed_ns = execution.output_end_ns, execution.closed_ns
        if execution.unanswered:
            raise StepFailure(Outcome.EXEC_REJECTED, _UNANSWERED)
        self._closed = True
        driver.forget(self._channel)
        return self._command_end(execution.stderr)

    def read(self) -> bytes:
        """Return the next piece of stdout, empty at the end of the output."""
        if self._unread:
            return self._take_kept()
        piece: bytes = self._driver.until_done(Timing.READ, self._try_read)
        return piece

    def write(self, data: bytes) -> None:
        """Send all of `data`. Keep output that arrives meanwhile, up to 16 MiB, so that the server goes on reading."""
        for begin in range(0, len(data), _WRITE_BYTES):
            self._driver.until_done(Timing.WRITE, self._try_write, [data[begin : begin + _WRITE_BYTES]])

    def send_end(self) -> None:
        """Send the end of the input."""
        self._driver.until_done(Timing.WRITE, self._channel.send_eof)

    def close(self) -> CommandEnd:
        """Close the channel, wait for the server's close, and return how the command ended."""
        until_done = self._driver.until_done
        if self._ended:
            self._until_past_late_output(self._try_end)
        until_done(Timing.CLOSE, self._channel.close)
        if not self._ended:
            until_done(Timing.CLOSE, self._channel.wait_eof)
        self._until_past_late_output(self._channel.wait_closed)
        self._closed = True
        self._driver.forget(self._channel)
        return self._command_end(self._stderr)

    def _command_end(self, stderr: bytes) -> CommandEnd:
        exit_code, signal = command_end(self._channel)
        return CommandEnd(exit_code, signal, stderr) if exit_code != 0 or signal or stderr else _SUCCESS

    def _until_past_late_output(self, attempt: Callable[[], int]) -> None:
        while self._driver.until_done(Timing.CLOSE, self._try_past_late_output, attempt) == b"":
            pass

    def _try_past_late_output(self, attempt: Callable[[], Any]) -> Any:
        """Return the result of `attempt`, or b"" after dropping a piece of output that came after its end.

        A server must not send such output (RFC 4254 section 5.3). Unless it arrives together with the end, libssh2
        expects more of it and refuses to wait for the channel's close.
        """
        try:
            return attempt()
        except InvalidRequestError:
            channel = self._channel
            count, _ = channel.read(_STDERR_BYTES)
            if count <= 0 and channel.poll_channel_read(_ANY):
                count, _ = channel.read_stderr(_STDERR_BYTES)
            return b"" if count > 0 or channel.eof() else _AGAIN

    def _try_end(self) -> int:
        """Wait for the exit status or the server's close: some servers send no exit status after the client's close."""
        if self._has_command_end():
            return 0
        result: int = self._channel.wait_closed()
        return 0 if self._has_command_end() else result

    def _has_command_end(self) -> bool:
        return bool(command_end(self._channel) != (None, ""))

    def _try_request(self, ask: Callable[..., int], *arguments: str) -> int:
        """Send a request, and stop waiting for the reply when the channel closes. libssh2 would wait for ever."""
        result = ask(*arguments)
        if result == _AGAIN and self._channel.eof() and self._channel.wait_closed() == 0:
            raise StepFailure(Outcome.EXEC_REJECTED, _UNANSWERED)
        return result

    def _take_kept(self) -> bytes:
        self._unread_bytes -= len(self._unread[0])
        return self._unread.pop(0)

    def _try_read(self) -> bytes | int:
        if self._unread:  # a write in another greenlet has kept it since
            return self._take_kept()
        channel = self._channel
        count: int
        data: bytes
        while True:
            count, data = channel.read(self._read_bytes)
            if count > 0:
                return data
            if not (channel.poll_channel_read(_ANY) and self._take_stderr()):
                break
        if count == 0 and channel.eof():
            self._ended = True
            return b""
        return _AGAIN

    def _try_write(self, unsent: list[bytes]) -> int:
        """Send the rest of the one piece in `unsent`. Return 0 only if no packet is partly sent."""
        while unsent[0]:
            _, written = self._channel.write(unsent[0])
            unsent[0] = unsent[0][written:]
            # A read may send a packet of its own. libssh2 would take it for the rest of the partly sent one, and fail.
            if not written and (self._is_blocked() or not self._keep_queued()):
                return _AGAIN
        return 0

    def _is_blocked(self) -> bool:
        return bool(self._driver.session.block_directions() & LIBSSH2_SESSION_BLOCK_OUTBOUND)

    def _keep_queued(self) -> bool:
        """Keep output for a later read; return whether there was any, and room for it."""
        if self._channel.poll_channel_read(_STDOUT) and self._unread_bytes < _UNREAD_LIMIT_BYTES:
            _, data = self._channel.read(self._read_bytes)
            self._unread.append(data)
            self._unread_bytes += len(data)
            return True
        return bool(self._channel.poll_channel_read(_ANY)) and self._take_stderr()

    def _take_stderr(self) -> bool:
        """Read from stderr, and keep its first piece; return whether there was any."""
        _, data = self._channel.read_stderr(_STDERR_BYTES)
        self._stderr = self._stderr or data
        return bool(data)


def _part(execution: Any) -> Timing:
    """Return the part of a command that is in progress."""
    return Timing.READ if execution.started_ns else Timing.EXEC
