"""EmptyOperator: a task that does nothing, to hold dependencies together."""

from headway.sdk.authoring.operator import BaseOperator
from headway.sdk.running.context import Context


class EmptyOperator(BaseOperator):
    """Do nothing."""

    operator_name = "empty"

    def execute(self, context: Context) -> None:
        """Do nothing."""
