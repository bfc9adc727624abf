"""SparkSQLOperator and @task.sql, on a session that keeps what it is asked."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Self

import pytest

from headway.domain.errors import DagError
from headway.domain.states import Outcome
from headway.sdk import DAG, SparkSQLOperator, task
from headway.sdk.harness.execution import Result
from headway.sdk.harness.loading import load_dag_file
from headway.sdk.harness.specification import to_spec
from headway.sdk.running.task_runtime import XComs

Run = Callable[..., Result]


@dataclass
class FakeRow:
    values: dict[str, Any]

    def asDict(self, *, recursive: bool) -> dict[str, Any]:  # noqa: N802 - Spark's name
        assert recursive
        return self.values


@dataclass
class FakeSpark:
    """A session, its frames and their writers in one; every query has the same rows."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    columns: tuple[str, ...] = ("n",)
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    finished: list[str] = field(default_factory=list)
    most: int | None = None

    @property
    def write(self) -> Self:
        return self

    def sql(self, text: str, args: dict[str, Any]) -> Self:
        self.asked.append((text, args))
        return self

    def limit(self, rows: int) -> Self:
        self.most = rows
        return self

    def collect(self) -> list[FakeRow]:
        return [FakeRow(row) for row in self.rows[: self.most]]

    def format(self, name: str) -> Self:
        assert name == "noop"
        return self

    def mode(self, name: str) -> Self:
        return self

    def save(self) -> None:
        self.finished.append(self.asked[-1][0])


@pytest.fixture
def spark() -> FakeSpark:
    return FakeSpark()


def test_each_statement_runs_with_its_templates_and_parameters(
    dag: DAG, run: Run, spark: FakeSpark, xcoms: XComs, capsys: pytest.CaptureFixture[str]
) -> None:
    operator = SparkSQLOperator(
        task_id="sql",
        sql="USE flights;\nSELECT * FROM t WHERE day = '{{ ds }}' AND carrier = :carrier",
        parameters={"carrier": "{{ params.carrier }}"},
    )

    assert run(operator, open_spark=lambda _conn_id: spark).outcome is Outcome.SUCCESS
    query = "SELECT * FROM t WHERE day = '2013-01-01' AND carrier = :carrier"
    assert spark.asked == [("USE flights", {"carrier": "UA"}), (query, {"carrier": "UA"})]
    assert spark.finished == ["USE flights", query]
    assert "[sql] 2 of 2, line 2: SELECT * FROM t" in capsys.readouterr().out
    assert xcoms == {}
    assert operator.spec.needs_spark


def test_a_command_without_columns_has_run_already(dag: DAG, run: Run, spark: FakeSpark) -> None:
    spark.columns = ()
    operator = SparkSQLOperator(task_id="sql", sql="INSERT INTO t VALUES (1)")

    assert run(operator, open_spark=lambda _conn_id: spark).outcome is Outcome.SUCCESS
    assert spark.finished == []


def test_the_rows_of_the_last_statement_become_the_xcom(
    dag: DAG, run: Run, spark: FakeSpark, xcoms: XComs
) -> None:
    moment = datetime(2013, 1, 1, 5, tzinfo=UTC)
    spark.rows = [
        {"day": date(2013, 1, 1), "sum": Decimal("1.50"), "at": moment, "all": [{"n": 1.5}]}
    ]
    operator = SparkSQLOperator(task_id="sql", sql="SELECT 1; SELECT 2", fetch_rows=1)

    assert run(operator, open_spark=lambda _conn_id: spark).outcome is Outcome.SUCCESS
    assert spark.finished == ["SELECT 1"]
    assert xcoms["sql", "return_value"] == [
        {"day": "2013-01-01", "sum": "1.50", "at": "2013-01-01T05:00:00+00:00", "all": [{"n": 1.5}]}
    ]


