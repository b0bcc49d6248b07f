"""The tables, as SQLAlchemy sees them. A test holds them against what the migrations make."""

from typing import Final

import sqlalchemy as sa

METADATA: Final = sa.MetaData()

CREDENTIALS: Final = sa.Table(
    "credentials",
    METADATA,
    sa.Column("id", sa.String(36), primary_key=True),
    sa.Column("owner", sa.String(255), nullable=False),
    sa.Column("name", sa.String(63), nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("host", sa.String(253), nullable=False),
    sa.Column("port", sa.Integer, nullable=False),
    sa.Column("user", sa.String(64), nullable=False),
    sa.Column("host_keys", sa.JSON, nullable=False),
    sa.Column("public_key", sa.Text, nullable=False),
    sa.Column("sealed_key", sa.LargeBinary, nullable=False),
    sa.Column("sealing_key", sa.String(63), nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("updated_at", sa.BigInteger, nullable=False),
    sa.UniqueConstraint("owner", "name", name="credentials_of_owner"),
)
"""Times are seconds since 1970."""
