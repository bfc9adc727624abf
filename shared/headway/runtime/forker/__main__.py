"""`python -m headway.runtime.forker children|services DESCRIPTOR [MODULE …]`."""

import importlib
import os
import socket
import sys


def serve_children(control: socket.socket, modules: list[str]) -> None:
    """Fork children below nannies until the supervisor is gone, then leave at once."""
    from headway.runtime.forker import nannies

    nannies.serve(control, modules)
    os._exit(0)  # what the preloaded modules would do at exit is not wanted here


def serve_services(control: socket.socket, modules: list[str]) -> None:
    """Fork services until the launcher is gone; in each of them, run it."""
    from headway.runtime.forker import services

    order = services.serve(control, modules)
    if order is None:
        return
    module, _, function = order.call.partition(":")
    sys.argv[:] = ["headway", *order.arguments]
    getattr(importlib.import_module(module), function)()


def main(kind: str, descriptor: str, *modules: str) -> None:
    """Serve who is at the other end of the descriptor."""
    serve = {"children": serve_children, "services": serve_services}[kind]
    serve(socket.socket(fileno=int(descriptor)), list(modules))


main(*sys.argv[1:])
