"""`python -m headway.runtime.stem DESCRIPTOR [MODULE …]`, as a launcher starts it."""

import importlib
import socket
import sys

from headway.runtime.stem.server import serve


def main(descriptor: str, *modules: str) -> None:
    """Fork programs until the launcher is gone; in each of them, run it."""
    order = serve(socket.socket(fileno=int(descriptor)), modules)
    if order is None:
        return
    module, _, function = order.call.partition(":")
    sys.argv[:] = ["headway", *order.arguments]
    getattr(importlib.import_module(module), function)()


main(*sys.argv[1:])
