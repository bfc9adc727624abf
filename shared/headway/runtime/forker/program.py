"""A child that is another program: it has a nanny, as any child has."""

import os
import socket
import sys
from collections.abc import Mapping
from typing import Any


def become(argument: Mapping[str, Any], channel: socket.socket) -> None:
    """Become the program of `command`, with this `environment` and no other; a child's target."""
    channel.close()
    command = argument["command"]
    try:
        os.execvpe(command[0], command, argument["environment"])  # noqa: S606
    except OSError as error:
        sys.exit(f"Cannot run {command[0]}: {error.strerror}.")
