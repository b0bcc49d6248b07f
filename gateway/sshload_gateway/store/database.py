"""The database: SQLite in a file, or PostgreSQL by its URL."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

_ANSWER_S: Final = 5.0
_CONNECTIONS: Final = 10


class DatabaseUnavailableError(Exception):
    """The database did not answer, or not in time."""


class Database:
    """A pool of connections to a database."""

    def __init__(self, url: sa.URL) -> None:
        self.engine = _engine(url)

    @property
    def is_sqlite(self) -> bool:
        """Whether it is SQLite."""
        return self.engine.dialect.name == "sqlite"

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection]:
        """Give a connection with a transaction that is committed at the end, or rolled back where something fails.

        Raises DatabaseUnavailableError.
        """
        try:
            async with asyncio.timeout(_ANSWER_S), self.engine.begin() as connection:
                yield connection
        except (DBAPIError, PoolTimeoutError, OSError) as error:  # TimeoutError is an OSError
            if isinstance(error, sa.exc.IntegrityError):
                raise
            raise DatabaseUnavailableError(f"the database does not answer: {type(error).__name__}") from error

    async def check(self) -> None:
        """Ask the database for an answer; raises DatabaseUnavailableError."""
        async with self.transaction() as connection:
            await connection.execute(sa.text("SELECT 1"))

    async def close(self) -> None:
        """Close all connections."""
        await self.engine.dispose()


def _engine(url: sa.URL) -> AsyncEngine:
    if url.get_backend_name() == "sqlite":
        engine = create_async_engine(url.set(drivername="sqlite+aiosqlite"), pool_timeout=_ANSWER_S)
        sa.event.listen(engine.sync_engine, "connect", _set_up_sqlite)
        return engine
    return create_async_engine(
        url.set(drivername="postgresql+asyncpg"),
        pool_size=_CONNECTIONS,
        max_overflow=0,
        pool_timeout=_ANSWER_S,
        pool_pre_ping=True,  # connections of before a restart of the server are found out, and made anew
        connect_args={"timeout": _ANSWER_S, "command_timeout": _ANSWER_S},
    )


def _set_up_sqlite(connection: Any, _record: object) -> None:
    """Let readers go on beside a writer, and writers of several processes wait for each other."""
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute(f"PRAGMA busy_timeout={int(_ANSWER_S * 1000)}")
    cursor.close()
