"""One stack of services for the modules that need no other settings and edit no DAG file."""

from contextlib import ExitStack
from pathlib import Path
from shutil import copytree
from typing import Final

import pytest
from tests.ready_postgres import beginning_with_a_database

from headway.testing.services.stack import Stack, running_stack

DAGS: Final = Path(__file__).with_name("dags")
FOLDERS: Final = (
    *("authoring", "backfills", "groups", "outcomes", "rules", "stopping", "triggers", "values"),
)


@pytest.fixture(scope="session")
def stack(
    request: pytest.FixtureRequest,
    until_the_last_test: ExitStack,
    tmp_path_factory: pytest.TempPathFactory,
) -> Stack:
    """Services with two schedulers, for the modules that `tests/together.py` names alone."""
    root = tmp_path_factory.mktemp("shared")
    for folder in FOLDERS:
        copytree(DAGS / folder, root / "dags", dirs_exist_ok=True)
    with beginning_with_a_database(request.config):
        running = running_stack(root / "home", root / "dags", schedulers=2)
        return until_the_last_test.enter_context(running)
