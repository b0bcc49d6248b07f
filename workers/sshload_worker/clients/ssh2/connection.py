"""One SSH connection by ssh2-python (libssh2)."""

from contextlib import suppress
from typing import Any, cast

from ssh2 import session as ssh2_session
from ssh2.exceptions import SSH2Error
from sshload_contract.run_config import Auth
from sshload_contract.sample import Negotiated
from sshload_contract.vocabulary import Outcome, Step

from sshload_worker.clients.banner import await_banner
from sshload_worker.clients.descriptor import Descriptor, open_socket
from sshload_worker.clients.interface import Connection
from sshload_worker.clients.ssh2.channel import SSH2Channel
from sshload_worker.clients.ssh2.driver import Driver
from sshload_worker.clients.ssh2.jump import TunnelDescriptor
from sshload_worker.clients.ssh2.session import new_session
from sshload_worker.login.login import Login
from sshload_worker.outcomes import StepFailure

_IMPLICIT_MAC = "implicit"  # OpenSSH's word for ciphers that authenticate by themselves


class SSH2Connection:
    """One connection (clients.interface.Connection)."""

    times_parts = True

    def __init__(self, login: Login, through: Connection | None = None) -> None:
        self._login = login
        self._address: tuple[object, ...] = (login.host, login.port)
        self._descriptor: Descriptor
        if login.address is not None:
            family, self._address = login.address
            self._descriptor = Descriptor(open_socket(family), quick_ack=login.client.quick_ack)
        else:
            self._descriptor = TunnelDescriptor(cast("SSH2Connection", through))
        self._driver: Driver | None = None
        self._server_version = ""

    def connect(self) -> None:
        """Open the TCP connection, or the jump host's channel."""
        self._descriptor.connect(self._address)

    def banner(self) -> None:
        """Wait for the server's version line."""
        self._server_version = await_banner(self._descriptor)

    def kex(self) -> None:
        """Exchange keys, and check that the host key is a known one."""
        session = new_session(self._login.client, self._login.host_keys)
        self._driver = Driver(session, self._descriptor)
        self._driver.until_done(Step.KEX, session.handshake, self._descriptor)
        blob, _ = session.hostkey()
        if not self._login.host_keys.accepts(blob):
            raise StepFailure(Outcome.HOST_KEY_MISMATCH, "the server's host key is not in known_hosts")

    def auth(self) -> None:
        """Authenticate as the login's credentials say."""
        credentials, user, driver = self._login.credentials, self._login.user, self.driver
        if credentials.auth is Auth.PUBLICKEY:
            key_auth = driver.session.userauth_publickey_frommemory
            driver.until_done(Step.AUTH, key_auth, user, credentials.private_key, "", None)
        else:
            driver.until_done(Step.AUTH, driver.session.userauth_password, user, credentials.password)

    def negotiated(self) -> Negotiated:
        """Return what the handshake agreed on."""
        method = self.driver.session.methods
        cipher = method(ssh2_session.LIBSSH2_METHOD_CRYPT_CS)
        own_mac = "poly1305" in cipher or "gcm" in cipher
        return Negotiated(
            kex=method(ssh2_session.LIBSSH2_METHOD_KEX),
            cipher=cipher,
            mac=_IMPLICIT_MAC if own_mac else method(ssh2_session.LIBSSH2_METHOD_MAC_CS),
            host_key=method(ssh2_session.LIBSSH2_METHOD_HOSTKEY),
            server_version=self._server_version,
        )

    def is_lost(self) -> bool:
        """Tell whether the server has closed the connection, without reading from it."""
        return self._descriptor.peer_has_closed()

    def open_channel(self) -> SSH2Channel:
        """Open a session channel."""
        driver = self.driver
        return SSH2Channel(driver, driver.until_done(Step.CHANNEL_OPEN, driver.session.open_session))

    def close(self) -> None:
        """Say goodbye if the server listens, and end the connection. Never waits."""
        if self._driver is not None:
            with suppress(SSH2Error):  # where the server is gone already, there is nobody to say goodbye to
                self._driver.session.disconnect()
        self._descriptor.shut_down()
        self._driver = None

    @property
    def driver(self) -> Any:
        """What drives the session, from the key exchange on."""
        return self._driver
