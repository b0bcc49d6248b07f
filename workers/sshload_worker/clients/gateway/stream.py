"""The bytes between a worker and a gateway: TCP, with TLS on it if the gateway's URL is https.

A call does not wait while its connection has data to read. So that a fast gateway cannot keep all other greenlets, and
time limits with them, from running, they run before each call that follows one that did not wait.
"""

import socket
import ssl
from typing import Protocol

from gevent import sleep
from sshload_contract.error_text import reason_of
from sshload_contract.vocabulary import Outcome

from sshload_worker.clients.tcp import Descriptor
from sshload_worker.outcomes import StepFailure

_RECEIVE_BYTES = 65_536


class Stream(Protocol):
    """Bytes in both directions. Calls wait through gevent, and raise StepFailure if the connection is lost."""

    def send(self, data: bytes) -> None:
        """Send all of `data`."""

    def receive(self) -> bytes:
        """Wait for data and return it; empty if the gateway has closed the connection."""


class PlainStream:
    """TCP without TLS."""

    def __init__(self, descriptor: Descriptor) -> None:
        self._descriptor = descriptor
        self._has_waited = True

    def send(self, data: bytes) -> None:
        """Send all of `data`."""
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[self._descriptor.socket.send(rest, socket.MSG_NOSIGNAL) :]
            except BlockingIOError:
                self._descriptor.wait_writable()
            except OSError as error:
                raise _lost(error) from None

    def receive(self) -> bytes:
        """Wait for data and return it; empty if the gateway has closed the connection."""
        if not self._has_waited:
            sleep(0)
        self._has_waited = False
        while True:
            try:
                return self._descriptor.socket.recv(_RECEIVE_BYTES)
            except BlockingIOError:
                self._has_waited = True
                self._descriptor.wait_readable()
            except OSError as error:
                raise _lost(error) from None


class TlsStream:
    """TLS on TCP. Call `handshake` first."""

    def __init__(self, below: PlainStream, context: ssl.SSLContext, host: str) -> None:
        self._below = below
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host)

    def handshake(self) -> None:
        """Make the TLS handshake, and check the certificate; raises StepFailure."""
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                self._send_encrypted()
                if not self._fetch():
                    raise StepFailure(
                        Outcome.TLS_FAILED, "the gateway closed the connection during the TLS handshake"
                    ) from None
            except ssl.SSLCertVerificationError as error:
                raise StepFailure(Outcome.TLS_FAILED, f"the certificate: {error.verify_message}") from None
            except ssl.SSLError as error:
                raise StepFailure(Outcome.TLS_FAILED, f"the TLS handshake: {error.reason or 'failed'}") from None
            else:
                self._send_encrypted()
                return

    def send(self, data: bytes) -> None:
        """Send all of `data`. A reply to a key update of the gateway is sent with the next data."""
        self._tls.write(data)
        self._send_encrypted()

    def receive(self) -> bytes:
        """Wait for data and return it; empty if the gateway has closed the connection."""
        while True:
            try:
                return self._tls.read(_RECEIVE_BYTES)
            except ssl.SSLWantReadError:
                self._send_encrypted()
                if not self._fetch():
                    return b""
            except ssl.SSLZeroReturnError:
                return b""
            except ssl.SSLError as error:
                raise StepFailure(Outcome.DISCONNECTED, f"TLS: {error.reason or 'failed'}") from None

    def _send_encrypted(self) -> None:
        encrypted = self._outgoing.read()
        if encrypted:
            self._below.send(encrypted)

    def _fetch(self) -> bool:
        """Receive more encrypted data; return False at the end of the connection."""
        encrypted = self._below.receive()
        self._incoming.write(encrypted)
        return bool(encrypted)


def _lost(error: OSError) -> StepFailure:
    return StepFailure(Outcome.DISCONNECTED, f"the connection to the gateway was lost: {reason_of(error)}")
