"""A module that was not there is missed: the file that wants it is parsed again when it comes."""

from pathlib import Path

import pytest
from sqlalchemy import Engine, text
from tests.integration.parser_machine import manager_of, until

from headway.db.reads import dag_views

ERRORS = text("SELECT count(*) FROM import_error")


def dag_ids(engine: Engine) -> list[str]:
    with engine.connect() as conn:
        return [row.dag_id for row in dag_views.dags(conn)]


def errors(engine: Engine) -> int:
    with engine.connect() as conn:
        return int(conn.scalar(ERRORS) or 0)


@pytest.mark.parametrize("module", ["helper.py", "helper/__init__.py", "team/helper.py"])
def test_a_file_whose_helper_comes_late_is_parsed_as_soon_as_that_is_there(
    engine: Engine, tmp_path: Path, module: str
) -> None:
    """It is due by itself after ten seconds at the earliest, and nothing waits that long here."""
    folder = tmp_path / "dags"
    (folder / "team").mkdir(parents=True)
    source = "import helper\nfrom headway.sdk import DAG\nDAG(helper.NAME)\n"
    (folder / "team" / "d.py").write_text(source)

    with manager_of(engine, folder) as manager:
        until(manager, lambda: errors(engine) == 1)
        with engine.begin() as conn:
            conn.execute(text("UPDATE dag_file SET due_at = due_at + interval '1 hour'"))
        (folder / module).parent.mkdir(exist_ok=True)
        (folder / module).write_text("NAME = 'helped'\n")
        until(manager, lambda: dag_ids(engine) == ["helped"])

    assert errors(engine) == 0


def test_a_file_that_does_without_a_module_takes_it_when_it_comes(
    engine: Engine, tmp_path: Path
) -> None:
    folder = tmp_path / "dags"
    folder.mkdir()
    (folder / "d.py").write_text(
        "from headway.sdk import DAG\n"
        "try: from local_settings import NAME\n"
        "except ImportError: NAME = 'default'\n"
        "DAG(NAME)\n"
    )

    with manager_of(engine, folder) as manager:
        until(manager, lambda: dag_ids(engine) == ["default"])
        (folder / "local_settings.py").write_text("NAME = 'local'\n")
        until(manager, lambda: dag_ids(engine) == ["local"])
