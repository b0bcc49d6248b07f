"""One SSH connection by OpenSSH's own programs."""

import shlex
from shutil import rmtree

from gevent import Timeout
from sshload_contract.vocabulary import Outcome, Timing
from sshload_contract.wire.report import Negotiated

from sshload_worker.clients.interface import Connection, RemoteFile
from sshload_worker.clients.openssh.channel import ClientSession, OpenSSHChannel, OwnSession, Session
from sshload_worker.clients.openssh.master import Master
from sshload_worker.clients.openssh.settings import SERVER, as_host_name, directory_of, forward_to, sftp_sizes
from sshload_worker.clients.openssh.transfer import FileTransfer, OpenSSHSftp, open_download, open_upload
from sshload_worker.clients.rejections import method_of, rejection
from sshload_worker.login.login import Login
from sshload_worker.login.tickets import no_kdc_yet
from sshload_worker.outcomes import StepFailure


class OpenSSHConnection:
    """One connection (clients.interface.ProgramConnection)."""

    times_parts = False
    authentication = None

    def __init__(self, login: Login, through: Connection | None = None) -> None:
        self._login = login
        self._jump = through
        self._directory = directory_of(login)
        self._tickets = login.credentials.tickets
        limit_s = login.client.timeouts.auth_s
        self._cache_path = "" if self._tickets is None else self._tickets.cache_of_login(limit_s)
        self._no_ticket = None if self._tickets is None else self._tickets.failure
        self._running: Master | None = None
        self._channels: list[OpenSSHChannel] = []
        self._programs: FileTransfer | None = None

    def connect(self) -> None:
        """Start ssh, and wait until it has a connection."""
        environment = {"KRB5CCNAME": f"FILE:{self._cache_path}"} if self._cache_path else {}
        self._running = Master(self._directory, self._connect_options(), environment)
        self._master.await_step(Timing.CONNECT)

    @property
    def connecting_ns(self) -> int:
        """When ssh began to connect."""
        return self._running.log.connecting_ns if self._running is not None else 0

    def banner(self) -> None:
        """Wait until ssh has the server's version line."""
        try:
            self._master.await_step(Timing.BANNER)
        except StepFailure:
            self._check_jump()
            raise

    def kex(self) -> None:
        """Wait until ssh has exchanged keys, and checked the host key."""
        try:
            self._master.await_step(Timing.KEX)
        except StepFailure as failure:
            presented = self._master.log.host_key
            if failure.outcome is Outcome.HOST_KEY_MISMATCH and presented:
                raise StepFailure(failure.outcome, self._login.host_keys.mismatch(presented)) from None
            raise

    def auth(self) -> None:
        """Wait until ssh has logged in, and accepts requests for sessions."""
        try:
            self._master.await_step(Timing.AUTH)
        except Timeout:
            if self._master.log.waits_for_kdc:
                raise no_kdc_yet(self._login.client.timeouts.auth_s) from None
            raise
        except StepFailure as failure:
            log = self._master.log
            if self._no_ticket is not None:
                raise self._no_ticket from None
            if self._tickets is not None and log.kerberos_words:
                raise self._tickets.refusal(log.kerberos_words) from None
            if failure.outcome is not Outcome.AUTH_REJECTED or not log.offered_methods:
                raise
            auth, accepted = self._login.credentials.auth, log.is_partly_authenticated
            raise rejection(method_of(auth), log.offered_methods, accepted=accepted) from None

    def negotiated(self) -> Negotiated:
        return self._master.log.negotiated()

    def is_lost(self) -> bool:
        return self._master.is_lost()

    def keep_alive(self) -> None:
        """Fail: ssh sends keepalives by itself, and does not report them."""
        raise StepFailure(Outcome.GENERATOR_FAULT, "OpenSSH cannot be told to send a keep-alive request")

    def open_channel(self) -> OpenSSHChannel:
        """Return a channel, which ssh opens when its command is requested."""
        shared = self._login.client.control_master
        session: Session = ClientSession(self._master, self._directory) if shared else OwnSession(self._master)
        channel = OpenSSHChannel(session)
        self._channels = [*(earlier for earlier in self._channels if not earlier.is_closed), channel]
        return channel

    def open_forward(self, host: str, port: int) -> OpenSSHChannel:
        channel = self.open_channel()
        channel.forward(host, port)
        return channel

    def open_sftp(self) -> OpenSSHSftp:
        """Return an SFTP client that opens a subsystem for each operation."""
        return OpenSSHSftp(self._file_transfer())

    def scp_read(self, path: str) -> RemoteFile:
        """Fetch a file by scp."""
        programs = self._file_transfer()
        return open_download(programs, lambda here: programs.scp([programs.remote(path), str(here)]))

    def scp_write(self, path: str, size_bytes: int) -> RemoteFile:
        """Open a local file for writing, which `close` sends by scp."""
        del size_bytes  # the local file has it
        programs = self._file_transfer()
        return open_upload(programs, lambda here: programs.scp([str(here), programs.remote(path)]))

    def close(self) -> None:
        """End all processes of the connection immediately. Never waits."""
        if self._programs is not None:
            self._programs.close()
        for channel in self._channels:
            channel.drop()
        self._channels.clear()
        if self._running is not None:
            self._running.close()
        if self._login.place is not None:
            rmtree(self._directory.path, ignore_errors=True)
        if self._tickets is not None:
            self._tickets.give_back(self._cache_path)
        if self._jump is not None:
            self._jump.close()

    def proxy_command(self, host: str, port: int) -> str:
        """Return the command that connects to a server behind this one (`ProxyCommand`)."""
        shared = ["-F", self._directory.config, "-o", "LogLevel=ERROR", "-S", self._master.socket_path]
        return shlex.join(["ssh", *shared, "-W", forward_to(host, port), SERVER])

    def forward_failure(self) -> StepFailure | None:
        """Return why this jump host did not reach the next server, or None if it did not refuse to."""
        refusal = self._master.claim_refusal()
        if refusal is not None:
            return StepFailure(Outcome.CHANNEL_REFUSED, refusal)
        return None

    def _check_jump(self) -> None:
        """Raise StepFailure if the jump host did not reach the server."""
        refusal = self._jump.forward_failure() if isinstance(self._jump, OpenSSHConnection) else None
        if refusal is not None:
            raise refusal

    def _connect_options(self) -> list[str]:
        if isinstance(self._jump, OpenSSHConnection):
            command = self._jump.proxy_command(self._login.host, self._login.port).replace("%", "%%")
            return ["-o", f"ProxyCommand={command}"]
        if self._login.address is None:
            raise StepFailure(Outcome.GENERATOR_FAULT, "a server without an address needs a jump host")
        source = self._login.source_address
        bind = ["-o", f"BindAddress={source}"] if source else []
        return ["-o", f"HostName={as_host_name(str(self._login.address[1][0]))}", *bind]

    def _file_transfer(self) -> FileTransfer:
        if self._programs is None:
            sizes = sftp_sizes(self._login.client)
            self._programs = FileTransfer(self._master, self._directory, sizes)
        return self._programs

    @property
    def _master(self) -> Master:
        if self._running is None:
            raise StepFailure(Outcome.DISCONNECTED, "the connection is closed")
        return self._running
