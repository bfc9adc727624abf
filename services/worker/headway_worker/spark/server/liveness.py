"""Whether a Connect server answers, and how much memory it has: asked without pyspark."""

import socket
from pathlib import Path
from typing import Final

# The greeting of an HTTP/2 client, and its settings, which are none (RFC 9113, section 3.4).
_GREETING: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
_HEADER_BYTES: Final = 9
_SETTINGS: Final = 4
"""The type of the frame that a server must send first."""


def answers(port: int, seconds: float) -> bool:
    """Return whether the gRPC server on that port of this machine greets within so many seconds.

    A JVM that was stopped, or does nothing but collect garbage, accepts and stays silent.
    """
    try:
        with socket.create_connection(("127.0.0.1", port), seconds) as connection:
            connection.settimeout(seconds)
            connection.sendall(_GREETING)
            header = connection.recv(_HEADER_BYTES, socket.MSG_WAITALL)
    except OSError:
        return False
    return len(header) == _HEADER_BYTES and header[3] == _SETTINGS


def resident_bytes(pid: int) -> int:
    """Return how much memory a process has; 0 when it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    kilobytes = [line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:")]
    return int(kilobytes[0]) * 1024 if kilobytes else 0
