"""F58 to F62: files that poison their process, are no Python, change all the time, or quarrel."""

import json
import os
import shutil
from collections.abc import Iterator
from functools import partial
from textwrap import dedent

import pytest
from sqlalchemy import Connection
from tests.integration.services.parser.zoo.keeper import Fault, Zoo, dag, running_zoo
from tests.integration.services.parser.zoo.manners import INSPECTOR, POISON, WORLD
from tests.integration.services.parser.zoo.texts import NO_FILES, TEXTS, huge

from headway.actions.lookup import current_dag
from headway.db.parsing import files
from headway.db.reads import dag_views
from headway.runtime.sandbox import scratch
from headway.testing.time.clock import until

pytestmark = pytest.mark.services

NO_NETWORK = (
    "DAG files may not use the network while they are read. Move that into tasks, or set "
    "HEADWAY_PARSER_PARSE_NETWORK=true."
)
NO_ACCESS = (
    "While it is read a DAG file may read its bundle and what is installed, and write to its "
    "temporary folder alone. HEADWAY_PARSER_READABLE_PATHS names more folders."
)
REFUSED = {
    "connects": Fault(
        "import socket; socket.create_connection(('127.0.0.1', 5432))",
        f"Traceback … PermissionError: [Errno 13] Permission denied\n{NO_NETWORK}",
    ),
    "looks_up": Fault(
        "import urllib.request; urllib.request.urlopen('http://example.invalid/')",
        f"Traceback … urllib.error.URLError: …\n{NO_NETWORK}",
    ),
    "writes_beside_itself": Fault(
        "open(__file__ + '.new', 'w')",
        f"Traceback … PermissionError: [Errno 13] Permission denied: '….new'\n{NO_ACCESS}",
    ),
    "overwrites_the_canary": Fault(
        "import os; os.unlink(os.path.join(os.path.dirname(__file__), 'canary.py'))",
        f"Traceback … PermissionError: [Errno 13] Permission denied: '…canary.py'\n{NO_ACCESS}",
    ),
}
FAULTS = {**REFUSED, **POISON}
OTHER = "other"


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zoo]:
    """The folder of DAG files is a link, as git-sync makes it; there is another bundle."""
    root = tmp_path_factory.mktemp("files")
    for folder in ("first", OTHER):
        (root / folder).mkdir()
    (root / "dags").symlink_to("first")
    (root / "first" / "inspector.py").write_text(dedent(INSPECTOR))
    bundles = json.dumps({OTHER: {"path": str(root / OTHER)}})
    names = {**FAULTS, **WORLD, **dict.fromkeys(("replaced", "emptied", "future", "imports"))}
    with running_zoo(root, names, {"HEADWAY_PARSER_BUNDLES": bundles}) as zoo:
        yield zoo


@pytest.fixture
def canary(zoo: Zoo) -> Iterator[None]:
    """Have the canary run all through a test."""
    with zoo.canary():
        yield


@pytest.fixture(scope="module")
def unchanged_world(zoo: Zoo) -> str:
    """What a DAG file finds of its world when no other has changed it."""
    return str(zoo.stack.dag("inspector").description)


def inspect(zoo: Zoo) -> str:
    """Have the inspector look once more, which must be where another file has been read."""
    zoo.touch("inspector.py")
    zoo.stack.wait_for_no_import_error("inspector.py")
    return str(zoo.stack.dag("inspector").description)


@pytest.mark.parametrize("name", FAULTS)
def test_a_file_that_may_not_has_its_error(zoo: Zoo, unchanged_world: str, name: str) -> None:
    zoo.provoke(name, FAULTS[name])
    assert inspect(zoo) == unchanged_world


@pytest.mark.parametrize("name", WORLD)
def test_the_next_file_finds_the_world_unchanged(zoo: Zoo, unchanged_world: str, name: str) -> None:
    zoo.tolerate(name, WORLD[name])
    assert inspect(zoo) == unchanged_world


def test_a_file_may_import_much(zoo: Zoo) -> None:
    """Spark, within the limits of this zoo."""
    with zoo.canary():
        zoo.write("imports.py", dag("imports", "sparks") + "import pyspark.sql\n")
        zoo.stack.wait_for_version("imports", 2)
    zoo.stack.wait_for_no_import_error("imports.py")


@pytest.mark.parametrize("name", TEXTS)
def test_what_is_no_python_has_an_error(zoo: Zoo, name: str) -> None:
    content, error = TEXTS[name]
    with zoo.canary():
        (zoo.stack.dags / f"{name}.py").write_bytes(content)
        Fault("", error).check(zoo.stack.wait_for_import_error(f"{name}.py"))
    zoo.check_unharmed()


