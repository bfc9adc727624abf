"""Databases for tests: one server and one migrated template a session, and copies of it.

Two modes are for the whole session, and for every process that a test starts:
TEST_NOTIFY=off switches NOTIFY off, TEST_PGBOUNCER=1 puts PgBouncer before each database.
"""

import gc
import logging
import os
import secrets
import shutil
import signal
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Final

import pytest
from hypothesis import settings
from sqlalchemy import Engine
from tests.databases import TestDatabases
from tests.made_once import first_alone
from tests.ready_postgres import beginning_with_a_database, ready_postgres
from tests.spark_classes import ready_java
from tests.together import together
from xdist import is_xdist_worker  # type: ignore[import-untyped]
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

from headway.db.access import migrate
from headway.db.core import engine as engines
from headway.testing.database.pgbouncer import PgBouncer, pgbouncer
from headway.testing.database.postgres import ThrowawayPostgres, throwaway_postgres
from headway.testing.processes import modes
from headway.testing.processes.required import fail_for_missing

_any_machine = settings(deadline=None)  # no test is held to a speed
settings.register_profile("usual", _any_machine, max_examples=30)
settings.register_profile("quick", _any_machine, max_examples=20)
settings.register_profile("long", _any_machine, max_examples=500)

_SERVER_BYTES = 4 << 30
"""Room for a server of tests, with a database of millions of rows."""

