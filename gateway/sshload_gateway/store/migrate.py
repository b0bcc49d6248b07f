"""Bring the tables of a database to what this version needs."""

from pathlib import Path
from typing import Final

import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from sshload_gateway.store.database import Database

_LOCK: Final = 0x55484C47
"""A number for PostgreSQL's advisory lock: gateways that start at the same time migrate one after the other."""


async def migrate(database: Database) -> None:
    """Apply the migrations that the database lacks, in one transaction; raises DatabaseUnavailableError.

    Raises alembic.util.CommandError where a newer version of the gateway has migrated the database.
    """
    async with database.transaction() as connection:
        if database.is_sqlite:
            await connection.execute(sa.text("BEGIN IMMEDIATE"))
        else:
            await connection.execute(sa.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        await connection.run_sync(_upgrade)


def _upgrade(connection: sa.Connection) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
