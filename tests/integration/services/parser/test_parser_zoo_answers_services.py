"""F63 to F66 and F68: what files define, and what they say that they define."""

import io
import struct
import zipfile
from collections.abc import Callable, Iterable, Iterator
from textwrap import dedent

import pytest
from sqlalchemy import Connection, text
from tests.integration.services.parser.zoo.answers import ANSWERS, READER, USURPER
from tests.integration.services.parser.zoo.keeper import Fault, Zoo, dag, running_zoo
from tests.integration.services.parser.zoo.shapes import MISSHAPEN, SHAPES

from headway.db.reads import dag_file_views, dag_views

pytestmark = pytest.mark.services

PATIENT = {
    "HEADWAY_PARSER_DAG_FILE_PROCESSOR_TIMEOUT": "30",
    "HEADWAY_PARSER_MIN_FILE_PROCESS_INTERVAL": "0.2",
}
MOST_GROWTH = 100 * 2**20
"""Bytes by which the parser may have grown, whatever it was told."""

FAULTS = {**ANSWERS, **MISSHAPEN}
_DIFFERENT = {
    *("sends_a_pickle", "nests", "laughs", "announces_500_mb", "sends_half_a_frame"),
    *("spoils_its_answer", "answers_for_another_file", "names_files_outside", "shows_other_code"),
    *("has_a_nul_in_its_error", "errs_at_length", "depends_on_everything"),
    *("turns_in_a_large_circle", "is_dense", "maps_too_much", "has_a_long_id"),
    *("has_half_a_character", "fans_out", "maps", "random_ids", "addresses"),
}
"""One of each kind; unit tests of answers and of ids have the messages of all of them."""


def each_of(names: Iterable[str]) -> pytest.MarkDecorator:
    """Try each of these; `make test` has only those that differ."""
    marked = [
        pytest.param(name, marks=() if name in _DIFFERENT else pytest.mark.long) for name in names
    ]
    return pytest.mark.parametrize("name", marked)


PATHS = text("SELECT cardinality(paths) FROM dag_file WHERE relative_path = 'reader.py'")
VERSIONS = text("SELECT count(*) FROM dag_version WHERE dag_id = :dag_id")


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zoo]:
    with running_zoo(tmp_path_factory.mktemp("answers"), FAULTS, PATIENT) as zoo:
        yield zoo


@each_of(FAULTS)
def test_what_cannot_be_used_is_an_error_of_its_file(zoo: Zoo, name: str) -> None:
    before = zoo.peak_memory()
    zoo.provoke(name, FAULTS[name])
    assert zoo.peak_memory() - before < MOST_GROWTH
    assert not (zoo.stack.dags / "evil").exists()


def test_no_file_gets_at_another_s_dag(zoo: Zoo) -> None:
    version = zoo.in_force("canary")
    with zoo.canary():
        zoo.write("usurper.py", dag("usurper") + USURPER.code)
        USURPER.check(zoo.stack.wait_for_import_error("usurper.py"))
    assert zoo.in_force("canary") == version
    zoo.check_left_alone("usurper.py")


def test_no_file_has_the_parser_look_at_all_that_it_names(zoo: Zoo) -> None:
    with zoo.canary():
        zoo.write("reader.py", dag("reader") + READER.code)
        READER.check(zoo.stack.wait_for_import_error("reader.py"))
    with zoo.stack.engine.connect() as conn:
        assert conn.scalar(PATHS) == 1


@each_of(SHAPES)
def test_a_large_dag_is_taken_over_while_others_run(zoo: Zoo, name: str) -> None:
    code, tasks = SHAPES[name]
    dag_id = code.partition('DAG("')[2].partition('"')[0]
    with zoo.canary():
        zoo.write(f"{name}.py", dag(name) + dedent(code))
        zoo.check_edits(f"{name}.py")
        zoo.stack.wait_for_version(dag_id)
    assert zoo.stack.dag(dag_id).tasks == tasks
    assert zoo.peak_memory() < 400 * 2**20


UNSTEADY = {
    "random_ids": "with DAG('{0}'): EmptyOperator(task_id=f't{{random.randrange(10**9)}}')",
    "starts_now": "DAG('{0}', start_date=datetime.now(UTC))",
    "sets": "DAG('{0}', tags=list({{str(random.random()) for _ in range(5)}}))",
    "addresses": "DAG('{0}', description=repr([object()] * random.randrange(1000)))",
}


