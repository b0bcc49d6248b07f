"""What Alembic runs: it finds an open connection in the configuration's attributes."""

from alembic import context

from sshload_gateway.store.tables import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA)
with context.begin_transaction():
    context.run_migrations()
