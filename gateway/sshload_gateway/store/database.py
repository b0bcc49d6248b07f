"""The database: SQLite in a file, or PostgreSQL by its URL."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql, sqlite

_CONNECTIONS: Final = 10
_READERS: Final = 4
"""Threads that read SQLite. Each read takes some 0.1 ms, unless the disk hangs."""
_UNAVAILABLE: Final[tuple[type[Exception], ...]] = (DBAPIError, PoolTimeoutError, OSError)
"""What every driver raises, beside its own errors, which SQLAlchemy wraps none of where a connection is being made.

TimeoutError is an OSError.
"""


class DatabaseUnavailableError(Exception):
    """The database did not answer, or not in time."""


class Database:
    """A pool of connections to a database, of which each transaction may take `answer_s`."""

    def __init__(self, url: sa.URL, answer_s: float) -> None:
        self.engine = _engine(url, answer_s)
        self._answer_s = answer_s
        self._unavailable = _UNAVAILABLE + ((sqlite3.Error,) if self.is_sqlite else _errors_of_postgres())
        self._at_once = self.engine.execution_options(isolation_level="AUTOCOMMIT")
        self._reader = _SqliteReader(url, answer_s) if self.is_sqlite else None
        self._threads = ThreadPoolExecutor(_READERS, "sqlite")

    @property
    def is_sqlite(self) -> bool:
        """Whether it is SQLite."""
        return self.engine.dialect.name == "sqlite"

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection]:
        """Give a connection with a transaction that is committed at the end, or rolled back where something fails.

        Raises DatabaseUnavailableError.
        """
        async with self._answering(), self.engine.begin() as connection:
            yield connection

    def insert(self, table: sa.Table) -> "sqlite.Insert | postgresql.Insert":
        """Return the start of an INSERT that may have ON CONFLICT."""
        if self.is_sqlite:
            from sqlalchemy.dialects.sqlite import insert  # noqa: PLC0415

            return insert(table)
        from sqlalchemy.dialects.postgresql import insert as insert_in_postgres  # noqa: PLC0415

        return insert_in_postgres(table)

    async def row(self, statement: sa.Select[Any], values: Mapping[str, str]) -> sa.RowMapping | None:
        """Return the one row that a statement selects, None if there is none; raises DatabaseUnavailableError.

        SQLite is read in one turn of a thread: each of the seven that a transaction takes costs as much. PostgreSQL is
        asked without a transaction, whose begin and end are two more messages.
        """
        if self._reader is not None:
            read = partial(self._reader.row, statement, values)
            async with self._answering():
                return await asyncio.get_running_loop().run_in_executor(self._threads, read)
        async with self._answering(), self._at_once.connect() as connection:
            found: sa.RowMapping | None = (await connection.execute(statement, values)).mappings().one_or_none()
            return found

    def version(self) -> int | None:
        """Return a number that is another one after each write of anybody, None if only a query tells.

        It is called with each request, and takes microseconds.
        """
        return None if self._reader is None else self._reader.version()

    async def check(self) -> None:
        """Ask the database for an answer; raises DatabaseUnavailableError."""
        async with self.transaction() as connection:
            await connection.execute(sa.text("SELECT 1"))

    async def close(self) -> None:
        """Close all connections."""
        await self.engine.dispose()
        self._threads.shutdown(wait=False)
        if self._reader is not None:
            self._reader.close()

    @asynccontextmanager
    async def _answering(self) -> AsyncIterator[None]:
        """Bound what asks the database in time, and let each failure of it be a DatabaseUnavailableError."""
        try:
            async with asyncio.timeout(self._answer_s):
                yield
        except self._unavailable as error:
            if isinstance(error, sa.exc.IntegrityError):
                raise
            raise DatabaseUnavailableError(f"the database does not answer: {_word(error)}") from error


def _word(error: BaseException) -> str:
    """Return the driver's or SQLite's own word for a failure. The texts of failures may have what is stored."""
    inner = getattr(error, "orig", None) or error
    inner = inner.__cause__ or inner
    return str(getattr(inner, "sqlite_errorname", type(inner).__name__))


def _engine(url: sa.URL, answer_s: float) -> AsyncEngine:
    if url.get_backend_name() == "sqlite":
        engine = create_async_engine(
            url.set(drivername="sqlite+aiosqlite"), pool_timeout=answer_s, hide_parameters=True
        )
        sa.event.listen(engine.sync_engine, "connect", partial(_set_up_sqlite, answer_s))
        return engine
    return create_async_engine(
        url.set(drivername="postgresql+asyncpg"),
        pool_size=_CONNECTIONS,
        max_overflow=0,
        hide_parameters=True,
        pool_timeout=answer_s,
        pool_pre_ping=True,  # replaces connections that a restart of the server has closed
        connect_args={"timeout": answer_s, "command_timeout": answer_s},
    )


def _errors_of_postgres() -> tuple[type[Exception], ...]:
    """Return the driver's own errors."""
    from asyncpg.exceptions import InterfaceError, PostgresError  # noqa: PLC0415

    return PostgresError, InterfaceError


class _SqliteReader:
    """Reads SQLite: rows in threads, which a disk may hold up, and its version in the event loop.

    SQLite counts the commits of all processes in memory that they share. One connection asks for that count alone: it
    waits for no lock, and reads a page of the file only after a commit.
    """

    def __init__(self, url: sa.URL, answer_s: float) -> None:
        self._engine = sa.create_engine(
            url.set(drivername="sqlite+pysqlite"),
            pool_size=_READERS,
            max_overflow=0,
            pool_timeout=answer_s,
            hide_parameters=True,
            isolation_level="AUTOCOMMIT",
        )
        sa.event.listen(self._engine, "connect", partial(_set_up_sqlite, answer_s))
        self._opening = Lock()
        self._counting: sqlite3.Connection | None = None

    def row(self, statement: sa.Select[Any], values: Mapping[str, str]) -> sa.RowMapping | None:
        with self._opening:
            if self._counting is None:
                self._counting = self._without_waits()
        with self._engine.connect() as connection:
            return connection.execute(statement, values).mappings().one_or_none()

    def version(self) -> int | None:
        """Return the count of commits, None before the first row was read, and where SQLite does not tell at once."""
        if self._counting is None:
            return None
        try:
            count: int = self._counting.execute("PRAGMA data_version").fetchone()[0]
        except sqlite3.Error:
            return None
        return count

    def close(self) -> None:
        if self._counting is not None:
            self._counting.close()
        self._engine.dispose()

    def _without_waits(self) -> sqlite3.Connection:
        pooled = self._engine.raw_connection()
        connection = pooled.driver_connection
        pooled.detach()
        assert isinstance(connection, sqlite3.Connection)  # noqa: S101 - tells mypy what pysqlite makes
        connection.execute("PRAGMA busy_timeout=0")
        return connection


def _set_up_sqlite(answer_s: float, connection: Any, _record: object) -> None:
    """Let readers go on beside a writer, and writers of several processes wait for each other."""
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute(f"PRAGMA busy_timeout={int(answer_s * 1000)}")
    cursor.close()
