"""The one tree of errors.

A message says what is wrong, with which object, and why.  What to do about it stands in the
message in words, or in a hint as data.  Each class has a code for programs (docs/errors.md).
"""

from typing import ClassVar

from headway.domain.hints import Hint


def brief(value: object, most: int = 60) -> str:
    """Return a value as a message quotes it: so many characters of its repr."""
    try:
        return f"{value!r:.{most}}"
    except ValueError:  # Python writes no number of more than some thousands of digits
        return f"a number of {type(value).__name__} with thousands of digits"


class HeadwayError(Exception):
    """Anything that a user can act on; the command line shows its text and its hint alone."""

    code: ClassVar[str] = "error"
    hint: Hint | None = None

    def __init__(self, *args: object, hint: Hint | None = None) -> None:
        super().__init__(*args)
        if hint is not None:
            self.hint = hint


class RefusalError(HeadwayError):
    """What was asked for is refused, and is refused again until a user changes something.

    A task that fails by it is not tried again.
    """

    code = "refused"


class RequestError(RefusalError):
    """A parameter of what was asked for is missing, malformed, or contradicts another one."""

    code = "invalid_request"


class DagError(RefusalError):
    """A DAG, or one of its tasks, cannot be accepted as it was written."""

    code = "invalid_dag"


class TimetableError(DagError):
    """A schedule cannot be understood."""

    code = "invalid_timetable"


class SerializationError(HeadwayError):
    """Bytes that claim to be a serialized DAG are not, or are of another format version."""

    code = "unreadable_version"


class SettingsError(HeadwayError):
    """A setting is missing, malformed, or contradicts another one."""

    code = "invalid_setting"


class DatabaseError(HeadwayError):
    """The database is absent, not migrated, or of another schema version."""

    code = "database_unusable"


class NewerSchemaError(DatabaseError):
    """The database was migrated by a newer release; this one will not get along with it."""

    code = "schema_too_new"


class NotAllowedError(DatabaseError):
    """The database account may not do what was asked for."""

    code = "not_allowed"


class ReplicaError(DatabaseError):
    """The database is a read-only replica; during a fail-over that passes."""

    code = "read_only_replica"


class ClusterError(HeadwayError):
    """kubectl is absent, or fails, or its cluster does not answer as expected."""

    code = "cluster_unusable"


class EmbeddedError(HeadwayError):
    """An embedded component (Postgres, Java) cannot be found or started."""

    code = "embedded_unusable"


class OutputError(HeadwayError):
    """What a command prints cannot be written, as on a full disk."""

    code = "output_failed"


class SecretError(HeadwayError):
    """A connection, a variable or a key is malformed, or cannot be read; no secret is quoted."""

    code = "invalid_secret"


class SecretRefusedError(SecretError, RefusalError):
    """A connection or a variable may not be read, or does not say what it must."""

    code = "secret_refused"


class LogsError(HeadwayError):
    """The place where logs are cannot be read; that may pass."""

    code = "logs_unavailable"


class ArchiveError(HeadwayError):
    """The place of an archive cannot be written or read; that may pass."""

    code = "archive_unavailable"


class FencedError(HeadwayError):
    """This process was declared dead; whatever it holds belongs to another one now."""

    code = "fenced"


class NotFoundError(HeadwayError):
    """Something that was named does not exist."""

    code = "not_found"


class DagNotFoundError(NotFoundError):
    """There is no DAG of that id, or no DAG file defines it any more."""

    code = "dag_not_found"


class RunNotFoundError(NotFoundError):
    """The DAG has no run of that id, or it was deleted just now."""

    code = "run_not_found"


class TaskNotFoundError(NotFoundError):
    """The run has no such task, or the task no such instance."""

    code = "task_not_found"


class AttemptNotFoundError(NotFoundError):
    """The task instance has no attempt of that number that has started."""

    code = "attempt_not_found"


class LogNotFoundError(NotFoundError):
    """The log is neither on this machine nor where logs are copied to."""

    code = "log_not_found"


class VersionNotFoundError(NotFoundError):
    """The DAG has no version of that number, or the version no such file."""

    code = "version_not_found"


class BackfillNotFoundError(NotFoundError):
    """There is no backfill of that number, or none of its runs is left."""

    code = "backfill_not_found"


class CallbackNotFoundError(NotFoundError):
    """There is no callback of that number."""

    code = "callback_not_found"


class NotificationNotFoundError(NotFoundError):
    """There is no notification of that number."""

    code = "notification_not_found"


class PoolNotFoundError(NotFoundError):
    """There is no pool of that name."""

    code = "pool_not_found"


class BundleNotFoundError(NotFoundError):
    """There is no bundle of that name."""

    code = "bundle_not_found"


class WorkerNotFoundError(NotFoundError):
    """No worker of that number is running."""

    code = "worker_not_found"


class AccountNotFoundError(NotFoundError):
    """There is no account of that name."""

    code = "account_not_found"


class TokenNotFoundError(NotFoundError):
    """There is no token of that number in force."""

    code = "token_not_found"


class SecretNotFoundError(NotFoundError):
    """There is no connection or variable of that name, or it is not granted to that DAG."""

    code = "secret_not_found"


class ConflictError(HeadwayError):
    """What was asked for contradicts what is there."""

    code = "conflict"


class AlreadyExistsError(ConflictError):
    """Something of that name is there already."""

    code = "already_exists"


class AlreadyEndedError(ConflictError):
    """What was to be changed has ended, or there is nothing left to do for it."""

    code = "already_ended"


class StillActiveError(ConflictError):
    """What was to be removed or replaced is still in use."""

    code = "still_active"


class NotConfirmedError(ConflictError):
    """Nobody agreed to what was asked for."""

    code = "not_confirmed"
