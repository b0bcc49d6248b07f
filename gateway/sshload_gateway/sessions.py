"""From a caller's credential to work on a session: the store, the seal and the pool together."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

import asyncssh

from sshload_gateway.ssh.failures import (
    BusyError,
    LoginError,
    LoginFailure,
    SessionRefusedError,
    SupersededError,
)
from sshload_gateway.ssh.login import Account, Secrets
from sshload_gateway.ssh.pauses import pause_s
from sshload_gateway.ssh.pool import Pool, Session
from sshload_gateway.store.credentials import Credential, Credentials
from sshload_gateway.store.sealing import Seal, SealError

_LOG: Final = logging.getLogger(__name__)
_CHANGES_AT_MOST: Final = 3

_Done_co = TypeVar("_Done_co", covariant=True)
_Answer = TypeVar("_Answer")


class Attempt(Protocol[_Done_co]):
    """One try to do some work on a connection."""

    @property
    def is_sound(self) -> bool:
        """Whether it has left nothing open on the connection."""
        ...

    async def run(self, ssh: asyncssh.SSHClientConnection) -> _Done_co:
        """Do the work; raises SessionRefusedError if the server opened no session for it."""
        ...


@dataclass(frozen=True, slots=True)
class Served:
    """How a request came to its session: the time it waited, and the login's where it was its connection's first."""

    wait_s: float
    login_s: float | None


class NoSuchCredentialError(Exception):
    """The caller has no credential of this name."""


@dataclass(frozen=True, slots=True)
class Sessions:
    """Does work on sessions for callers."""

    credentials: Credentials
    seal: Seal
    pool: Pool

    async def do(self, owner: str, name: str, attempt: Callable[[], Attempt[_Answer]]) -> tuple[_Answer, Served]:
        """Do work with a caller's credential. Work that the server opened no session for is tried on another session.

        Raises NoSuchCredentialError, LoginError, BusyError, ServerError, SessionRefusedError where the server opens no
        session at all, and what the work raises.
        """
        deadline_s = self.pool.deadline_s()
        for _ in range(_CHANGES_AT_MOST):
            credential = await self.credentials.find(owner, name)
            if credential is None:
                raise NoSuchCredentialError
            try:
                return await self._do(credential, attempt, deadline_s)
            except SupersededError:
                continue
        raise BusyError("the credential is being changed again and again", 1)

    async def _do(
        self, credential: Credential, attempt: Callable[[], Attempt[_Answer]], deadline_s: float
    ) -> tuple[_Answer, Served]:
        refusals = 0
        while True:
            session = await self.pool.acquire(account_of(credential), lambda: self._secrets(credential), deadline_s)
            work = attempt()
            try:
                answer = await work.run(session.ssh)
            except SessionRefusedError:
                if not self.pool.refused(session):
                    raise
                refusals += 1
                if refusals > 1:  # it may go on like that
                    await asyncio.sleep(pause_s(refusals))
                continue
            except BaseException:
                self._give_back(session, is_sound=work.is_sound)
                raise
            self._give_back(session, is_sound=work.is_sound)
            return answer, Served(session.wait_s, session.connection.login_s if session.is_new else None)

    def _give_back(self, session: Session, *, is_sound: bool) -> None:
        if is_sound:
            self.pool.release(session)
        else:
            self.pool.broken(session)

    def _secrets(self, credential: Credential) -> Secrets:
        try:
            private_key = self.seal.open(credential.sealed_key, credential.use)
        except SealError as error:
            _LOG.error("%s", error)
            what = "the credential's private key cannot be opened: store the credential again"
            raise LoginError(LoginFailure.SEAL, what) from None
        return Secrets(private_key, credential.host_keys)


def account_of(one: Credential) -> Account:
    """Return where a credential logs in, by which the pool knows whose its connections are."""
    return Account(one.host, one.port, one.user, one.id, one.version, one.owner, one.name)
