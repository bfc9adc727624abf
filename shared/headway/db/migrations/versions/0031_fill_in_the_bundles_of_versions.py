"""Fill in the bundles of versions that parsers of an older release store.

Such a parser runs beside this release while an upgrade replaces parsers one by one, and it names no
bundle.  Its version is of the bundle that has the DAG: a parser registers a DAG before its version.
"""

from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the change."""
    op.execute("""
        CREATE FUNCTION headway_version_bundle() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            NEW.bundle := (SELECT dag.bundle FROM dag WHERE dag.dag_id = NEW.dag_id);
            RETURN NEW;
        END
        $$
    """)
    op.execute("""
        CREATE TRIGGER version_bundle BEFORE INSERT ON dag_version
        FOR EACH ROW WHEN (NEW.bundle IS NULL) EXECUTE FUNCTION headway_version_bundle()
    """)
