"""Exceptions that user code raises or sees.  The names are Airflow's."""

from headway.domain.errors import DagError, HeadwayError


class AirflowException(HeadwayError):  # noqa: N818 - known to every author by this name
    """The task has failed; it is tried again while it has retries left."""


class AirflowSkipException(AirflowException):
    """The task ends as skipped."""


class AirflowFailException(AirflowException):
    """The task has failed and is not tried again, whatever retries are left."""


class XComNotFound(AirflowException):
    """Another task of the run left nothing under that key."""


class XComError(HeadwayError):
    """A value cannot be stored as an XCom: it is not JSON, or too large."""


class TemplateError(DagError):
    """A templated field of a task does not render."""