@each_of(UNSTEADY)
def test_a_dag_that_differs_each_time_has_one_version_and_a_warning(zoo: Zoo, name: str) -> None:
    with zoo.canary():
        zoo.write(
            f"{name}.py",
            "import random\nfrom datetime import UTC, datetime\n"
            "from headway.sdk import DAG, EmptyOperator\n" + UNSTEADY[name].format(name),
        )
        warning = zoo.stack.until(lambda conn: _warnings(conn).get(f"{name}.py"), "a warning")

    assert warning.startswith(f"DAG {name} differs each time that its file is read: ")
    with zoo.stack.engine.connect() as conn:
        assert conn.scalar(VERSIONS, {"dag_id": name}) == 1
    zoo.stack.wait_for_no_import_error(f"{name}.py")
    assert f"DAG {name} differs each time" in zoo.stack.headway("dags", "list").stdout


def test_a_function_of_the_moment_is_no_change(zoo: Zoo) -> None:
    """A lambda has an address, which is none of a DAG's content."""
    zoo.write(
        "lambdas.py",
        "from headway.sdk import DAG, PythonOperator\n"
        "with DAG('lambdas'): PythonOperator(task_id='t', python_callable=lambda: 1)\n",
    )
    with zoo.canary():
        zoo.stack.wait_for_version("lambdas")
        before = zoo.file("lambdas.py")["parsed_at"]
        zoo.stack.until(lambda _: zoo.file("lambdas.py")["parsed_at"] != before, "another parse")
    with zoo.stack.engine.connect() as conn:
        assert conn.scalar(VERSIONS, {"dag_id": "lambdas"}) == 1
        assert "lambdas.py" not in _warnings(conn)


def package(*entries: tuple[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in entries:
            opened.writestr(name, content)
    return made.getvalue()


def bomb() -> bytes:
    return package(("d.py", dag("bomb").encode()), ("zeros", bytes(300 * 2**20)))


def lying_bomb() -> bytes:
    """Its directory says that the large entry has one byte."""
    made = bomb()
    return made.replace(struct.pack("<I", 300 * 2**20), struct.pack("<I", 1))


def outside() -> bytes:
    return package(("d.py", dag("zipped").encode()), ("../../evil.py", b"1 / 0"))


def encrypted() -> bytes:
    made = bytearray(package(("d.py", dag("zipped").encode())))
    made[made.index(b"PK\x01\x02") + 8] |= 1
    return bytes(made)


def crowded() -> bytes:
    return package(("d.py", dag("zipped").encode()), *((f"f{n}", b"") for n in range(20_000)))


def truncated() -> bytes:
    return package(("d.py", dag("zipped").encode() * 100))[:60]


PACKAGES: dict[str, tuple[Callable[[], bytes], str]] = {
    "bomb": (bomb, "bomb.zip unpacks to 314,572,… bytes; 268,435,456 at most."),
    "lying_bomb": (lying_bomb, "lying_bomb.zip is no sound zip file: …"),
    "outside": (outside, "outside.zip has an entry '../../evil.py', which leads out of it."),
    "encrypted": (encrypted, "encrypted.zip is encrypted ('d.py'); Headway has no password."),
    "crowded": (crowded, "crowded.zip has 20,001 entries; 10,000 at most."),
    "truncated": (truncated, "truncated.zip is no sound zip file: …"),
    "no_zip": (lambda: b"dag headway", "no_zip.zip is no sound zip file: …"),
}


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_that_is_none_has_an_error(zoo: Zoo, name: str) -> None:
    make, error = PACKAGES[name]
    content = make()
    with zoo.canary():
        (zoo.stack.dags / f"{name}.zip").write_bytes(content)
        Fault("", error).check(zoo.stack.wait_for_import_error(f"{name}.zip"))
    zoo.check_unharmed()


def test_a_package_within_a_package_is_data(zoo: Zoo) -> None:
    inner = package(("inner.py", dag("inner").encode()))
    content = package(("outer.py", dag("outer").encode()), ("inner.zip", inner))
    with zoo.canary():
        (zoo.stack.dags / "nested.zip").write_bytes(content)
        zoo.stack.wait_for_version("outer")
    with zoo.stack.engine.connect() as conn:
        assert dag_views.dag(conn, "inner") is None


def _warnings(conn: Connection) -> dict[str, str]:
    return {problem.relative_path: problem.error for problem in dag_file_views.warnings(conn)}
