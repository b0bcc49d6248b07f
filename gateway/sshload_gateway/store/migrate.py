"""Bring the tables of a database to what this version needs."""

from pathlib import Path
from typing import Final

import sqlalchemy as sa

from sshload_gateway.store.database import Database
from sshload_gateway.store.tables import METADATA

_LOCK: Final = 0x55484C47
"""A number for PostgreSQL's advisory lock: gateways that start at the same time migrate one after the other."""
_NEWEST: Final = "0001"
"""The last of the migrations. A test holds it against their files."""
_VERSIONS: Final = sa.Table("alembic_version", sa.MetaData(), sa.Column("version_num", sa.String(32), nullable=False))
"""Where Alembic writes which migration it has applied last."""
_VERSIONS.append_constraint(sa.PrimaryKeyConstraint("version_num", name="alembic_version_pkc"))


class MigrationError(Exception):
    """The database cannot be migrated: a newer version of the gateway has done it already."""


async def migrate(database: Database) -> None:
    """Apply the migrations that the database lacks, in one transaction; raises DatabaseUnavailableError.

    A new database gets its tables as the last migration leaves them. Raises MigrationError.
    """
    async with database.transaction() as connection:
        if database.is_sqlite:
            await connection.execute(sa.text("BEGIN IMMEDIATE"))
        else:
            await connection.execute(sa.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        await connection.run_sync(_bring_up_to_date)


def _bring_up_to_date(connection: sa.Connection) -> None:
    """Do without Alembic, whose import takes longer than its work, where no migration is to be applied."""
    if not sa.inspect(connection).has_table(_VERSIONS.name):
        METADATA.create_all(connection, checkfirst=False)
        _VERSIONS.create(connection, checkfirst=False)
        connection.execute(_VERSIONS.insert().values(version_num=_NEWEST))
    elif connection.execute(sa.select(_VERSIONS.c.version_num)).scalars().all() != [_NEWEST]:
        apply_migrations(connection)


def apply_migrations(connection: sa.Connection) -> None:
    """Let Alembic apply the migrations that are lacking, in the connection's transaction; raises MigrationError."""
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415
    from alembic.util import CommandError  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        raise MigrationError(str(error)) from error
