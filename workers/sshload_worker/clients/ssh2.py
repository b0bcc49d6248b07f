"""One SSH connection by ssh2-python (libssh2), non-blocking under gevent.

A connection is used by one greenlet only, because libssh2 sessions are not made for more. Nothing here is tried twice:
a retry would hide the failure that is to be measured. Facts about the library that decide this file:
errors carry no text (last_error has it), get_exit_status is 0 for a killed command (see exit_signal.py), and a
session that failed is only good for being dropped.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

from ssh2 import session as ssh2_session
from ssh2.error_codes import LIBSSH2_ERROR_EAGAIN
from ssh2.exceptions import SSH2Error
from ssh2.session import LIBSSH2_SESSION_BLOCK_INBOUND, LIBSSH2_SESSION_BLOCK_OUTBOUND, Session
from sshload_contract.run_config import Client
from sshload_contract.sample import Negotiated
from sshload_contract.vocabulary import Outcome, Step

from sshload_worker.clients.banner import await_banner
from sshload_worker.clients.descriptor import Address, Descriptor, open_socket
from sshload_worker.clients.exit_signal import exit_signal
from sshload_worker.clients.time_limit import TimeLimit
from sshload_worker.login.known_hosts import HostKeys
from sshload_worker.outcomes import StepFailure, library_outcome

_READ_BYTES = 262_144
_STDOUT = 0
_STDERR_BYTES = 4_096
_IMPLICIT_MAC = "implicit"  # OpenSSH's word for ciphers that authenticate by themselves


@dataclass(frozen=True, slots=True)
class Login:
    """All that one login needs, settled once: the address is resolved and the key is read."""

    address: Address
    user: str
    private_key: bytes
    password: str
    client: Client
    host_keys: HostKeys


@dataclass(frozen=True, slots=True)
class CommandEnd:
    """How a command ended: its exit code, or the signal that killed it, and what it said on stderr at first."""

    exit_code: int
    signal: str
    stderr: bytes


class SSH2Connection:
    """One connection, step by step: connect, banner, kex, auth, then commands, and close whatever happened."""

    # last_error() leaks a kilobyte with each call, so it is asked once for each kind of failure.
    _texts: ClassVar[dict[tuple[Step, type[SSH2Error]], str]] = {}

    def __init__(self, login: Login) -> None:
        self._login = login
        self._timeouts = login.client.timeouts
        self._descriptor = Descriptor(open_socket(login.address[0]), quick_ack=login.client.quick_ack)
        self._session: Any = None
        self._channel: Any = None
        self._server_version = ""
        self._stderr = b""

    @property
    def step_limit_s(self) -> float:
        """How long a command may take from its exec request to its close."""
        return self._timeouts.step_s

    def is_lost(self) -> bool:
        """Tell whether the server has closed the connection, without reading from it."""
        return self._descriptor.peer_has_closed()

    def connect(self) -> None:
        """Open the TCP connection."""
        with TimeLimit(self._timeouts.connect_s, Step.CONNECT):
            self._descriptor.connect(self._login.address[1])

    def banner(self) -> None:
        """Wait for the server's version line."""
        with TimeLimit(self._timeouts.banner_s, Step.BANNER):
            self._server_version = await_banner(self._descriptor)

    def kex(self) -> None:
        """Exchange keys, and check that the host key is a known one."""
        with TimeLimit(self._timeouts.kex_s, Step.KEX):
            self._session = new_session(self._login.client, self._login.host_keys)
            self._until_done(Step.KEX, self._session.handshake, self._descriptor)
            blob, _ = self._session.hostkey()
            if not self._login.host_keys.accepts(blob):
                raise StepFailure(Outcome.HOST_KEY_MISMATCH, "the server's host key is not in known_hosts")

    def auth(self) -> None:
        """Authenticate by the private key, or by the password where there is no key."""
        with TimeLimit(self._timeouts.auth_s, Step.AUTH):
            if self._login.private_key:
                key_auth = self._session.userauth_publickey_frommemory
                self._until_done(Step.AUTH, key_auth, self._login.user, self._login.private_key, "", None)
            else:
                password_auth = self._session.userauth_password
                self._until_done(Step.AUTH, password_auth, self._login.user, self._login.password)

    def negotiated(self) -> Negotiated:
        """Return what the handshake agreed on."""
        method = self._session.methods
        cipher = method(ssh2_session.LIBSSH2_METHOD_CRYPT_CS)
        own_mac = "poly1305" in cipher or "gcm" in cipher
        return Negotiated(
            kex=method(ssh2_session.LIBSSH2_METHOD_KEX),
            cipher=cipher,
            mac=_IMPLICIT_MAC if own_mac else method(ssh2_session.LIBSSH2_METHOD_MAC_CS),
            host_key=method(ssh2_session.LIBSSH2_METHOD_HOSTKEY),
            server_version=self._server_version,
        )

    def open_channel(self) -> None:
        """Open the channel of one command."""
        with TimeLimit(self._timeouts.channel_s, Step.CHANNEL_OPEN):
            self._channel = self._until_done(Step.CHANNEL_OPEN, self._session.open_session)
            self._stderr = b""

    def execute(self, command: str) -> None:
        """Ask for the command, and wait for the server's word that it was started."""
        self._until_done(Step.EXEC, self._channel.execute, command)

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
                self._wait()

    def close_channel(self) -> CommandEnd:
        """Close the channel, wait for the server's close, and return how the command ended."""
        self._until_done(Step.CLOSE, self._channel.close)
        self._until_done(Step.CLOSE, self._channel.wait_closed)
        end = CommandEnd(
            exit_code=self._channel.get_exit_status(),
            signal=exit_signal(self._session, self._channel),
            stderr=self._stderr,
        )
        self._channel = None
        return end

    def close(self) -> None:
        """Say goodbye if the server listens, and end the connection. Never waits."""
        if self._session is not None:
            with suppress(SSH2Error):  # where the server is gone already, there is nobody to say goodbye to
                self._session.disconnect()
        self._descriptor.shut_down()
        self._channel = None
        self._session = None

    def _until_done(self, step: Step, call: Callable[..., Any], *arguments: object) -> Any:
        try:
            result = call(*arguments)
            while result == LIBSSH2_ERROR_EAGAIN:
                self._wait()
                result = call(*arguments)
        except SSH2Error as error:
            raise self._failure(step, error) from None
        return result

    def _wait(self) -> None:
        directions = self._session.block_directions()
        if not directions & LIBSSH2_SESSION_BLOCK_OUTBOUND:
            self._descriptor.wait_readable()
        elif directions & LIBSSH2_SESSION_BLOCK_INBOUND:
            self._descriptor.wait_either()
        else:
            self._descriptor.wait_writable()

    def _read_stdout(self) -> tuple[int, bytes]:
        try:
            count, data = self._channel.read(_READ_BYTES)
        except SSH2Error as error:
            raise self._failure(Step.READ, error) from None
        return count, data

    def _read_stderr(self) -> None:
        count, data = 1, b""
        while count > 0:
            try:
                count, data = self._channel.read_stderr(_STDERR_BYTES)
            except SSH2Error as error:
                raise self._failure(Step.READ, error) from None
            if not self._stderr:
                self._stderr = data

    def _failure(self, step: Step, error: SSH2Error) -> StepFailure:
        if type(error) is SSH2Error and self._descriptor.peer_has_closed():
            return StepFailure(Outcome.DISCONNECTED, "the server closed the connection")
        kind = (step, type(error))
        if kind not in self._texts:
            self._texts[kind] = f"{type(error).__name__}: {_text(self._session.last_error())}"
        return StepFailure(library_outcome(step, type(error)), self._texts[kind])


def new_session(client: Client, host_keys: HostKeys) -> Any:
    """Return a session that will negotiate as configured; raises SSH2Error where the library knows none of a list."""
    session = Session()
    session.set_blocking(False)
    host_key_algorithms = client.host_key_algorithms or host_keys.algorithms
    for methods, names in (
        ((ssh2_session.LIBSSH2_METHOD_KEX,), client.kex_algorithms),
        ((ssh2_session.LIBSSH2_METHOD_HOSTKEY,), host_key_algorithms),
        ((ssh2_session.LIBSSH2_METHOD_CRYPT_CS, ssh2_session.LIBSSH2_METHOD_CRYPT_SC), client.ciphers),
        ((ssh2_session.LIBSSH2_METHOD_MAC_CS, ssh2_session.LIBSSH2_METHOD_MAC_SC), client.macs),
    ):
        for method in methods if names else ():
            session.method_pref(method, ",".join(names))
    return session


def _text(text: bytes | str) -> str:
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else text
