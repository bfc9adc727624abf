"""What goes wrong between a task and Spark."""

from signal import SIGKILL, Signals
from typing import Final

from headway.sdk.exceptions import AirflowException

_OUT_OF_MEMORY: Final = 52
"""With this code a driver ends that Spark itself has seen without memory."""


class SparkError(AirflowException):
    """Spark cannot be reached, was lost, or its application failed; a retry may help."""


_HEAP: Final = "java.lang.OutOfMemoryError"

OF_THE_TASK: Final = "driver_memory of the task, or spark.driver.memory in its conf"
OF_THE_CONNECTION: Final = "spark.driver.memory in the conf of the Spark connection"
OF_THE_WORKER: Final = "HEADWAY_WORKER_SPARK_DRIVER_MEMORY of the worker"


def for_memory(setting: str, code: int, said: str = "") -> str:
    """Return a sentence on the setting of a driver's memory, if that may have run out; else ""."""
    if code in (_OUT_OF_MEMORY, -SIGKILL) or _HEAP in said:
        return f" The setting of its memory is {setting}."
    return ""


def how_it_ended(code: int) -> str:
    """Return what the exit code of a driver, as Popen has it, tells of its end: a verb's phrase."""
    if code == -SIGKILL:
        return "was killed by SIGKILL (it may have run out of memory)"
    if code < 0:
        return f"was killed by {Signals(-code).name}"
    if code == _OUT_OF_MEMORY:
        return f"ran out of memory, and exited with {code}"
    return f"exited with {code}"