_ALLOCATIONS: Final = 50_000
"""Objects that are made between two garbage collections.

Some tests keep the syntax trees of all modules, a million objects.  With Python's own threshold,
to look through them took a fourth of the time of the unit tests.
"""


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        # A shell that runs tests in the background has them ignore it, and all that they start.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.set_threshold(_ALLOCATIONS)
    settings.load_profile(config.getoption("--hypothesis-profile") or "usual")
    os.environ.update(modes.variables())
    os.environ["TEST_HEADWAY"] = str(Path(__file__).with_name("headway_of_tests.py"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadScopeScheduling | None:
    """Give a worker all that is to run together, where it is given whole modules."""
    if config.getoption("dist") != "loadscope":
        return None
    scheduling = LoadScopeScheduling(config, log)
    scheduling._split_scope = together
    return scheduling


def pytest_report_header(config: pytest.Config) -> str:
    return f"modes: {', '.join(modes.variables()) or 'none'}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Spread the modules that use Spark among those of services, which wait more than they compute.

    Side by side, modules of Spark would want several times the cores that there are.
    """
    shared: dict[str, list[pytest.Item]] = {}
    for item in items:
        shared.setdefault(together(item.nodeid), []).append(item)
    modules = list(shared.values())
    spark = [
        module for module in modules if any(item.get_closest_marker("spark") for item in module)
    ]
    services = [
        module
        for module in modules
        if module not in spark and module[0].get_closest_marker("services")
    ]
    places = [
        (n / len(each), module) for each in (spark, services) for n, module in enumerate(each)
    ]
    first = [module for _, module in sorted(places, key=lambda place: place[0])]
    rest = [module for module in modules if module not in first]
    items[:] = [item for module in first + rest for item in module]


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Have one process compile in a new checkout what all import; the others wait for it.

    To compile it takes 28 s of CPU, and processes that collect side by side all do.
    """
    folder = session.config.cache.mkdir("collected") if is_xdist_worker(session) else None
    with nullcontext() if folder is None else first_alone(folder):
        return (yield)


_SHARED: Final = pytest.StashKey[ExitStack]()
"""What tests share that one process runs one after the other (`tests/together.py`)."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, None, None]:
    yield
    if nextitem is None or together(nextitem.nodeid) != together(item.nodeid):
        item.config.stash.get(_SHARED, ExitStack()).close()


@pytest.fixture(scope="session")
def until_the_last_test(request: pytest.FixtureRequest) -> Iterator[ExitStack]:
    """What is closed after the last of the tests that share it, before other tests go on."""
    with ExitStack() as shared:
        request.config.stash[_SHARED] = shared
        yield shared


def pytest_collection_finish() -> None:
    """Leave ten thousand collected tests out of every later garbage collection."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    fail_for_missing(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    fail_for_missing(report)
    return report


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    """Undo what a test does to all logging, as one does that runs what is a process's own."""
    level, handlers = logging.root.level, list(logging.root.handlers)
    yield
    logging.root.setLevel(level)
    for added in [handler for handler in logging.root.handlers if handler not in handlers]:
        logging.root.removeHandler(added)


@pytest.fixture(scope="module", autouse=True)
def _environment_as_it_was() -> Iterator[None]:
    """What a module's tests leave in the environment, such as SPARK_REMOTE, is no other's."""
    before = dict(os.environ)
    yield
    for name in os.environ.keys() - before:
        del os.environ[name]
    os.environ.update(before)


@pytest.fixture(scope="module", autouse=True)
def _java_of_spark(request: pytest.FixtureRequest, _environment_as_it_was: None) -> None:
    """Have a module of Spark, and the machines that it makes, use a Java that starts Spark soon."""
    if request.node.get_closest_marker("spark") is not None:
        java_home = str(ready_java(request.config.cache.mkdir("java")))
        os.environ.update({"JAVA_HOME": java_home, modes.JAVA: java_home})


@pytest.fixture(scope="module", autouse=True)
def _postgres_of_services(request: pytest.FixtureRequest) -> Iterator[None]:
    """Have services begin in a copy of a migrated database."""
    is_of_services = request.node.get_closest_marker("services") is not None
    with beginning_with_a_database(request.config) if is_of_services else nullcontext():
        yield


@pytest.fixture(scope="session")
def postgres(request: pytest.FixtureRequest) -> Iterator[ThrowawayPostgres]:
    url = os.environ.get("TEST_DATABASE_URL") or None
    prepared = None if url else ready_postgres(request.config.cache.mkdir("postgres"))
    with (
        tempfile.TemporaryDirectory(dir=_in_memory(), ignore_cleanup_errors=True) as directory,
        throwaway_postgres(url, Path(directory), prepared) as server,
    ):
        yield server


def _in_memory() -> Path | None:
    """Return a file system in memory with room for the server, if there is one."""
    memory = Path("/dev/shm")
    return memory if memory.is_dir() and shutil.disk_usage(memory).free > _SERVER_BYTES else None


@pytest.fixture(scope="session")
def bouncer(postgres: ThrowawayPostgres) -> Iterator[PgBouncer]:
    """PgBouncer before the test server."""
    with pgbouncer(postgres.url) as running:
        yield running


@pytest.fixture(scope="session")
def address(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """By which address the tests reach a database: its own, or the pooler's."""
    if modes.pooled():
        through: Callable[[str], str] = request.getfixturevalue("bouncer").through
        return through
    return lambda url: url


@pytest.fixture(scope="session")
def template(postgres: ThrowawayPostgres) -> Iterator[str]:
    """The name of a migrated database that nobody is connected to."""
    name = f"headway_template_{secrets.token_hex(4)}"
    # What stands beside the migrations, such as grants and functions, may be newer than the copy.
    migrate.upgrade(postgres.create_database(name, postgres.migrated))
    yield name
    postgres.drop_database(name)


@pytest.fixture(scope="session")
def databases(postgres: ThrowawayPostgres, template: str) -> Iterator[TestDatabases]:
    """Databases as the template is, for one test after the other."""
    databases = TestDatabases(postgres, template)
    yield databases
    databases.drop()


@pytest.fixture
def database_url(
    postgres: ThrowawayPostgres, databases: TestDatabases, address: Callable[[str], str]
) -> Iterator[str]:
    """The address of a migrated database without rows of another test."""
    name = databases.take()
    yield address(postgres.url_of(name))
    databases.give_back(name)


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    """Connections to a fresh, migrated database."""
    engine = engines.connect(database_url, name="test")
    yield engine
    engine.dispose()
