"""Ask a fork server that listens at a socket whether it answers; it forks nothing for that."""

import socket
from pathlib import Path
from typing import Final

from headway.domain.errors import SerializationError
from headway.runtime.forker.records import ForkerError
from headway.runtime.processes.frames import encode_frame, receive_frame

PING: Final = encode_frame({"ping": True})
"""What is said instead of what a supervisor says first."""

PATIENCE: Final = 3.0
"""Seconds that the answer may take."""


def ping(path: Path) -> int:
    """Return how many supervisors the fork server has; ForkerError if it does not answer."""
    with socket.socket(socket.AF_UNIX) as control:
        control.settimeout(PATIENCE)
        try:
            control.connect(str(path))
            control.sendall(PING)
            answer = receive_frame(control)
        except (OSError, SerializationError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise ForkerError(f"does not answer at {path}: {why}") from error
    if answer is None or "pong" not in answer:
        said = "it closes the connection" if answer is None else str(answer.get("failed"))
        raise ForkerError(f"does not answer at {path}: {said}")
    return int(answer["pong"])
