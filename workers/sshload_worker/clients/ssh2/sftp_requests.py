"""Requests to an SFTP subsystem, and what it means where one fails."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ssh2.channel import Channel
from ssh2.error_codes import LIBSSH2_ERROR_EAGAIN
from ssh2.exceptions import AllocError, BufferTooSmallError, ChannelPacketExceeded, SFTPProtocolError, SSH2Error
from ssh2.sftp import SFTP
from ssh2.sftp_handle import SFTPHandle
from sshload_contract.vocabulary import Outcome, Step

from sshload_worker.clients.sftp import status_failure
from sshload_worker.clients.ssh2.direct_calls import channel_of, close_file, has_ended, last_error_text, own_file
from sshload_worker.clients.ssh2.driver import Driver
from sshload_worker.outcomes import StepFailure

GARBLED = (AllocError, BufferTooSmallError, ChannelPacketExceeded)
"""Errors of libssh2 about packets of an impossible length, AllocError too."""

_STATUS_TEXTS = {
    2: "no such file",
    3: "permission denied",
    4: "failure",
    5: "bad message",
    6: "no connection",
    7: "connection lost",
    8: "operation unsupported",
}


class SftpRequests:
    """The requests of one subsystem, and the files and directories that they have opened."""

    def __init__(self, driver: Driver, sftp: SFTP) -> None:
        self.driver = driver
        self._sftp = sftp
        self._handles: set[SFTPHandle] = set()
        self._channel: Channel | None = None
        driver.subsystems.add(self)

    def done(self, step: Step, path: str, attempt: Callable[..., Any], *arguments: object) -> Any:
        """Repeat `attempt` until done; return its result. Raises StepFailure with the server's status on an error."""
        return self.driver.until_done(step, self._attempted, path, attempt, *arguments)

    def close(self, step: Step, path: str, handle: SFTPHandle) -> None:
        """Close a file or directory; raises StepFailure where the server says no."""
        self._handles.remove(handle)
        self.done(step, path, close_file, handle)
        self.driver.forget(handle)

    def end(self) -> Channel:
        """Give up the subsystem, and return the channel with which it ends. Nothing else may be called after that."""
        if self._channel is None:
            self.driver.subsystems.discard(self)
            for handle in self._handles:
                self.driver.forget(handle)
            self._channel = channel_of(self._sftp)
            self.driver.keep(self._channel)
            self.driver.forget(self._sftp)
        return self._channel

    def free(self) -> None:
        """Free the files that are still open, once the connection has ended."""
        while self._handles:
            with suppress(SSH2Error):  # there is nobody to close them
                close_file(self._handles.pop())

    def _attempted(self, path: str, attempt: Callable[..., Any], *arguments: object) -> Any:
        try:
            result = attempt(*arguments)
        except SFTPProtocolError:
            code = self._sftp.last_error()
        except GARBLED:
            code = 0
        else:
            if result == LIBSSH2_ERROR_EAGAIN and has_ended(self._sftp):
                raise StepFailure(Outcome.SFTP_CONNECTION_LOST, f"{path}: the server's SFTP subsystem has ended")
            if isinstance(result, SFTPHandle):
                own_file(result)
                self._handles.add(result)
            return result
        text = last_error_text(self.driver.session)
        if code == 0:  # no status of the server's, but nonsense
            raise StepFailure(Outcome.SFTP_BAD_MESSAGE, f"{path}: {text}")
        raise status_failure(code, f"{path}: {_STATUS_TEXTS.get(code, f'status {code}')}")


def try_end(requests: SftpRequests) -> int:
    """Close a subsystem's channel and the subsystem with it: return 0 once that is done, or EAGAIN."""
    channel = requests.end()
    result = int(channel.close())
    if result == 0:
        requests.driver.forget(channel)
    return result
