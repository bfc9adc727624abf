"""Homes of standalones of tests: they begin with a database that is migrated already."""

import subprocess
from pathlib import Path

from headway.runtime.settings import configuration
from headway.testing.processes import modes


def begin_with_a_database(home: Path) -> None:
    """Give a new home the session's database directory, with the accounts that own its files."""
    configuration.make_home(home)
    prepared, own = modes.postgres_directory(), home / "postgres"
    if prepared is not None and not own.exists():
        subprocess.run(["cp", "--archive", str(prepared), str(own)], check=True)
