"""SharedDriver: one libssh2 session used by many greenlets, each with its own channels.

One greenlet, the owner, makes all calls of the library; the others pass it their attempts and wait. These facts about
libssh2's sources are the reason:

- libssh2 reads from the socket in nearly every call, whatever the call is for. With several channels this causes
  failures: a call that waits for the reply to its request fails if it reads another channel's reply (packet_requirev in
  packet.c), and data that a call queues for another channel wakes nobody. So only the owner receives packets, at one
  place and for all channels, and the library queues them (InputGate). Then each waiting attempt is repeated once, and
  finds its own packets, or none.
- A partly sent packet blocks all others. The owner repeats the attempt that sent it, and makes no other until it is
  done. For some packets libssh2 compares the data's address, which is on the stack (channel_send_eof) and stays the
  same only within one greenlet.
- Calls that open a channel keep their state in the session, so they are made one after the other.
- If an open channel, subsystem or file is dropped, the binding closes it immediately, in whatever greenlet that happens
  to be, which may leave a packet partly sent. So everything opened is kept until it is closed or the session ends, and
  a channel that nobody uses any more is passed to the owner, which closes it like the others.

Where the server ends the connection, what it sent before that is still delivered: each attempt is made until it would
have to wait, and only then fails.

The owner lives as long as there are attempts to make. Its C stack is the same at each attempt. In between, the loop
watches the socket, and what the server sends makes an attempt to answer it.
"""

from collections.abc import Callable
from typing import Any

import gevent
from gevent import get_hub
from gevent.hub import Waiter
from ssh2 import exceptions as ssh2_errors
from ssh2.channel import Channel
from ssh2.error_codes import LIBSSH2_ERROR_EAGAIN
from ssh2.exceptions import SSH2Error
from ssh2.nonblocking import InputGate
from ssh2.session import LIBSSH2_SESSION_BLOCK_OUTBOUND
from ssh2.sftp import SFTP
from sshload_contract.vocabulary import Outcome, Timing

from sshload_worker.clients.ssh2.driver import Driver, Step
from sshload_worker.clients.ssh2.idle import serve_all
from sshload_worker.clients.tcp import Descriptor
from sshload_worker.outcomes import StepFailure

_READ = 1
_WRITE = 2
_ENDS = (ssh2_errors.SocketDisconnectError, ssh2_errors.SocketSendError, ssh2_errors.SocketRecvError)
"""Errors of a connection that has ended. What the server sent before that is still there."""

_SESSION_ERRORS = (*_ENDS, ssh2_errors.ProtocolError, ssh2_errors.InvalidMACError)
_NOT_ACCEPTED = "the server accepted no more bytes from the shared session"
_INTERRUPTED = "the shared session was dropped, because an iteration was interrupted in the middle of a packet"


class _Operation:
    """An attempt that is repeated until it is done, and the greenlet that waits for it, if any."""

    __slots__ = ("arguments", "attempt", "begun", "done", "error", "opens", "result", "step", "waiter")

    def __init__(
        self, step: Step, attempt: Callable[..., Any], arguments: tuple[object, ...], *, opens: bool = False
    ) -> None:
        self.step = step
        self.attempt = attempt
        self.arguments = arguments
        self.opens = opens
        self.begun = False
        self.done = False
        self.result: Any = None
        self.error: BaseException | None = None
        self.waiter: Any = None

    def raise_error(self) -> None:
        """Raise its error, if any, and drop it, because it would form a reference cycle with its frames."""
        try:
            if self.error is not None:
                raise self.error
        finally:
            self.error = None


