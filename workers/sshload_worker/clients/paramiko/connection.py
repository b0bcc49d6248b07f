"""One SSH connection by paramiko."""

from collections.abc import Callable
from typing import Any, NoReturn

from paramiko.pkey import PKey
from sshload_contract.client import Auth
from sshload_contract.vocabulary import Outcome, Timing
from sshload_contract.wire.report import IMPLICIT_MAC, Negotiated

from sshload_worker.clients.authentication import Authentication
from sshload_worker.clients.file_protocols import read_by_scp, write_by_scp
from sshload_worker.clients.interface import Connection
from sshload_worker.clients.paramiko.channel import ParamikoChannel
from sshload_worker.clients.paramiko.settings import Agent, private_key
from sshload_worker.clients.paramiko.sftp import ParamikoSftp
from sshload_worker.clients.paramiko.stream import ForwardedStream, Stream
from sshload_worker.clients.paramiko.transport import Driver, Transport
from sshload_worker.login.login import Login
from sshload_worker.outcomes import StepFailure

_ORIGIN = ("127.0.0.1", 0)  # the originator's address that the server is told (RFC 4254 section 7.2)


class ParamikoConnection:
    """One connection (clients.interface.Connection)."""

    times_parts = True
    scp_read = read_by_scp
    scp_write = write_by_scp

    def __init__(self, login: Login, through: Connection | None = None) -> None:
        self._login = login
        self._stream = _stream(login, through)
        self._driver: Driver | None = None
        self.authentication: Authentication | None = None
        self._server_version = ""

    def connect(self) -> None:
        self._stream.connect()

    def banner(self) -> None:
        self._server_version = self._stream.banner()

    def kex(self) -> None:
        transport = Transport(self._stream, self._login.client, self._login.host_keys)
        self._driver = Driver(transport)
        self._driver.call(Timing.KEX, transport.start_client)
        refusal = self._login.host_keys.refusal(transport.host_key_blob)
        if refusal:
            raise StepFailure(Outcome.HOST_KEY_MISMATCH, refusal)

    def auth(self) -> None:
        transport = self.driver.transport
        self.authentication = authentication = transport.authentication = Authentication(self._login.credentials)
        if self._login.credentials.auth is not Auth.KEYBOARD_INTERACTIVE:
            more = self._attempt(authentication, self._by_first_method)
            if not more:
                authentication.end(is_accepted=True)
                return
            authentication.accepted(more)
        if more := self._attempt(authentication, self._by_prompts):
            raise authentication.refused(more, accepted=True)
        authentication.end(is_accepted=True)

    def _attempt(self, authentication: Authentication, method: Callable[[], Any]) -> list[str]:
        """Log in by a method; return the methods that the server asks for besides, none if the login is complete."""
        offered = self.driver.transport
        try:
            return list(method() or ())
        except StepFailure as failure:
            if failure.outcome is Outcome.AUTH_REJECTED and offered.offered_methods:
                raise authentication.refused(offered.offered_methods) from None
            raise authentication.failed(failure) from None

    def _by_first_method(self) -> Any:
        driver, user, credentials = self.driver, self._login.user, self._login.credentials
        transport = driver.transport
        match credentials.auth:
            case Auth.PUBLICKEY | Auth.CERTIFICATE:
                extra = [private_key(key.openssh, b"") for key in self._login.extra_keys]
                return self._offer(*extra, private_key(credentials.private_key, credentials.certificate_line))
            case Auth.AGENT:
                agent = Agent(credentials.agent_socket)
                try:
                    return self._offer(*agent.keys())
                finally:
                    agent.close()
        return driver.call(Timing.AUTH, transport.auth_password, user, credentials.password, fallback=False)

    def _by_prompts(self) -> Any:
        return self.driver.call(Timing.AUTH, self.driver.transport.auth_interactive, self._login.user, _unused)

    def _offer(self, *keys: PKey) -> Any:
        """Offer keys one after the other until the server takes one; return what `auth_publickey` does."""
        driver, user = self.driver, self._login.user
        *others, last = keys
        for key in others:
            try:
                return driver.call(Timing.AUTH, driver.transport.auth_publickey, user, key)
            except StepFailure as failure:
                if failure.outcome is not Outcome.AUTH_REJECTED:
                    raise
        return driver.call(Timing.AUTH, driver.transport.auth_publickey, user, last)

    def negotiated(self) -> Negotiated:
        transport = self.driver.transport
        return Negotiated(
            kex=transport.kex_name,
            cipher=transport.local_cipher,
            mac=IMPLICIT_MAC if "gcm" in transport.local_cipher else str(transport.local_mac),
            host_key=str(transport.host_key_type),
            server_version=self._server_version,
        )

    def is_lost(self) -> bool:
        return not self.driver.transport.is_active() or self._stream.is_lost()

    def keep_alive(self) -> None:
        driver = self.driver
        driver.call(Timing.KEEP_ALIVE, driver.transport.global_request, "keepalive@openssh.com")
        if not driver.transport.is_active():
            raise driver.lost()

    def open_channel(self) -> ParamikoChannel:
        driver = self.driver
        return self._channel(driver, driver.call(Timing.CHANNEL_OPEN, driver.transport.open_session))

    def open_forward(self, host: str, port: int) -> ParamikoChannel:
        driver, kind = self.driver, "direct-tcpip"
        opened = driver.call(Timing.CHANNEL_OPEN, driver.transport.open_channel, kind, (host, port), _ORIGIN)
        return self._channel(driver, opened)

    def open_sftp(self) -> ParamikoSftp:
        return ParamikoSftp(self.driver, self.open_channel(), self._login.client)

    def close(self) -> None:
        if self._driver is None:
            self._stream.release()
        else:
            self._driver.transport.close()
        self._driver = None

    def _channel(self, driver: Driver, opened: Any) -> ParamikoChannel:
        return ParamikoChannel(driver, opened, self._login.client.read_buffer_bytes)

    @property
    def driver(self) -> Driver:
        """The driver of this connection's calls, from the key exchange on; raises StepFailure once it is closed."""
        if self._driver is None:
            raise StepFailure(Outcome.DISCONNECTED, "the connection is closed")
        return self._driver


def _unused(*_: object) -> NoReturn:
    """Fail: the transport answers prompts itself (Transport.answer_prompts)."""
    raise NotImplementedError


def _stream(login: Login, through: Connection | None) -> Stream | ForwardedStream:
    if isinstance(through, ParamikoConnection):
        return ForwardedStream(through, through.driver, login.host, login.port)
    if login.address is None:
        raise StepFailure(Outcome.GENERATOR_FAULT, "a server without an address needs a jump host")
    return Stream(login.client, login.address, login.source_address)
