"""Exceptions and warnings of Airflow: those that Headway raises, and those that others raise."""

from headway.domain.errors import DagError, TimetableError
from headway.sdk.exceptions import (
    AirflowException,
    AirflowFailException,
    AirflowNotFoundException,
    AirflowSkipException,
    AirflowTaskTerminated,
    AirflowTaskTimeout,
    XComNotFound,
)

__all__ = [
    "AirflowException",
    "AirflowFailException",
    "AirflowNotFoundException",
    "AirflowSkipException",
    "AirflowTaskTerminated",
    "AirflowTaskTimeout",
    "XComNotFound",
]

AirflowDagCycleException = DuplicateTaskIdFound = ParamValidationError = DagError
TaskNotFound = TaskInstanceNotFound = AirflowClusterPolicyViolation = DagError
AirflowTimetableInvalid = TimetableError


class AirflowSensorTimeout(AirflowException):
    """A sensor has waited for too long."""


class AirflowConfigException(AirflowException):
    """There is no such option of the configuration."""


class AirflowBadRequest(AirflowException):
    """Another service refuses a request."""


class AirflowRuntimeError(AirflowException):
    """Something is wrong while the task runs."""


class AirflowInternalRuntimeError(AirflowException):
    """Something is wrong that the task has no part in."""


class AirflowOptionalProviderFeatureException(AirflowException):
    """A provider lacks what a feature of it needs."""


class DagNotFound(AirflowException):
    """There is no such DAG."""


class DagRunNotFound(AirflowException):
    """There is no such DAG run."""


class DagRunAlreadyExists(AirflowException):
    """There is a DAG run of that id or date already."""


class AirflowProviderDeprecationWarning(DeprecationWarning):
    """A provider will drop what is used."""


class RemovedInAirflow3Warning(DeprecationWarning):
    """Airflow 3 has dropped what is used."""


class RemovedInAirflow4Warning(DeprecationWarning):
    """Airflow 4 will drop what is used."""


class ExternalDagNotFoundError(AirflowException):
    """A DAG elsewhere is not there."""


class ExternalTaskNotFoundError(AirflowException):
    """A task elsewhere is not there."""


class ExternalTaskGroupNotFoundError(AirflowException):
    """A group of tasks elsewhere is not there."""


class ExternalDagDeletedError(AirflowException):
    """A DAG elsewhere is there no longer."""


class ExternalDagFailedError(AirflowException):
    """A DAG elsewhere has failed."""


class ExternalTaskFailedError(AirflowException):
    """A task elsewhere has failed."""


class ExternalTaskGroupFailedError(AirflowException):
    """A group of tasks elsewhere has failed."""


class DuplicateStateError(AirflowException):
    """A state is both one to wait for and one to fail by."""
