"""SparkSQLOperator, and the operator of @task.sql: run SQL statements on Spark."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, ClassVar, Final, Unpack

from headway.sdk.authoring.operator import BaseOperator
from headway.sdk.authoring.python_operator import call
from headway.sdk.authoring.task_options import TaskOptions
from headway.sdk.authoring.xcom_arg import LATE, XComArg
from headway.sdk.context.templates import render
from headway.sdk.exceptions import AirflowException, AirflowFailException
from headway.sdk.operators.statements import Statement, split
from headway.sdk.running.context import SPARK, Context
from headway.sdk.running.task_runtime import DEFAULT_SPARK
from headway.sdk.values import checks

_SHOWN: Final = 100


class SparkSQLOptions(TaskOptions, total=False):
    """What a SQL task takes besides its text."""

    parameters: Mapping[str, Any] | XComArg | None
    fetch_rows: int
    conn_id: str


class SparkSQLOperator(BaseOperator):
    """Run the statements of `sql`, one after the other, in the attempt's Spark session.

    Text that ends with `.sql` names a template file, which is part of the version.
    `parameters` are what `:name` in a statement stands for.  With `fetch_rows` the rows of the
    last statement are the XCom: dictionaries, and at most that many, for more are an error.
    The connection `conn_id` says where Spark is.
    """

    template_fields: ClassVar[Sequence[str]] = ("sql", "parameters")
    template_ext: Sequence[str] = (".sql",)
    template_fields_renderers: ClassVar[Mapping[str, str]] = {"sql": "sql"}
    operator_name = "spark_sql"
    needs_spark = True

    def __init__(
        self, *, task_id: str, sql: str | XComArg, **options: Unpack[SparkSQLOptions]
    ) -> None:
        given: dict[str, Any] = dict(options)
        self.sql = sql
        self.parameters = given.pop("parameters", None)
        fetch_rows = given.pop("fetch_rows", 0)
        conn_id = given.pop("conn_id", DEFAULT_SPARK)
        super().__init__(task_id, **given)
        self.spark_conn_id = checks.key("connection")(conn_id, f"{self.where}: conn_id")
        self.fetch_rows: int = checks.whole(0)(fetch_rows, f"{self.where}: fetch_rows")
        if not isinstance(sql, LATE):
            checks.text(sql, f"{self.where}: sql")
        if self.parameters is not None and not isinstance(self.parameters, LATE):
            checks.mapping(self.parameters, f"{self.where}: parameters")

    def execute(self, context: Context) -> list[dict[str, Any]] | None:
        """Run the statements; return the rows of the last one, if they were asked for."""
        return self.run(str(self.sql), context)

    def run(self, text: str, context: Context) -> list[dict[str, Any]] | None:
        """Run the statements of a text."""
        statements = split(text)
        if not statements:
            raise AirflowFailException(f"{self.where}: sql holds no statement.")
        frame = None
        for number, statement in enumerate(statements, start=1):
            _announce(statement, number, len(statements))
            frame = context[SPARK].sql(statement.text, args=dict(self.parameters or {}))
            if number < len(statements) or not self.fetch_rows:
                _finish(frame)
        return self._rows(frame) if self.fetch_rows else None

    def _rows(self, frame: Any) -> list[dict[str, Any]]:
        rows = frame.limit(self.fetch_rows + 1).collect()
        if len(rows) > self.fetch_rows:
            raise AirflowFailException(
                f"The last statement gives more than {self.fetch_rows} rows. Have it give fewer, "
                "raise fetch_rows, or write them to a table and leave fetch_rows out."
            )
        return [_as_json(row.asDict(recursive=True)) for row in rows]


class DecoratedSparkSQLOperator(SparkSQLOperator):
    """Call a function, then run the statements that it returns."""

    not_taken = frozenset({"sql"})
    template_fields = ("op_args", "op_kwargs", "parameters")
    template_ext = ()
    operator_name = "spark_sql"

    def __init__(
        self,
        *,
        python_callable: Callable[..., Any],
        op_args: Collection[Any] = (),
        op_kwargs: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(sql="", **options)
        self.python_callable = python_callable
        self.op_args = list(op_args)
        self.op_kwargs = dict(op_kwargs or {})

    def execute(self, context: Context) -> list[dict[str, Any]] | None:
        """Call the function, render what it returns, and run that."""
        text = call(self.python_callable, self.op_args, self.op_kwargs, context)
        if not isinstance(text, str):
            raise AirflowException(
                f"{self.where}: the function must return SQL text, not {checks.shown(text)}."
            )
        return self.run(render(text, context, f"{self.where}: the returned SQL"), context)


def _announce(statement: Statement, number: int, of: int) -> None:
    first = statement.text.partition("\n")[0]
    shown = first if len(first) <= _SHOWN else f"{first[:_SHOWN]} …"
    print(f"[sql] {number} of {of}, line {statement.line}: {shown}", flush=True)  # noqa: T201


def _finish(frame: Any) -> None:
    """Have a query run to its end, for a check such as `SELECT assert_true(…)`; drop its rows.

    A command has run already, and has no columns, or a few rows that are at hand.
    """
    if frame.columns:
        frame.write.format("noop").mode("overwrite").save()


def _as_json(value: Any) -> Any:
    """Return a value of Spark's as JSON has it: dates as ISO text, decimals as exact text."""
    if isinstance(value, Mapping):
        return {str(name): _as_json(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(item) for item in value]
    if isinstance(value, date):  # and with it a datetime
        return value.isoformat()
    return str(value) if isinstance(value, Decimal) else value
