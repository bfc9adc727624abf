"""What goes wrong between a task and Spark."""

from headway.sdk.exceptions import AirflowException


class SparkError(AirflowException):
    """Spark cannot be reached, was lost, or its application failed; a retry may help."""
