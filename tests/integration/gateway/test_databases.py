import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from postgres_server import PostgresServer
from sshload_gateway.store.credentials import Credentials, NewCredential, TooManyCredentialsError
from sshload_gateway.store.database import Database, DatabaseUnavailableError
from sshload_gateway.store.migrate import MigrationError, apply_migrations, migrate
from sshload_gateway.store.sealing import Seal, SealError
from sshload_gateway.store.tables import METADATA

pytestmark = pytest.mark.xdist_group("gateway")

_KEYS = {name: os.urandom(32) for name in ("first", "second", "gone")}
_MOST = 5


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'gateway.db'}"
    else:
        postgres = request.getfixturevalue("postgres")
        postgres.empty()
        yield postgres.url


def test_migrations_make_the_tables_that_the_code_uses(url: str) -> None:
    async def differences() -> list:
        async with _database(url) as database, database.transaction() as connection:
            return await connection.run_sync(lambda sync: compare_metadata(MigrationContext.configure(sync), METADATA))

    assert asyncio.run(differences()) == []


def test_a_new_database_is_as_the_migrations_make_it(url: str) -> None:
    def shape(connection: sa.Connection) -> dict[str, Any]:
        found = sa.inspect(connection)
        rows = connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalars().all()
        tables = {
            name: (
                [str({**column, "type": str(column["type"])}) for column in found.get_columns(name)],
                found.get_pk_constraint(name),
                found.get_unique_constraints(name),
                found.get_indexes(name),
            )
            for name in sorted(found.get_table_names())
        }
        return {"versions": rows, **tables}

    async def shapes() -> tuple[dict[str, Any], dict[str, Any]]:
        async with _database(url) as database, database.transaction() as connection:
            new = await connection.run_sync(shape)
            for name in ("credentials", "alembic_version"):
                await connection.execute(sa.text(f"DROP TABLE {name}"))
            await connection.run_sync(apply_migrations)
            return new, await connection.run_sync(shape)

    new, migrated = asyncio.run(shapes())
    assert new == migrated
    assert set(new) == {"versions", "credentials", "alembic_version"}


def test_a_database_that_lacks_migrations_gets_them(url: str) -> None:
    async def migrated() -> None:
        async with _database(url) as database:
            async with database.transaction() as connection:
                await connection.execute(sa.text("DELETE FROM alembic_version"))
                await connection.execute(sa.text("DROP TABLE credentials"))
            await migrate(database)
            assert await Credentials(database, _seal("first"), _MOST).of_owner("ada") == []

    asyncio.run(migrated())


def test_a_database_that_a_newer_gateway_has_migrated_is_refused(url: str) -> None:
    async def refused() -> None:
        async with _database(url) as database:
            async with database.transaction() as connection:
                await connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
            with pytest.raises(MigrationError, match="9999"):
                await migrate(database)

    asyncio.run(refused())


@pytest.mark.parametrize(
    ("password", "word"), [("right", "InsufficientPrivilegeError"), ("wrong", "InvalidPasswordError")]
)
def test_what_is_wrong_with_postgresql_is_told_by_the_drivers_word(
    postgres: PostgresServer, password: str, word: str
) -> None:
    postgres.empty()
    url = sa.make_url(postgres.url)

    async def asked(url: sa.URL, statement: str) -> None:
        database = Database(url, 300)
        try:
            async with database.transaction() as connection:
                await connection.execute(sa.text(statement))
        finally:
            await database.close()

    asyncio.run(asked(url, "CREATE ROLE poor LOGIN PASSWORD 'right'"))
    try:
        with pytest.raises(DatabaseUnavailableError, match=word):
            asyncio.run(asked(url.set(username="poor", password=password), "CREATE TABLE public.any (one INT)"))
    finally:
        asyncio.run(asked(url, "DROP ROLE poor"))


def test_gateways_that_start_at_the_same_time_migrate_once(url: str) -> None:
    async def begin() -> None:
        databases = [Database(sa.make_url(url), 300) for _ in range(4)]
        await asyncio.gather(*(migrate(database) for database in databases))
        for database in databases:
            await database.close()

    asyncio.run(begin())


