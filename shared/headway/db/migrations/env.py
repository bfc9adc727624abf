"""What Alembic runs to migrate: on the connection that headway.db.access.migrate hands over."""

from alembic import context

from headway.db.schema import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    transaction_per_migration=True,
)
with context.begin_transaction():
    context.run_migrations()
