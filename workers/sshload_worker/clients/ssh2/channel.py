"""A channel of a libssh2 session."""

from typing import Any

from ssh2.exceptions import SSH2Error
from sshload_contract.vocabulary import Step

from sshload_worker.clients.interface import CommandEnd
from sshload_worker.clients.ssh2.driver import Driver
from sshload_worker.clients.ssh2.exit_signal import exit_signal

_READ_BYTES = 262_144
_STDOUT = 0
_STDERR_BYTES = 4_096


class SSH2Channel:
    """One open channel (clients.interface.Channel). Its exit status is 0 for a killed command, see exit_signal.py."""

    def __init__(self, driver: Driver, channel: Any) -> None:
        self._driver = driver
        self._channel = channel
        self._stderr = b""

    def execute(self, command: str) -> None:
        """Ask for the command, and wait for the server's word that it was started."""
        self._driver.until_done(Step.EXEC, self._channel.execute, command)

    def read(self) -> bytes:
        """Return the next piece of stdout, empty at the end of all output."""
        while True:
            count, data = self._read_stdout()
            if count > 0:
                return data
            self._read_stderr()
            if self._channel.eof():
                return b""
            # Reading stderr may have taken stdout from the socket as well: then no wait would ever end.
            if not self._channel.poll_channel_read(_STDOUT):
                self._driver.wait()

    def close(self) -> CommandEnd:
        """Close the channel, wait for the server's close, and return how the command ended."""
        self._driver.until_done(Step.CLOSE, self._channel.close)
        self._driver.until_done(Step.CLOSE, self._channel.wait_closed)
        return CommandEnd(
            exit_code=self._channel.get_exit_status(),
            signal=exit_signal(self._driver.session, self._channel),
            stderr=self._stderr,
        )

    def _read_stdout(self) -> tuple[int, bytes]:
        try:
            count, data = self._channel.read(_READ_BYTES)
        except SSH2Error as error:
            raise self._driver.failure(Step.READ, error) from None
        return count, data

    def _read_stderr(self) -> None:
        count, data = 1, b""
        while count > 0:
            try:
                count, data = self._channel.read_stderr(_STDERR_BYTES)
            except SSH2Error as error:
                raise self._driver.failure(Step.READ, error) from None
            if not self._stderr:
                self._stderr = data
