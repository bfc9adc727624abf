"""Paths in object stores: what they are, what they ask for, and what is stored of them."""

import copy
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import headway.sdk
from headway.airflow_layer import finder
from headway.domain.arguments import encode_argument
from headway.domain.errors import DagError
from headway.domain.states import Outcome
from headway.sdk import DAG, Connection, ObjectStoragePath, task
from headway.sdk.exceptions import RefusedException
from headway.sdk.harness.execution import Result
from headway.sdk.running.task_runtime import XComs
from headway.sdk.storage import stores
from headway.sdk.xcoms.codec import decode_xcom, encode_xcom
from headway.testing.data.airflow_names import without_airflow

URLS = {
    "s3://b/k/x.csv": "s3://b/k/x.csv",
    "s3://b": "s3://b/",
    "sftp://h:22/x": "sftp://h:22/x",
    "file:///tmp/x": "file:///tmp/x",
    "/tmp/x": "/tmp/x",
    "memory://a/b@c": "memory://a/b@c",
    "https://h/x?y=1": "https://h/x?y=1",
}


class Given:
    """Connections of a task, and what it has asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def get_connection(self, conn_id: str) -> Connection | None:
        self.asked.append(conn_id)
        return Connection(conn_id=conn_id, conn_type="sftp", host=f"{conn_id}.example")

    def get_variable(self, key: str) -> str | None:
        return None


@pytest.fixture
def given() -> Given:
    return Given()


@pytest.mark.parametrize("url", URLS)
def test_a_path_is_a_url_and_comes_back_from_what_is_stored(url: str) -> None:
    path = ObjectStoragePath(url)
    stored: Any = encode_xcom(path, "It")

    assert str(path) == URLS[url]
    assert stored == encode_argument(path, "It")
    assert stored == {"__headway__": "object_storage_path", "value": URLS[url], "conn_id": None}
    assert decode_xcom(stored, "It") == path


@pytest.mark.parametrize("url", ["s3://{}b/k", "sftp://{}h:22/x", "memory://{}b/k"])
def test_the_connection_is_in_the_url_or_an_argument(url: str) -> None:
    path = ObjectStoragePath(url.format("aws@"))
    other = ObjectStoragePath(url.format(""), conn_id="aws")
    stored: Any = encode_xcom(path, "It")

    assert path == other
    assert hash(path) == hash(other)
    assert (path.conn_id, str(path)) == ("aws", url.format("aws@"))
    assert stored["conn_id"] == "aws"
    assert decode_xcom(stored, "It") == path
    assert path != ObjectStoragePath(url.format("other@"))
    assert ObjectStoragePath(path, conn_id="other").conn_id == "other"


def test_paths_that_a_path_leads_to_have_its_connection() -> None:
    path = ObjectStoragePath("s3://aws@b/k/x.csv")
    led_to = [
        path.parent,
        *path.parents,
        path / "y",
        path.joinpath("y", "z"),
        path.with_suffix(".gz"),
        path.with_name("y"),
        ObjectStoragePath(path),
        ObjectStoragePath.deserialize(path.serialize()),
        copy.copy(path),
        copy.deepcopy(path),
        pickle.loads(pickle.dumps(path)),
    ]

    assert {found.conn_id for found in led_to} == {"aws"}
    assert str(path.parent / "y") == "s3://aws@b/k/y"
    assert led_to[-3:] == [path, path, path]


def test_a_path_has_the_parts_of_an_address() -> None:
    path = ObjectStoragePath("s3://aws@b/k/x.csv")

    assert (path.bucket, path.container, path.key) == ("b", "b", "k/x.csv")
    assert (path.namespace, path.protocol, path.path) == ("s3://b", "s3", "b/k/x.csv")
    assert (path.name, path.suffix) == ("x.csv", ".csv")


def test_a_store_is_used_inside_of_tasks_only() -> None:
    with pytest.raises(RefusedException, match=r"s3:// was used outside of a task, .*'aws'"):
        ObjectStoragePath("s3://aws@b/k").exists()


@pytest.mark.usefixtures("_told_stores")
def test_a_task_gets_the_connection_when_it_uses_the_path(
    dag: DAG, run: Callable[..., Result], xcoms: XComs, given: Given
) -> None:
    path = ObjectStoragePath("sftp://shop@h/sales", timeout=3)

    @task
    def use() -> list[Any]:
        asked = list(given.asked)
        (path / "a").write_text("x")
        threads: list[bool] = []
        thread = Thread(target=lambda: threads.append((path / "a").exists()))
        thread.start()
        thread.join(10)
        return [asked, list(given.asked), path.fs.told, threads]

    result = run(use(), secrets=given)

    assert result.outcome is Outcome.SUCCESS, result
    left: Any = xcoms["use", "return_value"]
    before, after, told, threads = left
    assert before == []
    assert set(after) == {"shop"}
    assert told == {"host": "h", "timeout": 3}
    assert threads == [True]


@pytest.mark.usefixtures("_told_stores")
def test_another_task_asks_for_the_connection_again(
    dag: DAG, run: Callable[..., Result], given: Given
) -> None:
    path = ObjectStoragePath("sftp://shop@/sales")

    @task
    def use() -> None:
        path.exists()
        path.exists()

    used = use()
    for asked in (["shop"], ["shop", "shop"]):
        assert run(used, secrets=given).outcome is Outcome.SUCCESS
        assert given.asked == asked


def test_a_missing_library_is_named_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "gcsfs", None)

    with pytest.raises(RefusedException, match=r"gs://.*pip install 'headway\[gcs\]'"):
        ObjectStoragePath("gs://b/k").exists()


def test_without_universal_pathlib_the_name_says_which_extra_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("upath", "upath.extensions"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "headway.sdk.storage.path")
    monkeypatch.delitem(vars(headway.sdk), "ObjectStoragePath", raising=False)

    with without_airflow():
        finder.install()
        for module in ("headway.sdk", "airflow.sdk", "airflow.io.path"):
            with pytest.raises(ImportError, match=r"pip install 'headway\[airflow\]'"):
                exec(f"from {module} import ObjectStoragePath", {})


def test_options_may_be_secret_and_are_not_stored() -> None:
    path = ObjectStoragePath("s3://b/k", secret="s")

    with pytest.raises(DagError, match="op_args has the storage option 'secret', which is not"):
        encode_argument(path, "op_args")


def test_an_address_of_a_task_is_a_template(
    dag: DAG, run: Callable[..., Result], xcoms: XComs
) -> None:
    @task
    def use(paths: list[ObjectStoragePath]) -> list[str]:
        return [str(path) for path in paths]

    used = use(
        [
            ObjectStoragePath("s3://{{ params.carrier }}@b/{{ ds }}.csv"),
            ObjectStoragePath("sftp://h:22/{{ ds }}"),
            ObjectStoragePath("s3://b/k"),
        ]
    )

    assert run(used).outcome is Outcome.SUCCESS
    assert xcoms["use", "return_value"] == [
        "s3://UA@b/2013-01-01.csv",
        "sftp://h:22/2013-01-01",
        "s3://b/k",
    ]


def test_files_are_written_read_listed_and_told_of(tmp_path: Path) -> None:
    folder = ObjectStoragePath(tmp_path.as_uri())
    path = folder / "x.txt"
    with path.open("w") as file:
        file.write("some text")

    assert path.read_text() == "some text"
    assert list(folder.iterdir()) == [path]
    assert list(folder.glob("*.txt")) == [path]
    found = path.stat()
    assert (found.st_size, found["protocol"], found["conn_id"]) == (9, "file", None)
    assert found.st_mtime == (tmp_path / "x.txt").stat().st_mtime
    assert found.st_mode == (tmp_path / "x.txt").stat().st_mode
    assert (path.size(), path.read_block(5, 4)) == (9, b"text")
    assert path.samefile(folder / "x.txt")
    assert not path.samefile(folder)
    assert path.replace(folder / "y.txt") == folder / "y.txt"
    assert not path.exists()


@pytest.mark.usefixtures("_told_stores")
def test_files_and_folders_move_from_one_store_to_another(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a").write_text("1")
    local = ObjectStoragePath(tmp_path.as_uri())
    memory, other = ObjectStoragePath("memory://moves"), ObjectStoragePath("ftp://h/moved")
    memory.mkdir(parents=True, exist_ok=True)
    other.mkdir(parents=True, exist_ok=True)

    (local / "in" / "a").copy_into(memory)
    assert (memory / "a").read_text() == "1"
    assert (memory / "a").move(memory / "b") == memory / "b"
    (memory / "b").move(other / "c")
    assert [(memory / "b").exists(), (other / "c").read_text()] == [False, "1"]
    (local / "in").copy(memory / "deep", recursive=True)
    (memory / "deep").copy(other)
    assert [found for found in other.fs.find("/moved") if found.endswith("/a")] == ["/moved/deep/a"]
    (other / "c").move_into(local)
    assert (tmp_path / "c").read_text() == "1"
    with pytest.raises(NotADirectoryError, match="is not a folder"):
        (local / "c").copy_into(local / "c")
    with pytest.raises(FileNotFoundError, match=r"memory://moves/gone does not exist"):
        (memory / "gone").copy(other / "d")


@pytest.mark.usefixtures("_told_stores")
def test_a_file_system_of_the_author_is_a_store(monkeypatch: pytest.MonkeyPatch) -> None:
    from fsspec.implementations.memory import MemoryFileSystem

    monkeypatch.setattr(stores, "_ATTACHED", {})
    mine = MemoryFileSystem()
    kept = stores.attach("s3", "mine", fs=mine)

    assert ObjectStoragePath("s3://mine@b/k").fs is mine
    assert stores.attach("s3", "mine") == kept
    assert stores.attach("s3", "mine") is not stores.attach("memory")
    assert stores.attach("memory", alias="m") is stores.attach(alias="m")
    assert (str(kept), kept.fsid) == ("s3-mine", "s3-mine")
    with pytest.raises(ValueError, match="needs a protocol"):
        stores.attach(alias="unknown")
    with pytest.raises(TypeError, match="no argument 'fss'"):
        stores.attach("s3", fss=mine)
