"""What the rows of a table say, as who looks sees them."""

from sqlalchemy import Connection, text

from headway.db.access.grants_matrix import HIDDEN
from headway.db.schema import METADATA


def as_text(conn: Connection, table: str) -> str:
    """Return all rows of a table, without the columns that are hidden from who only looks."""
    columns = (column.name for column in METADATA.tables[table].columns)
    row = ", ".join(f"it.{name}" for name in columns if name not in HIDDEN.get(table, ()))
    shown = f"SELECT CAST(ROW({row}) AS text) FROM {table} AS it"  # noqa: S608
    return str(conn.execute(text(shown)).all())
