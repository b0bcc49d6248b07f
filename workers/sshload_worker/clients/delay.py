"""Connections with a simulated network delay: a relay beside the worker delays each direction.

The relay is a process of its own, so that its work takes no time of the worker's only thread. It ends with the worker,
because its standard input does.
"""

import _socket
import errno
import json
import os
import secrets
import socket
import struct
import subprocess
import sys
from functools import cache

from sshload_contract.client import Client
from sshload_contract.error_text import reason_of
from sshload_contract.vocabulary import Outcome

from sshload_worker.clients.tcp import Descriptor, open_socket
from sshload_worker.login.login import Address
from sshload_worker.outcomes import GeneratorFaultError, StepFailure, connect_outcome
from sshload_worker.recording.health import forget_companion, watch_companion

_US_PER_S = 1_000_000
_ERRNO = struct.Struct(">I")
_TOKEN_BYTES = 16


class Relay:
    """One running relay, and the request for a connection through it."""

    def __init__(self, delay_s: float) -> None:
        """Start a relay; raises GeneratorFaultError if it does not start."""
        command = [sys.executable, "-m", "sshload_worker.clients.delay_relay"]
        try:
            self._process = subprocess.Popen(  # noqa: S603 - no part of the command is anybody's input
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
            )
        except OSError as error:
            raise GeneratorFaultError(
                f"the relay of client.networkDelay cannot be started: {reason_of(error)}"
            ) from None
        self._token = secrets.token_hex(_TOKEN_BYTES)
        said = b""
        if self._process.stdin is not None and self._process.stdout is not None:
            self._process.stdin.write(f"{self._token} {round(delay_s * _US_PER_S)}\n".encode())
            said = self._process.stdout.readline()
            watch_companion(self._process.pid, self._process.stdout.fileno())
        if not said.strip().isdigit():
            raise GeneratorFaultError("the relay of client.networkDelay did not start")
        self.address = ("127.0.0.1", int(said))

    def request(self, address: Address, *, quick_ack: bool) -> bytes:
        """Return the request for a connection to `address`, with or without quickAck."""
        family, where = address
        return json.dumps([self._token, family, where, quick_ack]).encode() + b"\n"

    def end(self) -> None:
        """End the relay with all its connections, and wait until it has ended."""
        forget_companion(self.pid)
        self._process.communicate()

    @property
    def pid(self) -> int:
        """The relay's process ID."""
        return self._process.pid


class DelayedDescriptor(Descriptor):
    """A connection through the relay. `connect` takes two delays, one for each direction."""

    __slots__ = ("_family", "_relay")

    def __init__(self, opened: _socket.socket, relay: Relay, family: socket.AddressFamily, *, quick_ack: bool) -> None:
        super().__init__(opened, quick_ack=quick_ack)
        self._relay = relay
        self._family = family

    def connect(self, address: tuple[object, ...]) -> None:
        """Connect; raises StepFailure if that fails, with the error of the relay's connection to the server."""
        try:
            super().connect(self._relay.address)
        except StepFailure:
            raise _relay_has_ended() from None
        try:
            answer = self._request((self._family, address))
        except ConnectionError:
            raise _relay_has_ended() from None
        (number,) = _ERRNO.unpack(answer)
        if number in {errno.EMFILE, errno.ENFILE}:
            raise OSError(number, os.strerror(number))  # the same error as if the worker had no descriptor left
        if number:
            raise StepFailure(connect_outcome(number), os.strerror(number))

    def _request(self, address: Address) -> bytes:
        """Send the request, and return the relay's whole reply; raises ConnectionError if the relay has ended."""
        self.socket.send(self._relay.request(address, quick_ack=self._quick_ack))
        answer = b""
        while len(answer) < _ERRNO.size:
            try:
                piece = self.socket.recv(_ERRNO.size - len(answer))
            except BlockingIOError:
                self.wait_readable()
                continue
            if not piece:
                raise ConnectionResetError
            answer += piece
        return answer


def _relay_has_ended() -> StepFailure:
    return StepFailure(Outcome.GENERATOR_FAULT, "the relay of client.networkDelay has ended")


@cache
def relay_of(delay_s: float) -> Relay:
    """Return this process's relay for a delay. The first call starts it."""
    return Relay(delay_s)


def prepare_delay(client: Client) -> None:
    """Start the relay that the client needs, if any; raises GeneratorFaultError if it does not start."""
    if client.network_delay_s:
        relay_of(client.network_delay_s)


def new_descriptor(client: Client, family: socket.AddressFamily, source_address: str = "") -> Descriptor:
    """Return a descriptor for a connection to an address of `family`, with the network delay of `client`.

    Without a delay it is from `source_address`, unless that is empty. Raises OSError if the process has no file
    descriptor left, and StepFailure if this machine does not have the source address.
    """
    if not client.network_delay_s:
        return Descriptor(open_socket(family, source_address), quick_ack=client.quick_ack)
    relay = relay_of(client.network_delay_s)
    return DelayedDescriptor(open_socket(socket.AF_INET), relay, family, quick_ack=client.quick_ack)
