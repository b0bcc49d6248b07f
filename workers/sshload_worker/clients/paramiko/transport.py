"""paramiko's Transport, and the Driver that calls it and turns its errors into outcomes.

The Transport records what paramiko discards: exit signals, the server's close, names of negotiated algorithms.
"""

import math
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from paramiko import transport as library
from paramiko.channel import Channel
from paramiko.common import (
    CONNECTION_FAILED_CODE,
    MSG_CHANNEL_CLOSE,
    MSG_CHANNEL_FAILURE,
    MSG_CHANNEL_OPEN_FAILURE,
    MSG_CHANNEL_REQUEST,
    MSG_USERAUTH_BANNER,
    MSG_USERAUTH_FAILURE,
    MSG_USERAUTH_INFO_REQUEST,
    cMSG_USERAUTH_INFO_RESPONSE,
)
from paramiko.kex_gex import KexGexSHA256
from paramiko.message import Message
from paramiko.packet import Packetizer
from paramiko.sftp import SFTPError
from paramiko.ssh_exception import (
    AuthenticationException,
    BadAuthenticationType,
    ChannelException,
    IncompatiblePeer,
    MessageOrderError,
    PartialAuthentication,
    SSHException,
)
from sshload_contract.client import Auth, Client
from sshload_contract.vocabulary import Outcome, Timing

from sshload_worker.clients.authentication import KEYBOARD_INTERACTIVE, MOST_PROMPTS, Authentication
from sshload_worker.clients.group_exchange import (
    LEAST_BITS,
    MOST_BITS,
    PREFERRED_BITS,
    GroupError,
    is_secret,
    private_exponent,
)
from sshload_worker.clients.inflation import Inflation, InflationError
from sshload_worker.clients.paramiko.settings import prefer
from sshload_worker.login.known_hosts import HostKeys
from sshload_worker.outcomes import StepFailure, disconnect_outcome, refused_outcome

_MOST_PACKET_BYTES = 262_144  # OpenSSH's PACKET_MAX_SIZE is the same
_PACKET_OVERHEAD_BYTES = 1_024

LIBRARY_ERRORS: dict[type[Exception], Outcome] = {
    IncompatiblePeer: Outcome.KEX_FAILED,
    MessageOrderError: Outcome.KEX_FAILED,
    BadAuthenticationType: Outcome.AUTH_REJECTED,
    PartialAuthentication: Outcome.AUTH_REJECTED,
    ChannelException: Outcome.CHANNEL_REFUSED,
    SFTPError: Outcome.SFTP_BAD_MESSAGE,  # errors with a status are StepFailures before paramiko sees them
    EOFError: Outcome.DISCONNECTED,
    OSError: Outcome.DISCONNECTED,
}
"""The outcomes of errors, subclasses included. A lost connection raises AuthenticationException too."""


@dataclass(slots=True)
class ChannelEnd:
    """How a channel ended. `over` is set once the server has closed it, or the connection has ended.

    `told` is set once the server has told how the command ended, and at the latest with `over`.
    """

    closed_by_server: bool = False
    signal: str = ""
    told: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)

    def finish(self) -> None:
        """Record that nothing of the channel follows."""
        self.told.set()
        self.over.set()


class _Packets(Packetizer):
    """paramiko's packets, with a limit of their length, and without paramiko's own time limit for the handshake.

    paramiko accepts any length: a server could fill the memory with a packet of up to 4 GiB, or with a compressed one.
    """

    most_bytes = _MOST_PACKET_BYTES

    def read_all(self, n: int, check_rekey: bool = False) -> bytes:  # noqa: FBT001, FBT002 - paramiko's signature
        """Return the next `n` bytes, which belong to one packet."""
        if n > self.most_bytes:
            raise SSHException(f"a packet of {n:,} bytes")
        read: bytes = super().read_all(n, check_rekey)
        return read

    def set_inbound_compressor(self, compressor: object) -> None:
        """Inflate what follows, bounded, in place of what paramiko gives for it."""
        del compressor
        inflation = Inflation()

        def inflated(packet: bytes) -> bytes:
            try:
                return inflation.inflated(packet)
            except InflationError as error:
                raise SSHException(str(error)) from None

        super().set_inbound_compressor(inflated)

    def start_handshake(self, timeout: float) -> None:
        """Set no time limit: the caller that waits for the handshake has its own."""


