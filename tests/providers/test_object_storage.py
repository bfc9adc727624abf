"""Paths in an S3 of moto, by a connection as the Amazon provider reads it."""

import pytest
from tests.providers.conftest import RunDag

pytest.importorskip("s3fs")

SOURCE = """
import pendulum
from airflow.sdk import DAG, ObjectStoragePath, task

base = ObjectStoragePath("s3://aws@files/")
local = ObjectStoragePath("file://{folder}/local")

with DAG("d", start_date=pendulum.datetime(2024, 1, 1, tz="UTC"), schedule=None):
    @task
    def write(path: ObjectStoragePath) -> ObjectStoragePath:
        base.mkdir(exist_ok=True)
        with path.open("w") as file:
            file.write("apples,3")
        return path

    @task
    def read(path: ObjectStoragePath) -> ObjectStoragePath:
        print("read:", path, path.read_text(), path.size(), path.stat().st_size)
        print("there:", [str(found) for found in base.rglob("*.csv")], base.is_dir())
        print("signed:", "Signature" in path.sign())
        with path.open("rb") as file:
            print("bytes:", file.read(6))
        path.copy(base / "copies" / path.name)
        path.move(local / "moved.csv")
        print("moved:", (local / "moved.csv").read_text(), path.exists())
        return base / "copies" / path.name

    @task
    def back(path: ObjectStoragePath):
        (local / "moved.csv").copy(base / "back" / "again.csv")
        print("back:", sorted(found.key for found in base.glob("*/*")))
        path.unlink()
        print("gone:", path.exists())

    back(read(write(base / "{{{{ ds }}}}.csv")))
"""


def test_paths_are_written_read_listed_copied_moved_and_removed(
    run_dag: RunDag, endpoint: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    extra = {"endpoint_url": endpoint, "region_name": "us-east-1"}
    aws = {"conn_type": "aws", "login": "someone", "password": "whatever-it-is", "extra": extra}
    folder = tmp_path_factory.mktemp("storage")
    (folder / "local").mkdir()

    said = run_dag(SOURCE.format(folder=folder), aws=aws)

    assert "read: s3://aws@files/2024-01-05.csv apples,3 8 8" in said
    assert "there: ['s3://aws@files/2024-01-05.csv'] True" in said
    assert "bytes: b'apples'" in said
    assert "signed: True" in said
    assert "moved: apples,3 False" in said
    assert "back: ['back/again.csv', 'copies/2024-01-05.csv']" in said
    assert "gone: False" in said


def test_what_is_not_read_of_a_connection_is_refused(run_dag: RunDag, endpoint: str) -> None:
    aws = {"conn_type": "aws", "extra": {"endpoint_url": endpoint, "role_arn": "r"}}

    said = run_dag(SOURCE.format(folder="/tmp"), ends_well=False, aws=aws)

    assert "does not read 'role_arn' in its extra" in said
