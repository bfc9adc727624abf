"""Forkers for the tests of sandboxes: the layers that they have, and what children tell."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from headway.runtime.forker import Child, ChildLimits, ChildSpec, Forker
from headway.runtime.processes.frames import receive_frame
from headway.runtime.sandbox import Layer, Sandbox

LONG: Final = 20.0
"""Seconds that nothing in a test takes."""

EVERY: Final = frozenset(Layer)
WEAK: Final = frozenset({Layer.PRIVILEGES, Layer.LIMITS, Layer.SECCOMP})
"""What there is on any Linux: the same user, no namespace, no Landlock."""

Attempt = tuple[object, ...]


def start(
    layers: Iterable[Layer], targets: Path, environment: Mapping[str, str], sandbox: Sandbox
) -> Forker:
    """Start a forker with these layers; `targets` is the folder of the modules of the tests."""
    paths = (environment.get("PYTHONPATH"), str(targets))
    return Forker.start(
        ["sandbox_targets"],
        {**environment, "PYTHONPATH": ":".join(filter(None, paths))},
        sandbox=sandbox,
        without=EVERY - frozenset(layers),
    )


def within(forker: Forker) -> Forker:
    """Have a sandboxed child of a forker be one itself; it ends with that one."""
    child = spawn(forker, "serve", Sandbox(processes=512))
    return Forker.within(child, sandbox=Sandbox(), without=EVERY - {Layer.LANDLOCK})


def spawn(
    forker: Forker,
    target: str,
    sandbox: Sandbox | None = None,
    limits: ChildLimits | None = None,
    **argument: object,
) -> Child:
    """Start a sandboxed child of which the output goes nowhere."""
    log = os.open(os.devnull, os.O_WRONLY)
    spec = ChildSpec(
        target=f"sandbox_targets:{target}",
        argument=argument,
        limits=limits or ChildLimits(),
        sandbox=sandbox or Sandbox(),
    )
    try:
        return forker.spawn(spec, log)
    finally:
        os.close(log)


def outcomes(
    forker: Forker,
    *attempts: Attempt,
    sandbox: Sandbox | None = None,
    limits: ChildLimits | None = None,
) -> list[Any]:
    """Return what came of the attempts of one child, which must end well."""
    child = spawn(forker, "attempt", sandbox, limits, attempts=[list(each) for each in attempts])
    try:
        told = receive_frame(child.channel)
        end = child.wait(LONG)
        assert told is not None, end
        assert end is not None
        assert end.succeeded, end
        found: list[Any] = told["told"]
        return found
    finally:
        child.close()
