"""EmptyOperator: a task that does nothing, to hold dependencies together."""

from headway.sdk.context import Context
from headway.sdk.operator import BaseOperator


class EmptyOperator(BaseOperator):
    """Do nothing."""

    operator_name = "empty"

    def execute(self, context: Context) -> None:
        """Do nothing."""
