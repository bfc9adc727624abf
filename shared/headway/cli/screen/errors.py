"""How a command ends, and by which exit status: docs/commands.md tells people of them."""

import sys
from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Final

from headway.cli.screen import stdout
from headway.cli.screen.hints import told
from headway.domain.errors import (
    ArchiveError,
    ClusterError,
    ConflictError,
    DatabaseError,
    FencedError,
    HeadwayError,
    LogsError,
    NotFoundError,
    RefusalError,
    SettingsError,
)
from headway.runtime.logs.escaping import visible


class ExitStatus(IntEnum):
    """What the exit status of each command says."""

    DONE = 0
    FAILED = 1
    """What was asked about is not well, or the command failed by an error without its own."""
    USAGE = 2
    """An argument, an option or a setting is wrong."""
    FENCED = 3
    """This process was declared dead by another one."""
    NOT_FOUND = 4
    """What was named does not exist."""
    REFUSED = 5
    """What was asked for contradicts what is there, or nobody agreed to it."""
    AWAY = 6
    """The database, the cluster, the place of logs or the archive does not answer, or refuses."""
    INTERRUPTED = 130
    """Ctrl-C."""


_OF_ERRORS: Final[Mapping[type[HeadwayError], ExitStatus]] = {
    FencedError: ExitStatus.FENCED,
    SettingsError: ExitStatus.USAGE,
    NotFoundError: ExitStatus.NOT_FOUND,
    ConflictError: ExitStatus.REFUSED,
    RefusalError: ExitStatus.REFUSED,
    DatabaseError: ExitStatus.AWAY,
    ClusterError: ExitStatus.AWAY,
    LogsError: ExitStatus.AWAY,
    ArchiveError: ExitStatus.AWAY,
}


def status_of(error: HeadwayError) -> ExitStatus:
    """Return the exit status of a command that ends by this error."""
    found = (status for kind, status in _OF_ERRORS.items() if isinstance(error, kind))
    return next(found, ExitStatus.FAILED)


def message(error: HeadwayError) -> str:
    """Return what a person is told of an error: what is wrong, and what to do about it."""
    said = str(error) if isinstance(error, FencedError) else f"Error: {error}"
    return said if error.hint is None else f"{said} {told(error.hint)}"


def report(command: Callable[[], object]) -> None:
    """Run a command; an error that a user can act on is one message and its exit status."""
    stdout.guard()
    try:
        try:
            command()
        finally:
            sys.stdout.flush()
    except HeadwayError as error:
        print(visible(message(error)), file=sys.stderr)
        sys.exit(status_of(error))
    except BrokenPipeError:
        sys.exit(ExitStatus.FAILED)
    except KeyboardInterrupt:  # before or after the command itself, which minds its own
        sys.exit(ExitStatus.INTERRUPTED)