def _record_request(channel: Channel, message: Message) -> None:
    # Read ahead: paramiko reads the message again from here.
    position = message.packet.tell()
    kind, end = message.get_text(), channel.get_transport().end_of(channel)
    if kind == "exit-signal":
        message.get_boolean()
        end.signal = message.get_text()
    message.packet.seek(position)
    Channel._handle_request(channel, message)  # noqa: SLF001 - paramiko's table has it
    if kind in ("exit-status", "exit-signal"):
        end.told.set()


def _record_close(channel: Channel, message: Message) -> None:
    end = channel.get_transport().end_of(channel)
    end.closed_by_server = True  # before the reply, because sending it may let the channel's reader run
    Channel._handle_close(channel, message)  # noqa: SLF001 - paramiko's table has it
    end.finish()


def _record_failure(channel: Channel, message: Message) -> None:
    transport = channel.get_transport()
    transport.refusals[Timing.EXEC] = StepFailure(Outcome.EXEC_REJECTED, "the server refused the request")
    Channel._request_failed(channel, message)  # noqa: SLF001 - paramiko's table has it


class _BoundedGroupExchange(KexGexSHA256):
    """paramiko's group exchange with a group that is bounded, and an exponent that is no longer than it need be."""

    min_bits = LEAST_BITS
    preferred_bits = PREFERRED_BITS
    max_bits = MOST_BITS

    def _generate_x(self) -> None:
        try:
            self.x = private_exponent(self.g or 0, self.p or 0)
        except GroupError as error:
            raise SSHException(str(error)) from None


