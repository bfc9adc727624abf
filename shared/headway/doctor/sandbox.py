"""Checks of the sandbox in which DAG files are parsed."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from headway.doctor.finding import Check, Finding, Subject, judged
from headway.runtime.sandbox import Layer, Sandbox, trial

_ALWAYS: Final = frozenset({Layer.LIMITS, Layer.PRIVILEGES, Layer.SECCOMP})
_OF_FILES: Final = frozenset({Layer.LANDLOCK, Layer.USER})

_WANTED: Final = "limits, privileges, seccomp, and landlock or another user"
_REMEDY: Final = (
    "Parse in a container of its own: run `headway forker` there and set HEADWAY_PARSER_FORKER; or "
    "use Linux 5.13 or newer with Landlock, or run the parser as root so that it can change user."
)


def layers(_subject: Subject) -> Iterator[Finding]:
    """Try each layer of the sandbox, as the parser's fork server does at its start."""
    with tempfile.TemporaryDirectory() as scratch:
        found = trial.find_out(Sandbox(), (), Path(scratch))
    lacking = (_ALWAYS - found.in_force) or not (_OF_FILES & found.in_force)
    yield judged("sandbox", found.describe(), _WANTED, _REMEDY if lacking else None)


CHECKS: Final[tuple[Check, ...]] = (layers,)