@pytest.mark.usefixtures("canary")
def test_a_byte_order_mark_is_fine(zoo: Zoo) -> None:
    (zoo.stack.dags / "marked.py").write_bytes(b"\xef\xbb\xbf" + dag("marked").encode())
    zoo.stack.wait_for_version("marked")


def test_a_huge_file_is_refused_unread(zoo: Zoo) -> None:
    with zoo.canary():
        huge(zoo.stack.dags / "huge.py")
        error = zoo.stack.wait_for_import_error("huge.py")
    assert error == (
        "The file has 209,715,200 bytes; 8,388,608 is the limit. Keep data out of it, or name it "
        "in .headwayignore if it is none of Headway's."
    )
    zoo.check_left_alone("huge.py")
    zoo.write("huge.py", dag("huge"))
    zoo.stack.wait_for_no_import_error("huge.py")


@pytest.mark.usefixtures("canary")
def test_a_link_out_of_the_bundle_is_refused(zoo: Zoo) -> None:
    """Who lists the files can read it; who reads them cannot."""
    outside = zoo.stack.home / "outside.py"
    outside.write_text(dag("outside"))
    (zoo.stack.dags / "link_out.py").symlink_to(outside)

    error = zoo.stack.wait_for_import_error("link_out.py")
    assert "PermissionError: [Errno 13] Permission denied: '" in error
    assert error.endswith(NO_ACCESS)
    zoo.check_left_alone("link_out.py")
    assert zoo.in_force("outside") is None
    (zoo.stack.dags / "link_out.py").unlink()
    zoo.write("link_out.py", dag("inside"))
    zoo.stack.wait_for_version("inside")


def test_what_is_no_file_is_left_out(zoo: Zoo) -> None:
    with zoo.canary():
        for name, make in NO_FILES.items():
            make(zoo.stack.dags / name)
        zoo.write("after.py", dag("after"))
        zoo.stack.wait_for_version("after")
        zoo.edit_canary()
    with zoo.stack.engine.connect() as conn:
        known = {key.path for key in files.board(conn, ["dags"])}
    assert not {path for path in known if path.split("/")[0] in NO_FILES}
    scratch.remove(zoo.stack.dags / "deep")  # which pytest could not


SLOWLY = "import time; time.sleep({})\n"


@pytest.mark.usefixtures("canary")
def test_a_file_that_is_replaced_while_it_is_read_is_read_again(zoo: Zoo) -> None:
    file = zoo.write("replaced.py", dag("replaced", "old") + SLOWLY.format(1))
    zoo.wait_until_parsing("replaced.py")
    new = file.with_suffix(".new")
    new.write_text(dag("replaced", "new"))
    new.replace(file)

    def is_new(_: Connection) -> bool:
        return "new" in tasks(zoo, "replaced")

    zoo.stack.until(is_new, "what has replaced it")
    assert zoo.in_force("replaced") == 2


@pytest.mark.usefixtures("canary")
def test_a_file_that_is_emptied_while_it_is_read_keeps_its_dags(zoo: Zoo) -> None:
    """Editors empty a file before they write it."""
    file = zoo.write("emptied.py", dag("emptied", "never") + SLOWLY.format(1))
    zoo.wait_until_parsing("emptied.py")
    file.write_text("")
    zoo.edit_canary()
    assert zoo.in_force("emptied") == 1

    file.write_text(dag("emptied", "new"))
    zoo.stack.until(lambda _: tasks(zoo, "emptied") == {"new"}, "what was written then")


@pytest.mark.usefixtures("canary")
def test_a_file_that_is_deleted_while_it_is_read_is_gone(zoo: Zoo) -> None:
    file = zoo.write("deleted.py", dag("deleted") + SLOWLY.format(1))
    zoo.wait_until_parsing("deleted.py")
    file.unlink()

    zoo.stack.until(lambda conn: not _is_known(conn, "deleted.py"), "the file forgotten")
    assert zoo.in_force("deleted") is None
    zoo.stack.wait_for_no_import_error("deleted.py")


@pytest.mark.usefixtures("canary")
def test_a_file_that_grows_while_it_is_read_is_read_whole(zoo: Zoo) -> None:
    """Somebody writes it slowly: what the first half defines never comes into force."""
    file = zoo.stack.dags / "grows.py"
    file.write_text(dag("grows", "half") + SLOWLY.format(1))
    zoo.wait_until_parsing("grows.py")
    with file.open("a") as opened:
        opened.write(dag("grows_on", "whole"))

    zoo.stack.wait_for_version("grows_on")
    assert zoo.in_force("grows") == 1


