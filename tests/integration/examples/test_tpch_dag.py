"""The example TPC-H at a small scale: its data, its queries on Spark Connect, and its checks."""

import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tpch import answers, source

from headway.domain.arguments import JsonValue
from headway.domain.interval import DataInterval
from headway.domain.states import Outcome
from headway.embedded.java import find_java_home
from headway.sdk.authoring.definition import DAG
from headway.sdk.harness.execution import Result, execute
from headway.sdk.harness.loading import load_dag_file
from headway.sdk.harness.specification import to_spec
from headway.sdk.running.facts import RunFacts
from headway.sdk.running.task_runtime import LocalRuntime, XComs
from headway.testing.processes.environment import path_and_home
from headway_worker.spark.server.connect_server import ConnectServer, ServerSettings

pytestmark = pytest.mark.long

DAGS = Path(__file__).parents[3] / "examples" / "tpch" / "dags"
SCALE = 0.01
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def dag() -> DAG:
    (dag,) = load_dag_file(DAGS / "tpch_queries.py", DAGS)
    return dag


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    pytest.importorskip("pyspark.sql.connect.session")
    from headway_worker.spark.session.session import close_session, open_session

    scratch = tmp_path_factory.mktemp("connect")
    server = ConnectServer.start(
        ServerSettings(
            java_home=find_java_home(None, os.environ, scratch),
            scratch=scratch / "spark",
            environment=path_and_home(),
            java_options=("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
        )
    )
    session = open_session(server.wait_ready(120), "tpch", lambda _handle: None)
    yield session
    close_session(session)
    server.stop()


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An output folder with the data of a small scale."""
    folder = tmp_path_factory.mktemp("tpch")
    source.generate(folder / f"sf{SCALE}", SCALE)
    return folder


def run(dag: DAG, task_id: str, root: Path, xcoms: XComs, spark: Any = None) -> Result:
    facts = RunFacts(
        dag_id="tpch",
        run_id="test",
        task_id=task_id,
        data_interval=DataInterval.exact(NOW),
        conf={"scale": SCALE, "output": str(root)},
    )
    runtime = LocalRuntime(task_id, xcoms, open_spark=lambda _conn_id: spark)
    return execute(dag.get_task(task_id), facts, runtime)


def test_the_queries_are_part_of_the_version(dag: DAG) -> None:
    files = to_spec(dag, "tpch_queries.py").files

    assert set(files) == {f"queries/{query}.sql" for query in answers.AT_SCALE_1}


def test_the_data_are_made_once(root: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(root / f"sf{SCALE}", tmp_path / "sf"))
    before = {file.name: file.stat().st_mtime_ns for file in folder.iterdir()}

    source.generate(folder, SCALE)

    assert {file.name: file.stat().st_mtime_ns for file in folder.iterdir()} == before
    assert set(before) == {f"{table}.parquet" for table in source.TABLES}
    assert [each.name for each in tmp_path.iterdir()] == ["sf"]


@pytest.mark.spark
def test_every_query_gives_what_it_must(dag: DAG, root: Path, spark: Any) -> None:
    xcoms: XComs = {}

    outcomes = {task.task_id: run(dag, task.task_id, root, xcoms, spark) for task in dag.tasks}

    errors = {name: result.error for name, result in outcomes.items() if result.error}
    assert (errors, len(outcomes)) == ({}, 11)
    assert xcoms["check_q01", "return_value"] == 4
    assert xcoms["check_q03", "return_value"] == 10


@pytest.mark.parametrize("query", sorted(answers.AT_SCALE_1))
def test_a_wrong_result_fails_its_check(dag: DAG, root: Path, query: str) -> None:
    """The answers of scale 1 are wrong for any other."""
    given: list[JsonValue] = [*answers.AT_SCALE_1[query]]
    xcoms: XComs = {(query, "return_value"): given}

    result = run(dag, f"check_{query[:3]}", root, xcoms)

    assert (result.outcome, result.may_retry) == (Outcome.FAILED, False)
    assert f"{query}: row 1:" in str(result.error)
