"""Start the fork server of a bundle, below the parser's own, and wait for its imports."""

import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Final

from headway.domain.errors import HeadwayError, SerializationError
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.forker import Child, ChildLimits, ChildSpec, Exit, Forker, ForkerError, Layer
from headway.runtime.processes.frames import Frame, receive_frame

SERVE: Final = "headway_parser.child.bundle_forker:serve"
"""What the child does, by its name: nothing of that is imported into the parser itself."""

LOOK_SECONDS: Final = 5.0
"""How often a nanny counts the processes of a bundle's fork server, which may live for hours."""

WITHOUT: Final = frozenset(Layer) - {Layer.LANDLOCK}
"""Layers that its children do not enter anew, as they have them from it.  Of rules for files each
has its own besides: it may write in its own folder alone."""

_MOST_PRINTED: Final = 1_000

_END_SECONDS: Final = 5.0
_CLOCK: Final = SystemClock()


class PreloadError(HeadwayError):
    """A bundle's fork server cannot be had; `module` is the one that it was importing, if any."""

    code = "preload"

    def __init__(self, why: str, module: str | None = None) -> None:
        super().__init__(why)
        self.module = module


def server_of(root: Path, modules: Sequence[str], parse: ChildSpec, at_a_time: int) -> ChildSpec:
    """Return what a child is to do that forks so many children like `parse`, of one bundle."""
    assert parse.sandbox is not None
    each = parse.sandbox.processes
    return replace(
        parse,
        target=SERVE,
        argument={
            "root": str(root),
            "modules": list(modules),
            "airflow_layer": parse.argument["airflow_layer"],
        },
        limits=replace(parse.limits, look_seconds=LOOK_SECONDS),
        sandbox=replace(parse.sandbox, processes=each * (1 + at_a_time)),
    )


def below_server(parse: ChildSpec) -> ChildSpec:
    """Return a child that parses a file, below a bundle's fork server: that stands back already."""
    return replace(parse, limits=replace(parse.limits, niceness=ChildLimits().niceness))


def start_bundle_forker(
    forker: Forker, server: ChildSpec, parse: ChildSpec, seconds: float
) -> Forker:
    """Start a fork server of a bundle, for children like `parse`; wait so long for its imports.

    PreloadError when it does not serve, or when this machine lacks what it needs, such as a place
    for a file.
    """
    try:
        with tempfile.TemporaryFile() as output:
            child = forker.spawn(server, output.fileno())
            try:
                _await_imports(child, seconds)
            except PreloadError as error:
                child.close()
                raise PreloadError(f"{error}{_printed(output)}", error.module) from error
        return Forker.within(child, seconds, sandbox=parse.sandbox, without=WITHOUT)
    except (OSError, ForkerError) as error:
        raise PreloadError(str(error)) from error


def _await_imports(child: Child, seconds: float) -> None:
    """Return when all is imported; raise PreloadError otherwise."""
    deadline, module = _CLOCK.monotonic() + seconds, None
    try:
        while True:
            child.channel.settimeout(max(deadline - _CLOCK.monotonic(), 0.001))
            frame = receive_frame(child.channel)
            if frame is None:
                raise PreloadError(f"its process ended ({_how(child)})", module)
            if "imported" in frame:
                return
            module = _named(frame)
            if "refused" in frame:
                raise PreloadError(str(frame.get("why")), module)
    except TimeoutError:
        raise PreloadError(f"it took more than {seconds:g} s", module) from None
    except (OSError, SerializationError) as error:
        raise PreloadError(str(error), module) from error


def _printed(output: IO[bytes]) -> str:
    """Return the end of what the process has printed, for a log line."""
    end = output.seek(0, os.SEEK_END)
    output.seek(max(end - _MOST_PRINTED, 0))
    text = output.read(_MOST_PRINTED).decode("utf-8", "replace").strip()
    return f"; it printed: {text}" if text else ""


def _named(frame: Frame) -> str | None:
    name = frame.get("refused") or frame.get("importing")
    return name if isinstance(name, str) else None


def _how(child: Child) -> str:
    end = child.wait(_END_SECONDS)
    if end is None:
        return "which could not be seen"
    return _told(end)


def _told(end: Exit) -> str:
    if end.lost or end.exceeded:
        return end.lost or f"it had more than {end.exceeded}"
    return f"exit code {end.code}" if end.signal is None else f"signal {end.signal}"
