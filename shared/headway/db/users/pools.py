"""SQL that stores and deletes pools."""

from sqlalchemy import Connection, text

SET = text("""
    INSERT INTO pool (name, slots, description, include_deferred)
    VALUES (:name, :slots, :description, :include_deferred)
        ON CONFLICT (name) DO UPDATE
       SET slots = excluded.slots, description = excluded.description,
           include_deferred = excluded.include_deferred
""")


DELETE = text("DELETE FROM pool WHERE name = :name")


def store(
    conn: Connection, name: str, slots: int, description: str, *, include_deferred: bool = False
) -> None:
    """Create the pool, or change it."""
    parameters = {"name": name, "slots": slots, "description": description}
    conn.execute(SET, {**parameters, "include_deferred": include_deferred})


def delete(conn: Connection, name: str) -> bool:
    """Delete the pool; False when there is none.  Tasks that name it wait until it is back."""
    return conn.execute(DELETE, {"name": name}).rowcount > 0
