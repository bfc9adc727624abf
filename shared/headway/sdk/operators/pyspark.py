"""PysparkOperator: call a function that works with a Spark session."""

from collections.abc import Callable
from typing import Any, Final

from headway.domain.errors import DagError
from headway.sdk.authoring.python_operator import PythonOperator
from headway.sdk.running.context import SPARK, Context
from headway.sdk.running.task_runtime import DEFAULT_SPARK
from headway.sdk.values import checks
from headway.sdk.values.signatures import takes

DRIVER: Final = "driver"


class PysparkOperator(PythonOperator):
    """Call a function with the attempt's own Spark session in the context.

    A parameter named `spark` receives it; `get_current_context()["spark"]` returns it.
    The connection `conn_id` says where that Spark is.  With `mode="driver"`, and on a cluster,
    it is the classic session of a driver of the attempt's own, which ends with it.
    """

    operator_name = "pyspark"
    needs_spark = True

    def __init__(
        self,
        *,
        python_callable: Callable[..., Any],
        task_id: str,
        conn_id: str = DEFAULT_SPARK,
        mode: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(python_callable=python_callable, task_id=task_id, **options)
        self._check_spark()
        self.spark_conn_id = checks.key("connection")(conn_id, f"{self.where}: conn_id")
        if mode not in (None, DRIVER):
            checks.refuse(f"{self.where}: mode", f"{DRIVER!r}, or left out", mode)
        self.spark_driver = mode == DRIVER

    def _check_spark(self) -> None:
        """Refuse an argument that binds to the parameter `spark`."""
        taken = takes(self.python_callable)
        by_position = taken.positional[: len(self.op_args)] if taken else ()
        if SPARK in self.op_kwargs or SPARK in by_position:
            name = getattr(self.python_callable, "__name__", self.task_id)
            raise DagError(
                f"{self.where}: an argument binds to the parameter {SPARK!r}, which Headway fills; "
                f"give arguments by name, as in {name}(rows=…)."
            )

    def execute(self, context: Context) -> Any:
        """Open the session, then call the function."""
        context[SPARK]  # opened here, so that `**context` holds it too
        return super().execute(context)
