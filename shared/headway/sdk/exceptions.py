"""Exceptions that user code raises or sees.  The names are Airflow's."""

from headway.domain.errors import DagError, HeadwayError, RefusalError


class AirflowException(HeadwayError):  # noqa: N818 - known to every author by this name
    """The task has failed; it is tried again while it has retries left."""


class AirflowSkipException(AirflowException):
    """The task ends as skipped."""


class AirflowFailException(AirflowException):
    """The task has failed and is not tried again, whatever retries are left."""


class AirflowTaskTimeout(AirflowException, TimeoutError):  # noqa: N818
    """The task ran longer than its execution_timeout, and was stopped."""


class AirflowTaskTerminated(AirflowException):
    """The task's process ended before the task was done: it left, or was killed."""


class RefusedException(AirflowException, RefusalError):  # noqa: N818
    """Headway refuses what the task asks for; the task is not tried again."""


class AirflowNotFoundException(RefusedException):
    """There is no connection or variable of that name."""


class XComNotFound(RefusedException):
    """Another task of the run left nothing under that key."""


class XComError(HeadwayError):
    """A value cannot be an XCom, or a stored one cannot be turned back into what it was."""


class StateStoreError(HeadwayError, ValueError):
    """A key, a value or a retention that task_state_store does not take."""


class TemplateError(DagError):
    """A templated field of a task does not render."""