class Transport(library.Transport):
    """One connection's protocol. It reads from and writes to `stream` (stream.py)."""

    _channel_handler_table = {  # noqa: RUF012 - paramiko's own name and form
        **library.Transport._channel_handler_table,  # noqa: SLF001 - to be extended
        MSG_CHANNEL_REQUEST: _record_request,
        MSG_CHANNEL_CLOSE: _record_close,
        MSG_CHANNEL_FAILURE: _record_failure,
    }

    _kex_info = {  # noqa: RUF012 - likewise
        **library.Transport._kex_info,  # noqa: SLF001 - likewise
        _BoundedGroupExchange.name: _BoundedGroupExchange,
    }

    def __init__(self, stream: Any, client: Client, host_keys: HostKeys) -> None:
        sizes = {"default_window_size": client.window_bytes, "default_max_packet_size": client.packet_bytes}
        given = {name: size for name, size in sizes.items() if size is not None}
        super().__init__(stream, packetizer_class=_Packets, **given)
        self._stream = stream
        self._ends: dict[int, ChannelEnd] = {}
        for limit in ("auth_timeout", "clear_to_send_timeout", "channel_timeout"):
            setattr(self, limit, math.inf)  # the caller that waits has its own limit
        self._after_kex: list[Message] = []
        self.kex_name = ""
        self.host_key_blob = b""
        self.disconnect_text = ""
        self.offered_methods: tuple[str, ...] = ()
        self.authentication: Authentication | None = None
        self.refusals: dict[str, StepFailure] = {}
        """What the server refused, by step: paramiko forgets it if the server ends the connection after that."""
        self._handler_table[MSG_CHANNEL_OPEN_FAILURE] = self._record_channel_refusal
        self._handler_table[MSG_USERAUTH_FAILURE] = self._record_refusal
        self._handler_table[MSG_USERAUTH_BANNER] = self._record_text
        self._handler_table[MSG_USERAUTH_INFO_REQUEST] = self._answer_prompts
        self.preferred_host_keys = prefer(self, client, host_keys)
        self.packetizer: _Packets
        self.packetizer.most_bytes = max(_MOST_PACKET_BYTES, (client.packet_bytes or 0) + _PACKET_OVERHEAD_BYTES)
        if client.rekey_bytes is not None:
            self.packetizer.REKEY_BYTES = client.rekey_bytes

    @property
    def preferred_keys(self) -> tuple[str, ...]:
        """The host key algorithms to offer, in order."""
        return self.preferred_host_keys

    def end_of(self, channel: Channel) -> ChannelEnd:
        """Return the ChannelEnd of a channel, which is filled when it ends."""
        return self._ends.setdefault(channel.get_id(), ChannelEnd())

    def forget(self, channel: Channel) -> None:
        """Drop the ChannelEnd of a channel that has ended."""
        self._ends.pop(channel.get_id(), None)

    def run(self) -> None:
        """Read until the end of the connection."""
        try:
            super().run()
        finally:
            self._stream.release()
            for end in self._ends.values():
                end.finish()

    def _set_K_H(self, secret: int | bytes, exchange_hash: bytes) -> None:  # noqa: N802 - paramiko's name
        """Take the result of a key exchange. paramiko itself takes 1 and p - 1 of a server in Diffie-Hellman."""
        fields = getattr(self.kex_engine, "p", None), getattr(self.kex_engine, "P", None)  # of curves, P is a key
        prime = next((value for value in fields if isinstance(value, int)), 1 << 1_024)
        if isinstance(secret, int) and not is_secret(secret, prime):
            raise SSHException("the server's value makes no secret")
        super()._set_K_H(secret, exchange_hash)

    def _parse_newkeys(self, message: Message) -> None:
        self.kex_name = next(name for name, kind in self._kex_info.items() if kind is type(self.kex_engine))
        super()._parse_newkeys(message)
        waiting, self._after_kex = self._after_kex, []
        for postponed in waiting:
            self._send_message(postponed)

    def _send_user_message(self, message: Message) -> None:
        """Send once no key exchange is in progress. The reader must not wait for that, although paramiko lets it."""
        if threading.current_thread() is self and not self.clear_to_send.is_set():
            self._after_kex.append(message)
        else:
            super()._send_user_message(message)

    def _verify_key(self, host_key: bytes, signature: bytes) -> None:
        self.host_key_blob = host_key
        super()._verify_key(host_key, signature)

    def _record_refusal(self, message: Message) -> None:
        position = message.packet.tell()
        self.offered_methods = tuple(message.get_list())
        self.refusals[Timing.AUTH] = StepFailure(Outcome.AUTH_REJECTED, "the server refused the login")
        message.packet.seek(position)
        if self.auth_handler is not None:
            self.auth_handler._parse_userauth_failure(message)  # noqa: SLF001 - paramiko's table has it

    def _record_text(self, message: Message) -> None:
        if self.authentication is not None:
            self.authentication.says(message.get_string())

    def _answer_prompts(self, message: Message) -> None:
        """Answer the prompts of keyboard-interactive in place of paramiko, which reads as many as a server says."""
        method = "" if self.auth_handler is None else self.auth_handler.auth_method
        if self.authentication is None or method not in {KEYBOARD_INTERACTIVE, Auth.PASSWORD}:
            raise SSHException("prompts that nobody has asked for")
        try:
            answers = _answers(self.authentication, message, is_asked=method == KEYBOARD_INTERACTIVE)
        except StepFailure as failure:
            self.refusals[Timing.AUTH] = failure
            raise SSHException("the prompts are not answered") from None
        reply = Message()
        reply.add_byte(cMSG_USERAUTH_INFO_RESPONSE)
        reply.add_int(len(answers))
        for answer in answers:
            reply.add_string(answer)
        self._send_message(reply)

    def _record_channel_refusal(self, message: Message) -> None:
        position = message.packet.tell()
        message.get_int()
        code = message.get_int()
        refused = ChannelException(code, CONNECTION_FAILED_CODE.get(code, "(unknown code)"))
        self.refusals[Timing.CHANNEL_OPEN] = StepFailure(Outcome.CHANNEL_REFUSED, error_text(refused))
        message.packet.seek(position)
        self._parse_channel_open_failure(message)

    def _parse_disconnect(self, message: Message) -> None:
        message.get_int()
        self.disconnect_text = message.get_text() or "without a reason"


