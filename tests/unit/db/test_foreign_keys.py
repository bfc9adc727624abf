"""A row is deleted without a look through the tables whose foreign keys refer to it."""

from collections.abc import Iterator

import pytest
from sqlalchemy import ForeignKeyConstraint, Index, PrimaryKeyConstraint, UniqueConstraint
from sqlalchemy.sql.schema import Table

from headway.db.schema import METADATA

REMOVED = {"dag_run", "task_instance", "task_attempt", "process", "callback", "event"}
KEYS = [
    pytest.param(table, key, id=f"{table.name}: {', '.join(key.column_keys)}")
    for table in METADATA.tables.values()
    for key in table.foreign_key_constraints
    if key.referred_table.name in REMOVED
]


def leading(table: Table) -> Iterator[list[str]]:
    """The columns of each index that finds every row that the key may refer from."""
    for constraint in table.constraints:
        if isinstance(constraint, PrimaryKeyConstraint | UniqueConstraint):
            yield [column.name for column in constraint.columns]
    for index in table.indexes:
        if isinstance(index, Index):
            names = [column.name for column in index.columns]
            where = index.dialect_options["postgresql"]["where"]
            if where is None or str(where) in {f"{name} IS NOT NULL" for name in names}:
                yield names


@pytest.mark.parametrize(("table", "key"), KEYS)
def test_an_index_begins_with_the_columns_of_the_key(
    table: Table, key: ForeignKeyConstraint
) -> None:
    columns = set(key.column_keys)

    assert any(set(names[: len(columns)]) == columns for names in leading(table))


def test_there_are_such_keys() -> None:
    assert len(KEYS) >= 7