def test_more_rows_than_asked_for_are_an_error(dag: DAG, run: Run, spark: FakeSpark) -> None:
    spark.rows = [{"n": 1}, {"n": 2}, {"n": 3}]
    operator = SparkSQLOperator(task_id="sql", sql="SELECT 1", fetch_rows=2)

    result = run(operator, open_spark=lambda _conn_id: spark)

    assert (result.outcome, result.may_retry) == (Outcome.FAILED, False)
    assert "gives more than 2 rows" in str(result.error)
    assert spark.most == 3


def test_text_of_nothing_but_comments_fails(dag: DAG, run: Run, spark: FakeSpark) -> None:
    result = run(SparkSQLOperator(task_id="sql", sql="-- none"), open_spark=lambda _conn_id: spark)

    assert "sql holds no statement" in str(result.error)


def test_a_function_returns_the_statements(
    dag: DAG, run: Run, spark: FakeSpark, xcoms: XComs
) -> None:
    @task.sql(parameters={"least": 3}, fetch_rows=5)
    def late(table: str, ds: str = "") -> str:
        return f"SELECT * FROM {table} WHERE day = '{ds}' AND delay > :least -- {{{{ run_id }}}}"

    assert run(late("flights"), open_spark=lambda _conn_id: spark).outcome is Outcome.SUCCESS
    text = "SELECT * FROM flights WHERE day = '2013-01-01' AND delay > :least"
    assert spark.asked == [(f"{text} -- scheduled__2013-01-01", {"least": 3})]
    assert xcoms["late", "return_value"] == []


def test_a_function_that_returns_no_text_fails(dag: DAG, run: Run, spark: FakeSpark) -> None:
    @task.sql
    def nothing() -> Any: ...

    assert "must return SQL text, not None" in str(
        run(nothing(), open_spark=lambda _conn_id: spark).error
    )


DAG_FILE = """
from headway.sdk import DAG, SparkSQLOperator
with DAG("reports"):
    SparkSQLOperator(task_id="report", sql="{name}")
"""


def test_a_file_beside_the_dag_file_is_rendered_and_part_of_the_version(
    tmp_path: Path, run: Run, spark: FakeSpark
) -> None:
    (tmp_path / "sql").mkdir()
    (tmp_path / "sql" / "report.sql").write_text("SELECT 1;\nSELECT '{{ ds }}'\n")
    (tmp_path / "reports.py").write_text(DAG_FILE.format(name="sql/report.sql"))
    (dag,) = load_dag_file(tmp_path / "reports.py", tmp_path)

    assert to_spec(dag, "reports.py").files == ("sql/report.sql",)
    assert run(dag.get_task("report"), open_spark=lambda _conn_id: spark).outcome is Outcome.SUCCESS
    assert [text for text, _ in spark.asked] == ["SELECT 1", "SELECT '2013-01-01'"]


def test_a_file_that_is_missing_is_told_when_the_dag_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "reports.py").write_text(DAG_FILE.format(name="missing.sql"))
    (dag,) = load_dag_file(tmp_path / "reports.py", tmp_path)

    with pytest.raises(DagError, match=r"sql names the file 'missing.sql', and there is none"):
        to_spec(dag, "reports.py")


def test_the_connection_says_where_it_runs(dag: DAG, run: Run, spark: FakeSpark) -> None:
    asked: list[str] = []

    def open_spark(conn_id: str) -> FakeSpark:
        asked.append(conn_id)
        return spark

    run(SparkSQLOperator(task_id="sql", sql="SELECT 1", conn_id="lake"), open_spark=open_spark)

    assert asked == ["lake"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sql": 1}, "sql must be a string"),
        ({"sql": "SELECT 1", "parameters": ["a"]}, "parameters must be a dictionary"),
        ({"sql": "SELECT 1", "fetch_rows": -1}, "fetch_rows must be a whole number from 0"),
        ({"sql": "SELECT 1", "fetch_rows": True}, "fetch_rows must be a whole number from 0"),
    ],
)
def test_arguments_are_checked(dag: DAG, options: dict[str, Any], message: str) -> None:
    with pytest.raises(DagError, match=message):
        SparkSQLOperator(task_id="sql", **options)
