"""Checks of the walls around DAG files that are parsed, and around attempts."""

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from headway.doctor.finding import Check, Examined, Finding, judged
from headway.domain.errors import SettingsError
from headway.runtime.forker import Forker, ForkerError
from headway.runtime.sandbox import Isolation, Layer, Sandbox, trial
from headway.runtime.settings import configuration
from headway.runtime.settings.parser import ParserSettings

_ALWAYS: Final = frozenset({Layer.LIMITS, Layer.PRIVILEGES, Layer.SECCOMP})
_OF_FILES: Final = frozenset({Layer.LANDLOCK, Layer.USER})

_WANTED: Final = "limits, privileges, seccomp, and landlock or another user"
_REMEDY: Final = (
    "Parse in a container of its own: run `headway forker` there and set HEADWAY_PARSER_FORKER; or "
    "use Linux 5.13 or newer with Landlock, or run the parser as root so that it can change user."
)

_NEEDS: Final[Mapping[Layer, str]] = {
    Layer.USER: "a fork server that is root, and an account that may read what children need",
    Layer.NAMESPACE: "CAP_SYS_ADMIN, or a container runtime that allows user namespaces",
    Layer.PROC: "a PID namespace, and a container runtime that masks nothing in /proc",
    Layer.LIMITS: "Linux",
    Layer.PRIVILEGES: "Linux",
    Layer.LANDLOCK: "Linux 5.13 with Landlock switched on, and a container runtime that allows it",
    Layer.SECCOMP: "x86-64 or aarch64, and a container runtime that allows filters",
}
_INSTEAD: Final[Mapping[Layer, str]] = {
    Layer.USER: "Landlock keeps files from children",
    Layer.NAMESPACE: "a nanny kills all that a child has started, and a child can stop nobody",
    Layer.PROC: "services are undumpable, so that children see command lines and nothing else",
    Layer.LANDLOCK: "another user keeps files from children",
}
"""What does the work of a layer that is missing; nothing does that of the others."""


def layers(_subject: Examined) -> Iterator[Finding]:
    """Try each layer of the sandbox where DAG files are parsed, as the parser does at its start."""
    try:
        found = _isolation()
    except ForkerError as error:
        remedy = "Start `headway forker --for parser` at the socket of HEADWAY_PARSER_FORKER."
        yield Finding("sandbox", False, str(error), "a fork server that answers", remedy)
    else:
        yield from walls(found)


def walls(found: Isolation) -> Iterator[Finding]:
    """Judge the sandbox as a whole, and tell of each layer that is missing."""
    lacking = (_ALWAYS - found.in_force) or not (_OF_FILES & found.in_force)
    yield judged("sandbox", found.describe(), _WANTED, _REMEDY if lacking else None)
    for layer, why in found.missing.items():
        yield _missing(layer, why, found)


def attempts(_subject: Examined) -> Iterator[Finding]:
    """Look whether attempts that run here could see and signal each other."""
    found = (
        "each attempt has a PID namespace and a /proc of its own"
        if trial.can_live_apart()
        else "attempts see, and may signal, all processes of their account: there is no "
        "CAP_SYS_ADMIN. Tasks that must not reach each other need workers of their own"
    )
    yield judged("attempts", found, "a PID namespace each, or tasks that trust each other", None)


def _isolation() -> Isolation:
    """Return what holds here, or where the parser's fork server is."""
    socket = _fork_server()
    if socket is not None:
        with Forker.connect(socket, sandbox=Sandbox()) as forker:
            assert forker.isolation is not None
            return forker.isolation
    with tempfile.TemporaryDirectory() as scratch:
        return trial.find_out(Sandbox(), (), Path(scratch))


def _fork_server() -> Path | None:
    try:
        return configuration.read(ParserSettings).forker
    except SettingsError:
        return None  # it is a finding of its own


def _missing(layer: Layer, why: str, found: Isolation) -> Finding:
    replaced = layer in _INSTEAD and (layer not in _OF_FILES or bool(_OF_FILES & found.in_force))
    instead = f"Instead, {_INSTEAD[layer]}" if replaced else "Nothing does its work"
    return judged(
        f"sandbox: {layer}",
        f"not to be had ({why}). {instead}.",
        _NEEDS[layer],
        None if replaced else _REMEDY,
    )


CHECKS: Final[tuple[Check, ...]] = (layers, attempts)
