import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from sshload_contract.gateway_policy import PolicyName
from sshload_gateway import sessions as sessions_module
from sshload_gateway.metrics import PoolMetrics
from sshload_gateway.sessions import NoSuchCredentialError, Sessions, account_of
from sshload_gateway.ssh.failures import BusyError, LoginError, LoginFailure, SessionRefusedError, SupersededError
from sshload_gateway.ssh.login import Account, Secrets
from sshload_gateway.ssh.policy import Limits
from sshload_gateway.ssh.pool import Pool
from sshload_gateway.store.credentials import Credential
from sshload_gateway.store.sealing import Bound, Sealed, SealError
from until import until

_LIMITS = Limits(
    policy=PolicyName.POOL,
    connections=4,
    connections_per_host=4,
    connections_per_credential=4,
    sessions=4,
    sessions_per_connection=4,
    logins_per_host=4,
    waiting=4,
    wait_s=1_000,
    idle_s=1_000,
    age_s=1_000,
    refusal_pause_s=0,
)
_STORED = Credential("ada", "server", "host", 22, "load", (), "", "1", 1, Sealed("first", b""), 0, 0)
_SHORT_WAIT_S = 0.5
_TRIES_AT_MOST = 10
"""Of pauses that grow from a tenth of a second, no more fit into a short wait."""


class _Stored:
    async def find(self, owner: str, name: str) -> Credential:
        assert (owner, name) == (_STORED.owner, _STORED.name)
        return _STORED


class _Opened:
    def open(self, sealed: Sealed, about: Bound) -> bytes:
        raise AssertionError(f"nobody needs {sealed} of {about}")


@dataclass(eq=False)
class _Connection:
    on_lost: Callable[[], None]

    def close(self) -> None:
        """End."""

    async def wait_closed(self) -> None:
        """Have ended."""


@dataclass
class _Attempts:
    """Work that is done once, and then refused again and again."""

    tries: int = 0
    ends_connections: bool = False
    is_sound: bool = True
    opened: list[_Connection] = field(default_factory=list)

    async def login(self, account: Account, secrets: Callable[[], Secrets], on_lost: Callable[[], None]) -> Any:
        assert account.host == _STORED.host
        assert callable(secrets)
        self.opened.append(_Connection(on_lost))
        return self.opened[-1]

    async def run(self, ssh: Any) -> str:
        self.tries += 1
        await asyncio.sleep(0)
        if self.tries == 1 and not self.ends_connections:
            return "done"
        if self.ends_connections:
            ssh.on_lost()
        raise SessionRefusedError


def _play(attempts: _Attempts, ends_in: type[Exception], limits: Limits = _LIMITS) -> None:
    async def play() -> None:
        pool = Pool(limits, attempts.login, PoolMetrics(CollectorRegistry()), asyncio.get_running_loop().time)
        sessions = Sessions(_Stored(), _Opened(), pool)  # type: ignore[arg-type]
        if not attempts.ends_connections:
            await sessions.do("ada", "server", lambda: attempts)
        with pytest.raises(ends_in):
            await sessions.do("ada", "server", lambda: attempts)
        await pool.close(0)

    asyncio.run(play())


def test_a_server_that_served_and_then_opens_no_session_is_asked_again_and_then_on_another_connection() -> None:
    attempts = _Attempts()
    _play(attempts, SessionRefusedError)
    assert (attempts.tries, len(attempts.opened)) == (4, 2)


def test_a_server_that_ends_each_connection_is_logged_in_to_a_few_times_until_the_request_has_waited() -> None:
    attempts = _Attempts(ends_connections=True)
    _play(attempts, BusyError, replace(_LIMITS, wait_s=_SHORT_WAIT_S))
    assert 1 < len(attempts.opened) <= _TRIES_AT_MOST


_ONE_AT_A_TIME = replace(_LIMITS, connections=1, sessions=1, sessions_per_connection=1, wait_s=_SHORT_WAIT_S)


class _FailedError(Exception):
    """The work failed."""


@dataclass
class _Work:
    """Work that ends as it is told, and leaves its connection sound or not."""

    end: Exception | asyncio.Event | str
    is_sound: bool
    has_begun: bool = False

    async def run(self, _ssh: Any) -> str:
        self.has_begun = True
        if isinstance(self.end, asyncio.Event):
            await self.end.wait()
        if isinstance(self.end, Exception):
            raise self.end
        return "done"


