"""The TCP port of the embedded server, on this machine's own address only."""

import socket
from pathlib import Path
from typing import Final

from headway.domain.errors import EmbeddedError

HOST: Final = "127.0.0.1"


def choose_port(remembered: Path, wanted: int | None) -> int:
    """Return `wanted` or fail; without it, the remembered port, or another if that is taken."""
    if wanted is not None:
        try:
            return _bind(wanted)
        except (OSError, OverflowError) as error:
            raise EmbeddedError(
                f"Postgres cannot have port {wanted} on {HOST}: {error}. Stop what uses it, "
                "name another port, or name none."
            ) from error
    try:
        return _bind(int(remembered.read_text("ascii")))
    except (OSError, OverflowError, ValueError):
        port = _bind(0)
    remembered.write_text(f"{port}\n", "ascii")
    return port


def _bind(port: int) -> int:
    """Return `port` if a server can have it now, any free one for 0; else OSError."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((HOST, port))
        return int(probe.getsockname()[1])
