"""A home that an earlier release has left: its services find it, roles and all."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import TextClause, create_engine, text

from headway.db.access import migrate, public_rights
from headway.embedded.postgres import PostgresServer
from headway.testing.database.old_schemas import ROWS_OF_0023
from headway.testing.services.stack import running_stack

pytestmark = pytest.mark.services

DAG = """
from headway.sdk import DAG, BashOperator

with DAG("daily"):
    BashOperator(task_id="work", bash_command="true")
"""


@pytest.mark.parametrize(
    ("revision", "rows"),
    [
        pytest.param("0001", (), id="first", marks=pytest.mark.long),
        pytest.param("0023", ROWS_OF_0023, id="before renames"),
    ],
)
def test_an_older_home_gets_its_roles_at_the_next_start(
    tmp_path: Path, revision: str, rows: Sequence[TextClause]
) -> None:
    home, dags = tmp_path / "home", tmp_path / "dags"
    dags.mkdir()
    (dags / "daily.py").write_text(DAG)
    leave_behind(home, revision, rows)

    with running_stack(home, dags) as stack:
        state = stack.run("daily").state
        with stack.engine.connect() as conn:
            user = conn.scalar(text("SELECT session_user"))
            granted = [right.what for right in public_rights.found(conn) if right.granted]

    assert granted == []
    assert (state, user) == ("success", "headway_user")


def leave_behind(home: Path, revision: str, rows: Sequence[TextClause]) -> None:
    """Make the database of an earlier release, with these rows; its one role is its owner."""
    home.mkdir()
    config = Config()
    config.set_main_option("script_location", str(migrate.SCRIPTS))
    with PostgresServer(home / "postgres") as server:
        engine = create_engine(server.url)
        with engine.begin() as conn:
            config.attributes["connection"] = conn
            command.upgrade(config, revision)
            conn.execute(text("SET LOCAL session_replication_role = replica"))
            for statement in rows:
                conn.execute(statement)
        engine.dispose()