def test_a_credential_comes_back_as_it_was_stored(url: str) -> None:
    async def stored(credentials: Credentials) -> None:
        put = await credentials.put(_new("ada", "one", b"secret"))
        found = await credentials.find("ada", "one")
        assert found == put
        assert found is not None
        assert (found.version, found.host, found.port, found.user) == (1, "host", 22, "load")
        assert found.host_keys == ("ssh-ed25519 A", "ssh-ed25519 B")
        assert _seal("first").open(found.sealed_key, found.use) == b"secret"

    _with(url, stored)


def test_a_credential_of_the_same_name_is_the_next_version_with_the_same_id(url: str) -> None:
    async def replaced(credentials: Credentials) -> None:
        first = await credentials.put(_new("ada", "one", b"secret"))
        second = await credentials.put(_new("ada", "one", b"other"))
        assert (second.version, second.id, second.created_at) == (2, first.id, first.created_at)
        assert _seal("first").open(second.sealed_key, second.use) == b"other"

    _with(url, replaced)


def test_writers_at_the_same_time_get_a_version_each(url: str) -> None:
    async def written(credentials: Credentials) -> None:
        stored = await asyncio.gather(*(credentials.put(_new("ada", "one", b"secret")) for _ in range(8)))
        assert sorted(one.version for one in stored) == list(range(1, 9))

    _with(url, written)


def test_a_caller_sees_and_deletes_only_its_own(url: str) -> None:
    async def owned(credentials: Credentials) -> None:
        await credentials.put(_new("ada", "one", b"secret"))
        await credentials.put(_new("bob", "one", b"other"))
        assert [one.owner for one in await credentials.of_owner("ada")] == ["ada"]
        assert await credentials.delete("eve", "one") is None
        assert await credentials.delete("ada", "one") is not None
        assert await credentials.find("ada", "one") is None
        assert await credentials.find("bob", "one") is not None

    _with(url, owned)


def test_a_caller_has_no_more_than_it_may_and_may_replace_each(url: str) -> None:
    async def many(credentials: Credentials) -> None:
        for number in range(_MOST):
            await credentials.put(_new("ada", f"one-{number}", b"secret"))
        with pytest.raises(TooManyCredentialsError):
            await credentials.put(_new("ada", "another", b"secret"))
        assert len(await credentials.of_owner("ada")) == _MOST
        assert (await credentials.put(_new("ada", "one-0", b"secret"))).version == 2
        await credentials.put(_new("bob", "another", b"secret"))

    _with(url, many)


def test_a_write_of_another_gateway_is_seen_at_once(url: str) -> None:
    async def seen() -> None:
        async with _database(url) as database, _database(url) as other:
            here, there = (Credentials(one, _seal("first"), _MOST) for one in (database, other))
            await there.put(_new("ada", "one", b"secret"))
            for version in range(1, 4):
                found = [await here.find("ada", "one") for _ in range(3)]
                assert [one and one.version for one in found] == [version] * 3
                await there.put(_new("ada", "one", b"other"))
            assert await there.delete("ada", "one") is not None
            assert await here.find("ada", "one") is None

    asyncio.run(seen())


def test_a_credential_in_sqlite_is_read_again_only_after_a_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = []
    read = Database.row

    async def counted(database: Database, *arguments: Any) -> Any:
        reads.append(arguments)
        return await read(database, *arguments)

    async def found(credentials: Credentials) -> None:
        await credentials.put(_new("ada", "one", b"secret"))
        await credentials.find("ada", "one")
        await credentials.find("ada", "one")
        reads.clear()
        for _ in range(10):
            assert await credentials.find("ada", "one") is not None
        assert reads == []
        await credentials.put(_new("bob", "one", b"secret"))
        await credentials.find("ada", "one")
        assert len(reads) == 1

    monkeypatch.setattr(Database, "row", counted)
    _with(f"sqlite:///{tmp_path / 'gateway.db'}", found)


def test_sqlite_tells_its_version_while_somebody_writes(tmp_path: Path) -> None:
    async def told(credentials: Credentials) -> None:
        await credentials.put(_new("ada", "one", b"secret"))
        found = await credentials.find("ada", "one")
        with closing(sqlite3.connect(tmp_path / "gateway.db", isolation_level=None)) as writer:
            writer.execute("BEGIN EXCLUSIVE")
            writer.execute("DELETE FROM credentials")
            assert await credentials.find("ada", "one") == found
            writer.execute("COMMIT")
        assert await credentials.find("ada", "one") is None

    _with(f"sqlite:///{tmp_path / 'gateway.db'}", told)


