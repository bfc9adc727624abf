"""What is claimed and cannot be prepared: it is left to others, and holds up nobody."""

from pathlib import Path
from typing import Any

import pytest

from headway.domain.dag.spec import DagSpec
from headway.domain.errors import SerializationError
from headway_worker.database.callback_database import CallbackDatabase


class Archive:
    """A database whose every look for a version ends with an error."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def fetch(self, _version_id: int, _manifest_hash: str) -> tuple[DagSpec, Path]:
        raise self.error


class Anything:
    """A claimed callback of which only names are asked for."""

    def __getattr__(self, _name: str) -> "Anything":
        return Anything()

    def __int__(self) -> int:
        return 1


@pytest.mark.parametrize(
    "error", [KeyError(7), OSError("no space left"), SerializationError("of another release")]
)
def test_a_version_that_cannot_be_had_ends_no_worker(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    archive: Any = Archive(error)
    claimed: Any = Anything()

    assert CallbackDatabase(archive)._prepare(claimed) is None
    assert "action=not_prepared" in caplog.text
