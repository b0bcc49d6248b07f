import asyncio
from pathlib import Path

import pytest
import sqlalchemy as sa
from sshload_gateway.store.database import Database, DatabaseUnavailableError

_PATIENCE_S = 300.0


def test_a_file_of_sqlite_that_cannot_be_opened_is_told_as_a_database_that_does_not_answer(tmp_path: Path) -> None:
    async def read() -> None:
        database = Database(sa.make_url(f"sqlite:///{tmp_path}/missing/gateway.db"), _PATIENCE_S)
        try:
            await database.row(sa.select(sa.literal(1)), {})
        finally:
            await database.close()

    with pytest.raises(DatabaseUnavailableError, match="SQLITE_CANTOPEN"):
        asyncio.run(read())
