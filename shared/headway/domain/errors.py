"""The one tree of errors.  Every message says what is wrong and what to do about it."""


def brief(value: object, most: int = 60) -> str:
    """Return a value as a message quotes it: so many characters of its repr."""
    try:
        return f"{value!r:.{most}}"
    except ValueError:  # Python writes no number of more than some thousands of digits
        return f"a number of {type(value).__name__} with thousands of digits"


class HeadwayError(Exception):
    """Anything that a user can act on; the command line shows its text alone."""


class RefusalError(HeadwayError):
    """What was asked for is refused, and is refused again until a user changes something.

    A task that fails by it is not tried again.
    """


class DagError(RefusalError):
    """A DAG, or one of its tasks, cannot be accepted as it was written."""


class TimetableError(DagError):
    """A schedule cannot be understood."""


class SerializationError(HeadwayError):
    """Bytes that claim to be a serialized DAG are not, or are of another format version."""


class SettingsError(HeadwayError):
    """A setting is missing, malformed, or contradicts another one."""


class DatabaseError(HeadwayError):
    """The database is absent, not migrated, or of another schema version."""


class NewerSchemaError(DatabaseError):
    """The database was migrated by a newer release; this one will not get along with it."""


class ReplicaError(DatabaseError):
    """The database is a read-only replica; during a fail-over that passes."""


class ClusterError(HeadwayError):
    """kubectl is absent, or fails, or its cluster does not answer as expected."""


class EmbeddedError(HeadwayError):
    """An embedded component (Postgres, Java) cannot be found or started."""


class OutputError(HeadwayError):
    """What a command prints cannot be written, as on a full disk."""


class NotFoundError(HeadwayError):
    """A DAG, run, task or pool that was named does not exist."""


class SecretError(HeadwayError):
    """A connection, a variable or a key is malformed, or cannot be read; no secret is quoted."""


class SecretRefusedError(SecretError, RefusalError):
    """A connection or a variable may not be read, or does not say what it must."""


class LogsError(HeadwayError):
    """The place where logs are cannot be read; that may pass."""


class ArchiveError(HeadwayError):
    """The place of an archive cannot be written or read; that may pass."""


class ConflictError(HeadwayError):
    """What was asked for contradicts what is there."""


class FencedError(HeadwayError):
    """This process was declared dead; whatever it holds belongs to another one now."""
