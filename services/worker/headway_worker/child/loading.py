"""What a DAG file reads of connections and variables while a task or a callback loads it again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from headway.domain.connection import Connection
from headway.domain.variable import SecretKind
from headway.sdk.exceptions import RefusedException
from headway.sdk.running.file_secrets import FileSecrets, SecretSource

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LoadingSecrets:
    """The worker, which goes by the grants of the DAG and of its bundle."""

    worker: SecretSource

    def get_connection(self, conn_id: str) -> Connection | None:
        """Return a connection, None if there is none; RefusedException without a grant."""
        return _told(SecretKind.CONNECTION, conn_id, lambda: self.worker.get_connection(conn_id))

    def get_variable(self, key: str) -> str | None:
        """Return the text of a variable, None if there is none; errors as above."""
        return _told(SecretKind.VARIABLE, key, lambda: self.worker.get_variable(key))


def secrets_of(names: Sequence[str], worker: SecretSource) -> FileSecrets | None:
    """Return what a file may read whose version has read these names; None if it read nothing.

    A file that read nothing when it was parsed is refused here what it was not given there.  Which
    names others read may follow from values that have changed: they may read all that is granted.
    """
    return FileSecrets(LoadingSecrets(worker)) if names else None


def may_have_changed(names: Sequence[str]) -> str:
    """Return what to add to the error of a file that makes something else than its version has."""
    if not names:
        return ""
    read = ", ".join(f"the {name.replace(':', ' ')}" for name in names)
    return (
        f" It reads {read} while it is loaded: a value may have changed since the version was "
        "made. Set it as it was, or give the run the newest version."
    )


def _told(kind: SecretKind, name: str, ask: Callable[[], T]) -> T:
    try:
        return ask()
    except RefusedException as error:
        raise RefusedException(
            f"{error} The DAG file reads it while it is loaded, so a grant to its bundle lets it, "
            f"too: `headway {kind}s grant {name} --bundle NAME`."
        ) from None
