"""PysparkOperator: call a function that works with a Spark session."""

from typing import Any

from headway.sdk.context import SPARK, Context
from headway.sdk.operators.python import PythonOperator


class PysparkOperator(PythonOperator):
    """Call a function with the attempt's own Spark session in the context.

    A parameter named `spark` receives it; `get_current_context()["spark"]` returns it.
    """

    operator_name = "pyspark"
    needs_spark = True

    def execute(self, context: Context) -> Any:
        """Open the session, then call the function."""
        context[SPARK]  # opened here, so that `**context` holds it too
        return super().execute(context)