def test_what_an_older_key_sealed_is_sealed_again_by_the_active_one(url: str) -> None:
    async def sealed_again() -> None:
        async with _database(url) as database:
            older = Credentials(database, _seal("first"), _MOST)
            for number in range(3):
                await older.put(_new("ada", f"one-{number}", b"secret"))
            newer = Credentials(database, _seal("second"), _MOST)
            assert (await newer.reseal()).count == 3
            assert (await newer.reseal()).count == 0
            without_first = Seal({"second": _KEYS["second"]}, "second")
            for one in await newer.of_owner("ada"):
                assert one.version == 1
                assert without_first.open(one.sealed_key, one.use) == b"secret"

    asyncio.run(sealed_again())


def test_a_key_that_is_gone_keeps_no_others_from_being_sealed_again(url: str) -> None:
    async def sealed_again() -> None:
        async with _database(url) as database:
            for active, name in (("gone", "lost"), ("first", "kept")):
                for number in range(3):
                    await Credentials(database, _seal(active), 10).put(_new("ada", f"{name}-{number}", b"secret"))
            here = Seal({name: _KEYS[name] for name in ("first", "second")}, "second")
            resealed = await Credentials(database, here, 10).reseal()
            assert resealed.count == 3
            ((fault, count),) = resealed.faults.items()
            assert ("'gone'" in fault, count) == (True, 3)
            for one in await Credentials(database, here, 10).of_owner("ada"):
                assert one.sealed_key.key_id == ("second" if one.name.startswith("kept") else "gone")

    asyncio.run(sealed_again())


def test_stores_at_the_same_time_exceed_no_limit(url: str) -> None:
    async def many() -> None:
        async with _database(url) as database, _database(url) as other:
            stores = [Credentials(one, _seal("first"), _MOST) for one in (database, other)]
            puts = [stores[number % 2].put(_new("ada", f"one-{number}", b"secret")) for number in range(20)]
            ended = await asyncio.gather(*puts, return_exceptions=True)
            assert sum(isinstance(one, TooManyCredentialsError) for one in ended) == 20 - _MOST
            assert len(await stores[0].of_owner("ada")) == _MOST

    asyncio.run(many())


def test_a_row_that_was_copied_to_another_caller_does_not_open(url: str) -> None:
    async def copied() -> None:
        async with _database(url) as database:
            credentials = Credentials(database, _seal("first"), _MOST)
            await credentials.put(_new("ada", "one", b"secret"))
            async with database.transaction() as connection:
                await connection.execute(sa.text("UPDATE credentials SET owner = 'eve'"))
            stolen = await credentials.find("eve", "one")
            assert stolen is not None
            with pytest.raises(SealError):
                _seal("first").open(stolen.sealed_key, stolen.use)

    asyncio.run(copied())


@pytest.mark.parametrize(
    "change",
    [
        "host = 'elsewhere'",
        "port = 2222",
        "\"user\" = 'root'",
        """host_keys = '["ssh-ed25519 Z"]'""",
        "host_keys = '[]'",
        "public_key = 'ssh-ed25519 Z'",
        "name = 'two'",
    ],
)
def test_a_row_in_which_something_else_was_written_does_not_open(url: str, change: str) -> None:
    async def changed() -> None:
        async with _database(url) as database:
            credentials = Credentials(database, _seal("first"), _MOST)
            await credentials.put(_new("ada", "one", b"secret"))
            async with database.transaction() as connection:
                await connection.execute(sa.text(f"UPDATE credentials SET {change}"))  # noqa: S608 - of this test
            (found,) = await credentials.of_owner("ada")
            with pytest.raises(SealError):
                _seal("first").open(found.sealed_key, found.use)

    asyncio.run(changed())


def _seal(active: str) -> Seal:
    return Seal(_KEYS, active)


def _new(owner: str, name: str, private_key: bytes) -> NewCredential:
    host_keys = ("ssh-ed25519 A", "ssh-ed25519 B")
    return NewCredential(owner, name, "host", 22, "load", host_keys, "ssh-ed25519 C", private_key)


@asynccontextmanager
async def _database(url: str) -> AsyncIterator[Database]:
    database = Database(sa.make_url(url), 300)
    try:
        await migrate(database)
        yield database
    finally:
        await database.close()


def _with(url: str, claim: Callable[[Credentials], Coroutine[None, None, None]]) -> None:
    async def hold() -> None:
        async with _database(url) as database:
            await claim(Credentials(database, _seal("first"), _MOST))

    asyncio.run(hold())