@pytest.mark.usefixtures("canary")
def test_an_edit_under_an_old_time_is_seen(zoo: Zoo) -> None:
    file = zoo.stack.dags / "future.py"
    for number in (2, 3):
        file.write_text(dag("future", f"n{number}"))
        os.utime(file, (4e9, 4e9))
        zoo.stack.wait_for_version("future", number)


def test_the_first_file_keeps_a_dag_id(zoo: Zoo) -> None:
    """Also when the parser is killed: what starts again finds the same owner."""
    zoo.write("owner.py", dag("shared", "of_owner"))
    zoo.stack.wait_for_version("shared")
    said = "The DAG id 'shared' in {} is taken by the file owner.py (bundle dags), which keeps it."
    with zoo.canary():
        zoo.write("a_thief.py", dag("shared", "of_thief"))
        (zoo.stack.dags.parent / OTHER / "owner.py").write_text(dag("shared", "of_other"))
        for path in ("a_thief.py", "owner.py"):
            assert zoo.stack.wait_for_import_error(path).startswith(said.format(path))
    zoo.kill_parser()
    with zoo.canary():
        for path in ("a_thief.py", "owner.py"):
            zoo.touch(path)
        assert "taken by the file owner.py" in zoo.stack.wait_for_import_error("a_thief.py")
    assert tasks(zoo, "shared") == {"of_owner"}


@pytest.mark.usefixtures("canary")
def test_ids_that_differ_in_case_are_two_dags(zoo: Zoo) -> None:
    zoo.write("twin.py", dag("twin", "lower"))
    zoo.write("Twin.py", dag("Twin", "upper"))
    for dag_id in ("twin", "Twin"):
        zoo.stack.wait_for_version(dag_id)
    assert (tasks(zoo, "twin"), tasks(zoo, "Twin")) == ({"lower"}, {"upper"})


def test_a_folder_that_is_swapped_for_another_is_followed(zoo: Zoo) -> None:
    """As git-sync does: a link is turned to another checkout, in the middle of a parse."""
    root = zoo.stack.dags.parent
    zoo.write("swapped.py", dag("swapped", "of_first"))
    zoo.stack.wait_for_version("swapped")
    second = root / "second"
    shutil.copytree(root / "first", second, symlinks=True, ignore=_odd)
    (second / "swapped.py").write_text(dag("swapped", "of_second"))
    zoo.write("swapped.py", dag("swapped", "never") + SLOWLY.format(1))
    zoo.wait_until_parsing("swapped.py")
    turn(zoo, "second")

    with zoo.canary():
        zoo.stack.until(lambda _: tasks(zoo, "swapped") == {"of_second"}, "the other checkout")
    zoo.edit_canary()


def test_a_folder_that_is_emptied_takes_no_dag_along(zoo: Zoo) -> None:
    """It may be a mount that is missing."""
    kept, root, here = active(zoo), zoo.stack.dags.parent, zoo.stack.dags.resolve().name
    empty = root / "empty"
    empty.mkdir()
    for target, said in (("empty", "empty is empty"), ("missing", "missing: is missing")):
        turn(zoo, target)
        until(partial(is_said, zoo, f"{root}/{said}"), "a word on it")
        assert active(zoo) == kept
    turn(zoo, here)
    with zoo.canary():
        zoo.edit_canary()


def _odd(_folder: str, names: list[str]) -> set[str]:
    return {name for name in names if name in NO_FILES}


def _is_known(conn: Connection, path: str) -> bool:
    return files.FileKey("dags", path) in files.board(conn, ["dags"])


def tasks(zoo: Zoo, dag_id: str) -> set[str]:
    with zoo.stack.engine.connect() as conn:
        return {task.task_id for task in current_dag(conn, dag_id).spec.tasks}


def active(zoo: Zoo) -> set[str]:
    with zoo.stack.engine.connect() as conn:
        return {row.dag_id for row in dag_views.dags(conn)}


def turn(zoo: Zoo, target: str) -> None:
    """Have the link that is the DAGs folder lead elsewhere, in one stroke."""
    root = zoo.stack.dags.parent
    (root / "link").symlink_to(target)
    (root / "link").replace(root / "dags")


def is_said(zoo: Zoo, what: str) -> bool:
    return what in (zoo.stack.home / "services" / "parser.log").read_text()
