"""`python -m headway.runtime.forker DESCRIPTOR [MODULE …]`, as a supervisor starts it."""

import os
import socket
import sys

from headway.runtime.forker.server import serve


def main(arguments: list[str]) -> None:
    """Serve the supervisor at the other end of the given descriptor, then leave at once."""
    descriptor, *preload = arguments
    serve(socket.socket(fileno=int(descriptor)), preload)
    os._exit(0)  # what the preloaded modules would do at exit is not wanted here


main(sys.argv[1:])
