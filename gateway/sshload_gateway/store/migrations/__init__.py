"""The ordered changes of the tables, which Alembic applies."""