@pytest.mark.parametrize("is_sound", [True, False])
@pytest.mark.parametrize("end", ["answer", "error", "cancelled"])
def test_work_gives_its_session_back_however_it_ends_and_its_connection_with_it_only_if_that_is_sound(
    end: str, *, is_sound: bool
) -> None:
    logins = _Attempts()

    async def play() -> bool:
        pool = Pool(_ONE_AT_A_TIME, logins.login, PoolMetrics(CollectorRegistry()), asyncio.get_running_loop().time)
        sessions = Sessions(_Stored(), _Opened(), pool)  # type: ignore[arg-type]
        ends: dict[str, Exception | asyncio.Event | str] = {"error": _FailedError(), "cancelled": asyncio.Event()}
        works = [_Work(ends.get(end, ""), is_sound)]
        first = asyncio.create_task(sessions.do("ada", "server", lambda: works[0]))
        await until(lambda: works[0].has_begun)
        first.cancel() if end == "cancelled" else None
        (was,) = await asyncio.gather(first, return_exceptions=True)
        answer, served = await sessions.do("ada", "server", lambda: _Work("", is_sound=True))
        await pool.close(0)
        assert type(was) is {"error": _FailedError, "cancelled": asyncio.CancelledError}.get(end, tuple)
        assert answer == "done"
        return served.login_s is None

    assert asyncio.run(play()) is is_sound
    assert len(logins.opened) == (1 if is_sound else 2)


@pytest.mark.parametrize("other", [{"owner": "eve"}, {"name": "two"}])
def test_a_row_with_the_id_of_another_gets_none_of_its_connections(other: dict[str, str]) -> None:
    assert account_of(replace(_STORED, **other)) != account_of(_STORED)


class _Changing:
    """A pool in which the credential has always just been changed, or whose server refuses sessions so often."""

    def __init__(self, refusals: int | None = None) -> None:
        self.refusals = refusals
        self.waits_until: list[float] = []
        self.secrets: Callable[[], Secrets] | None = None

    def deadline_s(self) -> float:
        return 7.0

    async def acquire(self, account: Account, secrets: Callable[[], Secrets], deadline_s: float) -> Any:
        assert account == account_of(_STORED)
        self.waits_until.append(deadline_s)
        self.secrets = secrets
        if self.refusals is None:
            raise SupersededError
        return SimpleNamespace(ssh=None, wait_s=1.0, is_new=True, connection=SimpleNamespace(login_s=2.0))

    def refused(self, _: Any) -> bool:
        assert self.refusals is not None
        self.refusals -= 1
        return self.refusals >= 0

    def release(self, _: Any) -> None:
        pass


class _Refused:
    """Work that the server opens a session for once the pool says so."""

    is_sound = True

    def __init__(self, pool: _Changing) -> None:
        self._pool = pool

    async def run(self, _: Any) -> str:
        if self._pool.refusals:
            raise SessionRefusedError
        return "done"


def _sessions(pool: Any, stored: Any = _Stored(), seal: Any = _Opened()) -> Sessions:  # noqa: B008 - they hold nothing
    return Sessions(stored, seal, pool)


def test_a_caller_without_the_credential_is_told() -> None:
    class Nothing:
        async def find(self, owner: str, name: str) -> None:
            assert (owner, name) == ("ada", "server")

    with pytest.raises(NoSuchCredentialError):
        asyncio.run(_sessions(_Changing(), Nothing()).do("ada", "server", lambda: _Work("", is_sound=True)))


def test_a_credential_that_is_changed_again_and_again_is_looked_up_some_times_only() -> None:
    pool = _Changing()
    with pytest.raises(BusyError, match="again and again"):
        asyncio.run(_sessions(pool).do("ada", "server", lambda: _Work("", is_sound=True)))
    assert pool.waits_until == [7.0] * 3


def test_work_that_is_refused_once_is_tried_at_once_and_then_after_longer_and_longer_pauses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    paused: list[int] = []

    def pause_s(refusals: int) -> float:
        paused.append(refusals)
        return 0.0

    monkeypatch.setattr(sessions_module, "pause_s", pause_s)
    pool = _Changing(refusals=4)
    answer, served = asyncio.run(_sessions(pool).do("ada", "server", lambda: _Refused(pool)))
    assert (answer, served.wait_s, served.login_s) == ("done", 1.0, 2.0)
    assert paused == [2, 3, 4]
    assert pool.waits_until == [7.0] * 5


def test_a_login_has_the_key_and_the_host_keys_of_its_credential_or_is_refused() -> None:
    class Seal:
        def __init__(self, end: Exception | None = None) -> None:
            self.end = end

        def open(self, sealed: Sealed, about: Bound) -> bytes:
            assert (sealed, about) == (_STORED.sealed_key, _STORED.use)
            if self.end:
                raise self.end
            return b"the key"

    def secrets(seal: Seal) -> Secrets:
        pool = _Changing(refusals=0)
        asyncio.run(_sessions(pool, seal=seal).do("ada", "server", lambda: _Refused(pool)))
        assert pool.secrets is not None
        return pool.secrets()

    assert secrets(Seal()) == Secrets(b"the key", _STORED.host_keys)
    with pytest.raises(LoginError, match="cannot be opened: store the credential again") as raised:
        secrets(Seal(SealError("another master key")))
    assert raised.value.kind is LoginFailure.SEAL
