"""One SSH connection by MINA SSHD (clients.interface.Connection): the Java program does everything but the waiting."""

import errno
import os
from collections.abc import Callable
from typing import Any, NoReturn

from sshload_contract.client import Auth
from sshload_contract.vocabulary import Outcome
from sshload_contract.wire.report import IMPLICIT_MAC, Negotiated

from sshload_worker.clients.interface import CommandEnd, Course
from sshload_worker.clients.mina.conversation import Conversation, Refusal, Request
from sshload_worker.clients.mina.sftp import MinaSftp
from sshload_worker.clients.mina.virtual_machine import virtual_machine
from sshload_worker.clients.rejections import method_of, rejection
from sshload_worker.login.known_hosts import shown_key
from sshload_worker.login.login import Login
from sshload_worker.outcomes import StepFailure, connect_outcome, pre_banner_outcome

_OWN_MAC = ("gcm", "poly1305")
_ERRNOS = {os.strerror(number): number for number in errno.errorcode}


def _refuse(*_: Any, **__: Any) -> NoReturn:
    """Fail. Specs that would lead here are refused."""
    raise StepFailure(Outcome.GENERATOR_FAULT, "mina-sshd runs commands and SFTP only")


class MinaConnection:
    """One connection. Each command and SFTP subsystem is a conversation of its own, so greenlets can share it."""

    times_parts = False
    authentication = None
    open_forward = scp_read = scp_write = _refuse

    def __init__(self, login: Login) -> None:
        """Prepare it; raises OSError if the process has no file descriptor left."""
        self._login = login
        self._conversation = virtual_machine().conversation()
        self._others: list[Conversation] = []
        self._number = 0
        self._version = ""
        self._negotiated: tuple[str, ...] = ()

    def connect(self) -> None:
        login, client = self._login, self._login.client
        if login.address is None:
            raise StepFailure(Outcome.GENERATOR_FAULT, "mina-sshd does not support jump hosts")
        keys = login.host_keys
        names = (
            client.kex_algorithms, client.ciphers, client.macs, client.host_key_algorithms or keys.algorithms,
        )  # fmt: skip
        _, (host, port, *_) = login.address
        self._conversation.send(
            Request.CONNECT, str(host), int(str(port)), login.user, *(",".join(one) for one in names),
            int(client.compression), client.window_bytes or 0, client.packet_bytes or 0, client.rekey_bytes or 0,
            int(keys.any_key), len(keys.accepted), *sorted(keys.accepted),
        )  # fmt: skip
        try:
            self._number = self._conversation.refusable_answer().number()
        except Refusal as refusal:
            if refusal.kind != "connect":
                raise refusal.failure() from None
            number = _ERRNOS.get(refusal.text)
            raise StepFailure(connect_outcome(number or errno.EIO), refusal.text) from None

    def banner(self) -> None:
        try:
            self._conversation.send(Request.BANNER)
            self._version = self._conversation.refusable_answer().text()
        except Refusal as refusal:
            known = pre_banner_outcome(refusal.text)
            otherwise = Outcome.NOT_SSH if refusal.kind in {"banner", "refused"} else Outcome.RESET_BEFORE_BANNER
            raise StepFailure(known or otherwise, refusal.text) from None

    def kex(self) -> None:
        self._conversation.send(Request.KEX)
        try:
            answer = self._conversation.refusable_answer()
        except Refusal as refusal:
            if refusal.kind != "hostkey":
                raise refusal.failure() from None
            presented = shown_key(bytes.fromhex(refusal.text))
            raise StepFailure(Outcome.HOST_KEY_MISMATCH, self._login.host_keys.mismatch(presented)) from None
        self._negotiated = tuple(answer.text() for _ in range(4))

    def auth(self) -> None:
        found = self._login.credentials
        secret = found.private_key if found.auth is Auth.PUBLICKEY else found.password.encode()
        self._conversation.send(Request.AUTH, str(found.auth), secret)
        try:
            self._conversation.refusable_answer()
        except Refusal as refusal:
            if refusal.kind != "methods":
                raise refusal.failure() from None
            how, _, methods = refusal.text.partition(" ")
            raise rejection(method_of(found.auth), methods.split(","), accepted=how == "accepted") from None

    def negotiated(self) -> Negotiated:
        kex, cipher, mac, host_key = self._negotiated
        return Negotiated(
            kex=kex,
            cipher=cipher,
            mac=IMPLICIT_MAC if any(word in cipher for word in _OWN_MAC) else mac,
            host_key=host_key,
            server_version=self._version,
        )

    def is_lost(self) -> bool:
        return self._conversation.has_ended()

    def keep_alive(self) -> None:
        self._conversation.ask(Request.KEEP_ALIVE)

    def open_channel(self) -> "MinaCommand":
        """Return a channel, which is opened when its command is run."""
        return MinaCommand(self._new_conversation(), self._number)

    def open_sftp(self) -> MinaSftp:
        conversation = self._new_conversation()
        conversation.ask(Request.SFTP, self._number)
        return MinaSftp(conversation, self._login.client)

    def close(self) -> None:
        for conversation in (*self._others, self._conversation):
            conversation.close()
        self._others.clear()

    def _new_conversation(self) -> Conversation:
        self._others = [conversation for conversation in self._others if not conversation.is_closed]
        conversation = virtual_machine().conversation()
        self._others.append(conversation)
        return conversation


class MinaCommand:
    """One command on its own channel (clients.interface.SessionChannel); only `run` and `close` are supported."""

    request_terminal = start_shell = execute = read = write = send_end = _refuse

    def __init__(self, conversation: Conversation, connection: int) -> None:
        self._conversation = conversation
        self._connection = connection

    def run(self, command: str, take: Callable[[bytes], object], course: Course) -> CommandEnd:
        self._conversation.send(Request.RUN, self._connection, command)
        answer = self._conversation.answer()
        while answer.is_data:
            take(answer.data())
            answer = self._conversation.answer()
        code, signal, stderr = answer.number(), answer.text(), answer.data()
        course.started_ns, course.first_byte_ns, course.closed_ns = (answer.number() for _ in range(3))
        course.output_end_ns = course.closed_ns
        self._conversation.close()
        return CommandEnd(exit_code=None if code < 0 else code, signal=signal, stderr=stderr)

    def close(self) -> CommandEnd:
        """End the channel, in whatever state it is."""
        self._conversation.close()
        return CommandEnd(exit_code=None, signal="", stderr=b"")
