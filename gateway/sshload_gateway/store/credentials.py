"""Credentials of callers: each caller sees its own, by its `sub`."""

import time
import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from sshload_gateway.store.database import Database
from sshload_gateway.store.remembered import Remembered
from sshload_gateway.store.sealing import Bound, Seal, Sealed, SealError
from sshload_gateway.store.tables import CREDENTIALS

_RESEALED_AT_ONCE: Final = 100
_BY_NAME: Final = sa.select(CREDENTIALS).where(
    CREDENTIALS.c.owner == sa.bindparam("owner"), CREDENTIALS.c.name == sa.bindparam("name")
)
_ONE_OF_AN_OWNER: Final = sa.text("SELECT pg_advisory_xact_lock(hashtextextended(:owner, 0))")
"""Stores of one owner happen one after the other, in all gateways."""


@dataclass(frozen=True, slots=True, repr=False)
class _Login:
    """Whose a credential is, and where and as whom it logs in."""

    owner: str
    name: str
    host: str
    port: int
    user: str
    host_keys: tuple[str, ...]
    public_key: str

    @property
    def use(self) -> Bound:
        """Whose it is and where its private key is used."""
        return self.owner, self.name, self.host, self.port, self.user, self.host_keys, self.public_key

    def is_like(self, other: "_Login") -> bool:
        """Return whether it is the same login. Of the private key, its public half tells."""
        return self.use == other.use


@dataclass(frozen=True, slots=True, repr=False)
class Credential(_Login):
    """A version of a credential as it is stored. Times are seconds since 1970."""

    id: str
    version: int
    sealed_key: Sealed
    created_at: int
    updated_at: int


@dataclass(frozen=True, slots=True, repr=False)
class NewCredential(_Login):
    """What a caller gives, checked, with the private key in OpenSSH's format."""

    private_key: bytes


@dataclass(frozen=True, slots=True)
class Resealed:
    """How many private keys were sealed again, and how many were not for each reason."""

    count: int
    faults: Mapping[str, int]


class TooManyCredentialsError(Exception):
    """The caller has as many credentials as one may have."""


class Credentials:
    """The credentials in a database, sealed."""

    def __init__(self, database: Database, seal: Seal, most_of_one_owner: int) -> None:
        self._database = database
        self._seal = seal
        self._most = most_of_one_owner
        self._remembered = Remembered[tuple[str, str], Credential]()

    async def put(self, new: NewCredential) -> Credential:
        """Store a credential, as version 1 or as the next version of the one with this name.

        Raises TooManyCredentialsError and DatabaseUnavailableError.
        """
        now = int(time.time())
        sealed = self._seal.close(new.private_key, new.use)
        values = {
            "host": new.host,
            "port": new.port,
            "user": new.user,
            "host_keys": list(new.host_keys),
            "public_key": new.public_key,
            "sealed_key": sealed.data,
            "sealing_key": sealed.key_id,
            "updated_at": now,
        }
        identity = {"id": str(uuid.uuid4()), "owner": new.owner, "name": new.name, "version": 1, "created_at": now}
        statement = (
            self._database.insert(CREDENTIALS)
            .values(**identity, **values)
            .on_conflict_do_update(
                index_elements=("owner", "name"), set_={**values, "version": CREDENTIALS.c.version + 1}
            )
            .returning(CREDENTIALS)
        )
        async with self._database.transaction() as connection:
            if not self._database.is_sqlite:  # which has one writer at a time: others would not count each other's rows
                await connection.execute(_ONE_OF_AN_OWNER, {"owner": new.owner})
            row = (await connection.execute(statement)).mappings().one()
            owned = sa.select(sa.func.count()).where(CREDENTIALS.c.owner == new.owner)
            if row["version"] == 1 and (await connection.execute(owned)).scalar_one() > self._most:
                raise TooManyCredentialsError(f"a caller may have {self._most} credentials: delete one")
        return _credential(row)

    async def find(self, owner: str, name: str) -> Credential | None:
        """Return the owner's credential of this name, None if there is none; raises DatabaseUnavailableError."""
        version = self._database.version()
        known = self._remembered.find((owner, name), version)
        if known is not None:
            return known
        row = await self._database.row(_BY_NAME, {"owner": owner, "name": name})
        if row is None:
            return None
        found = _credential(row)
        self._remembered.keep((owner, name), found, version)
        return found

    async def of_owner(self, owner: str) -> list[Credential]:
        """Return the owner's credentials by name; raises DatabaseUnavailableError."""
        statement = sa.select(CREDENTIALS).where(CREDENTIALS.c.owner == owner).order_by(CREDENTIALS.c.name)
        async with self._database.transaction() as connection:
            rows = (await connection.execute(statement)).mappings().all()
        return [_credential(row) for row in rows]

    async def delete(self, owner: str, name: str) -> str | None:
        """Delete a credential; return its id, None if there is none; raises DatabaseUnavailableError."""
        statement = (
            sa.delete(CREDENTIALS)
            .where(CREDENTIALS.c.owner == owner, CREDENTIALS.c.name == name)
            .returning(CREDENTIALS.c.id)
        )
        async with self._database.transaction() as connection:
            return (await connection.execute(statement)).scalar_one_or_none()

    async def reseal(self) -> Resealed:
        """Seal with the active key what older keys have sealed, as far as these keys are here.

        Raises DatabaseUnavailableError.
        """
        total, faults, after = 0, Counter[str](), ""
        while rows := await self._reseal_some(after, faults):
            total += len(rows)
            after = rows[-1].id
        return Resealed(total - faults.total(), faults)

    async def _reseal_some(self, after: str, faults: Counter[str]) -> list[Credential]:
        is_older = (CREDENTIALS.c.sealing_key != self._seal.active, CREDENTIALS.c.id > after)
        older = sa.select(CREDENTIALS).where(*is_older).order_by(CREDENTIALS.c.id).limit(_RESEALED_AT_ONCE)
        async with self._database.transaction() as connection:
            rows = [_credential(row) for row in (await connection.execute(older)).mappings()]
            for row in rows:
                try:
                    private_key = self._seal.open(row.sealed_key, row.use)
                except SealError as error:
                    faults[str(error)] += 1
                    continue
                sealed = self._seal.close(private_key, row.use)
                unchanged = (CREDENTIALS.c.id == row.id, CREDENTIALS.c.version == row.version)
                values = {"sealed_key": sealed.data, "sealing_key": sealed.key_id}
                await connection.execute(sa.update(CREDENTIALS).where(*unchanged).values(**values))
        return rows


def _credential(row: sa.RowMapping | dict[str, Any]) -> Credential:
    stored = dict(row)
    sealed = Sealed(stored.pop("sealing_key"), bytes(stored.pop("sealed_key")))
    return Credential(**{**stored, "host_keys": tuple(stored["host_keys"])}, sealed_key=sealed)
