"""Requests to an SFTP subsystem, and what it means where one fails."""

from collections.abc import Callable
from typing import Any

from ssh2.exceptions import AllocError, BufferTooSmallError, ChannelPacketExceeded, SFTPProtocolError
from sshload_contract.vocabulary import Outcome, Step

from sshload_worker.clients.sftp_status import status_failure
from sshload_worker.clients.ssh2.direct_calls import last_error_text
from sshload_worker.clients.ssh2.driver import Driver
from sshload_worker.outcomes import StepFailure

_GARBLED = (AllocError, BufferTooSmallError, ChannelPacketExceeded)
"""What libssh2 says of packets whose length cannot be true, AllocError too."""

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
    """The requests of one subsystem."""

    def __init__(self, driver: Driver, sftp: Any) -> None:
        self._driver = driver
        self._sftp = sftp

    def done(self, step: Step, path: str, attempt: Callable[..., Any], *arguments: object) -> Any:
        """Return what `attempt` returns in the end; raises StepFailure with the server's status where it says no."""
        return self._driver.until_done(step, self._attempted, path, attempt, *arguments)

    def _attempted(self, path: str, attempt: Callable[..., Any], *arguments: object) -> Any:
        try:
            return attempt(*arguments)
        except SFTPProtocolError:
            code = self._sftp.last_error()
        except _GARBLED:
            code = 0
        text = last_error_text(self._driver.session)
        if code == 0:  # no status of the server's, but nonsense
            raise StepFailure(Outcome.SFTP_BAD_MESSAGE, f"{path}: {text}")
        raise status_failure(code, f"{path}: {_STATUS_TEXTS.get(code, f'status {code}')}")
