"""A folder that goes while the parser runs takes no other bundle down."""

from pathlib import Path

import pytest
from sqlalchemy import Engine
from tests.integration.parser_machine import manager_of, until

from headway.db.reads import dag_views
from headway.domain.errors import SettingsError
from headway.runtime.settings import configuration
from headway.runtime.settings.parser import ParserSettings
from headway_parser.parse.fork_server import folders_of


def dag_ids(engine: Engine) -> set[str]:
    with engine.connect() as conn:
        return {row.dag_id for row in dag_views.dags(conn)}


def write(file: Path, dag_id: str) -> None:
    file.write_text(f"from headway.sdk import DAG\nDAG({dag_id!r})\n")


def test_a_fork_server_is_replaced_while_a_folder_is_not_mounted(
    engine: Engine, tmp_path: Path
) -> None:
    folders = {name: tmp_path / name for name in ("stays", "goes")}
    for name, folder in folders.items():
        folder.mkdir()
        write(folder / "d.py", name)
    bundles = {"other": {"path": str(folders["goes"])}}
    with manager_of(engine, folders["stays"], bundles=bundles) as manager:
        until(manager, lambda: dag_ids(engine) == {"stays", "goes"})
        folders["goes"].rename(tmp_path / "aside")
        before = manager.parsing.warm_up()
        before.close()
        write(folders["stays"] / "new.py", "new")
        until(manager, lambda: "new" in dag_ids(engine))
        assert manager.parsing.warm_up() is not before

        (tmp_path / "aside").rename(folders["goes"])
        write(folders["goes"] / "back.py", "back")
        until(manager, lambda: dag_ids(engine) == {"stays", "goes", "new", "back"})


def test_a_service_does_not_start_without_its_folder(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"There is no DAGs folder .*nowhere"):
        folders_of(configuration.read(ParserSettings, dags=tmp_path / "nowhere"))
