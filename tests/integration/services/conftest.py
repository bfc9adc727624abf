"""One stack of services for the modules that need no other settings and edit no DAG file."""

from collections.abc import Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from shutil import copytree
from typing import Final

import pytest
from tests.ready_postgres import beginning_with_a_database
from tests.together import together

from headway.testing.services.stack import Stack, running_stack

DAGS: Final = Path(__file__).with_name("dags")
FOLDERS: Final = (
    *("authoring", "backfills", "groups", "outcomes", "rules", "stopping", "triggers", "values"),
)

_OPEN: Final = pytest.StashKey[ExitStack]()
"""What ends with the last of the tests that share it, which one process has run all of."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, None, None]:
    yield
    if nextitem is None or together(nextitem.nodeid) != together(item.nodeid):
        item.config.stash.get(_OPEN, ExitStack()).close()


@pytest.fixture(scope="session")
def stack(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stack]:
    """Services with two schedulers, for the modules that `tests/together.py` names alone."""
    root = tmp_path_factory.mktemp("shared")
    for folder in FOLDERS:
        copytree(DAGS / folder, root / "dags", dirs_exist_ok=True)
    with ExitStack() as opened:
        request.config.stash[_OPEN] = opened
        with beginning_with_a_database(request.config):
            running = running_stack(root / "home", root / "dags", schedulers=2)
            stack = opened.enter_context(running)
        yield stack