class SharedDriver(Driver):
    """One session and its socket, for many greenlets. If it is lost, it is lost for all of them."""

    def __init__(self, session: Any, descriptor: Descriptor) -> None:
        super().__init__(session, descriptor)
        self.lost = ""
        self._is_dropped = False
        self._loop = get_hub().loop
        self._readable = self._loop.io(descriptor.fileno(), _READ)
        self._writable = self._loop.io(descriptor.fileno(), _WRITE)
        self._gate = InputGate(session)
        self._pending: list[_Operation] = []
        self._opening: _Operation | None = None
        self._partly_sent: _Operation | None = None
        self._owner: gevent.Greenlet[[], None] | None = None
        self._asleep: Any = None
        self._added = False
        self._opened: dict[int, Channel | SFTP] = {}

    def until_done(self, step: Step, attempt: Callable[..., Any], *arguments: object) -> Any:
        """Call `attempt` until it no longer returns EAGAIN, and return its result. Raises StepFailure if it fails."""
        return self._operate(_Operation(step, attempt, arguments))

    def until_opened(self, step: Step, attempt: Callable[..., Any], *arguments: object) -> Any:
        """Do the same for calls that open a channel, one after the other: libssh2 keeps their state in the session."""
        return self._operate(_Operation(step, attempt, arguments, opens=True))

    def keep(self, channel: Channel) -> None:
        """Keep a channel as if this driver had opened it."""
        self._opened[id(channel)] = channel

    def forget(self, opened: object) -> None:
        """Stop keeping something that was closed."""
        self._opened.pop(id(opened), None)

    def abandon(self, close: Callable[[object], Any], opened: object) -> None:
        """Close something that is no longer used, by calling the attempt `close` until it is done."""
        if not self.lost:
            self._add(_Operation(Timing.CLOSE, close, (opened,)))

    def close(self, reason: str) -> None:
        """Fail all operations in progress and all later ones."""
        self._drop(reason)
        self._readable.close()
        self._writable.close()

    def _operate(self, operation: _Operation) -> Any:
        if self._is_dropped:
            raise StepFailure(Outcome.DISCONNECTED, self.lost)
        waiter = operation.waiter = Waiter()
        self._add(operation)
        try:
            waiter.get()
        except BaseException:  # a time limit or a kill
            self._abandon(operation)
            raise
        operation.raise_error()
        return operation.result

    def _add(self, operation: _Operation) -> None:
        self._pending.append(operation)
        self._added = True
        if self._owner is None:
            self._owner = gevent.spawn(self._run_owner)
        elif self._partly_sent is None:
            self._wake()

    def _wake(self) -> None:
        asleep, self._asleep = self._asleep, None
        if asleep is not None:
            self._loop.run_callback(asleep.switch, None)

    def _abandon(self, operation: _Operation) -> None:
        if operation.done:
            if isinstance(operation.result, Channel):
                self.abandon(Channel.close, operation.result)
        elif operation.begun and (operation.opens or operation is self._partly_sent):
            self._drop(_INTERRUPTED)
        elif operation in self._pending:
            self._pending.remove(operation)

    def _run_owner(self) -> None:
        self._readable.stop()
        self._attempt_until_done()
        if not self._opened:  # the last attempt may have received what else the server sent
            self._serve()
            self._attempt_until_done()
        self._owner = None
        if not self.lost:
            self._readable.start(self._serve)

    def _attempt_until_done(self) -> None:
        while self._pending:
            self._attempt_all()
            if self._pending:
                self._sleep()

    def _serve(self) -> None:
        """Have the owner answer what the server has sent."""
        self._readable.stop()
        if not self.lost:
            self._add(_Operation(Timing.KEEP_ALIVE, serve_all, (self.session,)))

    def _sleep(self) -> None:
        """Wait, while other greenlets run, until the socket is ready or an operation is added."""
        waiter = self._asleep = Waiter()
        watcher = self._readable if self._partly_sent is None else self._writable
        self.descriptor.request_quick_ack()
        watcher.start(waiter.switch, None)
        try:
            waiter.get()
        finally:
            watcher.stop()
            self._asleep = None

    def _attempt_all(self) -> None:
        """Receive what the server has sent, and make all attempts. Repeat while there are new ones and none blocks."""
        again = True
        while again and self._pending:
            self._added = False
            held_back = False
            if self._partly_sent is None:
                self._receive_all()
            may_wait = not self.lost
            for operation in tuple(self._pending):
                if self._partly_sent not in (None, operation):
                    held_back = True
                elif not operation.opens or self._opening in (None, operation):
                    self._attempt(operation, may_wait=may_wait)
            again = bool(self.lost) or (self._partly_sent is None and (self._added or held_back))

    def _receive_all(self) -> None:
        """Queue all received packets. If no channel is open, the attempts to open one receive packets themselves."""
        try:
            if not self._gate.receive_all(self._opened.values()):
                self._gate.open()
        except SSH2Error as error:
            self._end_by(error, self.failure(Timing.READ, error).message)

    def _end_by(self, error: SSH2Error, reason: str) -> None:
        if isinstance(error, _ENDS):
            self.lost = self.lost or reason
        else:
            self._drop(reason)

    def _attempt(self, operation: _Operation, *, may_wait: bool) -> None:
        if operation.done:  # an earlier one has lost the session
            return
        operation.begun = True
        if operation.opens:
            self._opening = operation
        try:
            result = operation.attempt(*operation.arguments)
        except SSH2Error as error:
            operation.error = self.failure(operation.step, error)
            self._end(operation)
            if isinstance(error, _SESSION_ERRORS) or self.descriptor.peer_has_closed():
                self._end_by(error, operation.error.message)
            return
        except BaseException as error:  # noqa: BLE001 - raised where the result is waited for
            operation.error = error
            self._end(operation)
            return
        if result == LIBSSH2_ERROR_EAGAIN:
            self._partly_sent = operation if self._is_blocked() else None
            if not may_wait:
                operation.error = StepFailure(Outcome.DISCONNECTED, self.lost)
                self._end(operation)
            return
        operation.result = result
        if isinstance(result, Channel | SFTP):
            self._opened[id(result)] = result
            self._gate.shut()
        elif operation.waiter is None:
            self.forget(operation.arguments[0])
        self._end(operation)
        self._check_unblocked()

    def _is_blocked(self) -> bool:
        return bool(self.session.block_directions() & LIBSSH2_SESSION_BLOCK_OUTBOUND)

    def _check_unblocked(self) -> None:
        """Drop the session if a packet is partly sent and no attempt would send the rest."""
        if self._partly_sent is None and self._is_blocked():
            self._drop(_NOT_ACCEPTED)

    def _end(self, operation: _Operation) -> None:
        operation.done = True
        self._pending.remove(operation)
        if self._opening is operation:
            self._opening = None
        if self._partly_sent is operation:
            self._partly_sent = None
        if operation.waiter is not None:
            self._loop.run_callback(operation.waiter.switch, None)

    def _drop(self, reason: str) -> None:
        """Fail all operations in progress and all later ones."""
        self.lost = self.lost or reason
        self._is_dropped = True
        for operation in tuple(self._pending):
            operation.error = StepFailure(Outcome.DISCONNECTED, self.lost)
            self._end(operation)
        self._wake()
