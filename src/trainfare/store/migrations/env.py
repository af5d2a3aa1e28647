"""Run the migrations on the connection, and in the transaction, that the catalog opened."""

from alembic import context

from trainfare.store.schema import METADATA, VERSION_TABLE

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    version_table=VERSION_TABLE,
    transactional_ddl=True,
)
context.run_migrations()