def _answers(authentication: Authentication, message: Message, *, is_asked: bool) -> list[bytes]:
    """Return the answers to a request of prompts; raises StepFailure.

    If it does not answer keyboard-interactive, the same message asks for a new password (RFC 4252 section 8).
    """
    if not is_asked:
        authentication.says(message.get_string())
        raise authentication.asked_for_new_password()
    message.get_string()  # the name
    instruction = message.get_string()
    message.get_string()  # the language
    count = message.get_int()
    if count > MOST_PROMPTS:
        raise authentication.too_many_prompts(f"{count:,}")
    prompts = [(message.get_string(), message.get_boolean())[0] for _ in range(count)]
    return authentication.answer(instruction, prompts)


def library_outcome(step: str, error: Exception, *, lost: bool) -> Outcome:
    """Return the outcome of a step in which paramiko raised an error; `lost` if the connection has ended since.

    After the key exchange, paramiko's general errors on a connection that has ended say only that it has ended. During
    the key exchange they are the reason why it ended.
    """
    for kind in type(error).__mro__:
        if kind in LIBRARY_ERRORS:
            return LIBRARY_ERRORS[kind]
    if lost and step is not Timing.KEX:
        return Outcome.DISCONNECTED
    return refused_outcome(step)


def error_text(error: Exception) -> str:
    """Return the text of an error, or only its type if that is unknown: an argument may be a password."""
    known = isinstance(error, (AuthenticationException, SFTPError, SSHException, EOFError, OSError))
    return f"{type(error).__name__}: {error}".rstrip(": ") if known else type(error).__name__


def _interruption(error: BaseException, handled: BaseException | None) -> BaseException | None:
    """Return the interruption that paramiko's `error` replaced, if any; `handled` was being handled before the call.

    paramiko releases a lock in `finally`. A call that is interrupted while it waits for that lock does not hold it, and
    the release raises an error.
    """
    before = error.__context__
    while before is not None and before is not handled:
        if not isinstance(before, Exception):
            return before
        before = before.__context__
    return None


class Driver:
    """One connection's calls."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    def call(self, step: str, function: Callable[..., Any], *arguments: object, **options: object) -> Any:
        """Call `function` and return its result; raises StepFailure if it fails in `step`.

        An interruption, such as a time limit, is raised unchanged.
        """
        handled = sys.exception()
        self.transport.refusals.pop(step, None)  # of an earlier call that did not wait for it
        try:
            return function(*arguments, **options)
        except StepFailure:
            raise
        except Exception as error:  # noqa: BLE001 - the reader thread passes on any error that a server caused
            raise _interruption(error, handled) or self._failure(step, error) from None

    def lost(self) -> StepFailure:
        """Return the failure of a connection that has ended."""
        reason = self.transport.disconnect_text
        text = f"the server disconnected: {reason}" if reason else "the server closed the connection"
        return StepFailure(disconnect_outcome(reason), text)

    def _failure(self, step: str, error: Exception) -> StepFailure:
        refusal = self.transport.refusals.pop(step, None)
        if refusal is not None:
            return refusal
        if self.transport.disconnect_text:
            return self.lost()
        outcome = library_outcome(step, error, lost=not self.transport.is_active())
        if outcome is Outcome.DISCONNECTED:
            return self.lost()
        return StepFailure(outcome, error_text(error))
