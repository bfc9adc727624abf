"""How a command ends when something is wrong."""

import sys
from collections.abc import Callable

from headway.cli import stdout
from headway.cli.escaping import visible
from headway.domain.errors import FencedError, HeadwayError


def report(command: Callable[[], object]) -> None:
    """Run a command; an error that a user can act on is one message and exit status 1.

    A service that was declared dead by another process exits with 3, and what Ctrl-C ended
    with 130.
    """
    stdout.guard()
    try:
        try:
            command()
        finally:
            sys.stdout.flush()
    except FencedError as error:
        print(visible(str(error)), file=sys.stderr)
        sys.exit(3)
    except HeadwayError as error:
        print(f"Error: {visible(str(error))}", file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:
        sys.exit(1)
    except KeyboardInterrupt:  # before or after the command itself, which minds its own
        sys.exit(130)
