"""Files of a bundle are parsed by forks of a process that has imported their packages."""

import errno
import logging
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn

import psutil
import pytest
from sqlalchemy import Connection, Engine
from tests.integration.parser_machine import manager_of, until

from headway.db.reads import dag_file_views, dag_views
from headway.metrics.parser import PRELOADED_PARSES
from headway_parser.child.bundle_forker import NAME
from headway_parser.manager import DagFileProcessorManager
from headway_parser.parse import bundle_forker, bundle_forkers, processor

PACKAGE = """
import os
import sys

HOME = os.getpid()
IS_PRELOADED = not any(entry.endswith("/dags") for entry in sys.path)
"""
DAG_FILE = """
import os
from headway.sdk import DAG
import {package}
DAG("{prefix}" + ("preloaded" if {package}.HOME != os.getpid() else "own"), description={text!r})
"""

LARGE_FILE = """
import sys
KNOWN = "headway.sdk.storage.path" in sys.modules
from headway.sdk import DAG, ObjectStoragePath
DAG("preloaded" if KNOWN else "own", description={text!r})
"""


class Installed:
    """A folder of packages, and a bundle with one file that imports some of them."""

    def __init__(self, folder: Path) -> None:
        self.packages = folder / "site-packages"
        self.dags = folder / "dags"
        self.edits = 0
        for each in (self.packages, self.dags):
            each.mkdir()

    def install(self, name: str, source: str = "") -> None:
        """Have a package that knows in which process it was imported, and does this besides."""
        (self.packages / f"{name}.py").write_text(PACKAGE + source)

    def write(self, package: str = "acme", file: str = "dags/d.py", prefix: str = "") -> None:
        """Write a DAG file that imports the package, another content each time."""
        self.edits += 1
        text = f"edit {self.edits}"
        source = DAG_FILE.format(package=package, text=text, prefix=prefix)
        (self.dags.parent / file).write_text(source)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a bundle's next fork server begin at once."""
    monkeypatch.setattr(bundle_forkers, "SHORTEST_PAUSE", 0.1)
    monkeypatch.setattr(bundle_forkers, "SHARE", 0.1)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installed:
    made = Installed(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(made.packages))
    return made


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> Callable[[str], int]:
    """Return how many log lines hold a text."""
    caplog.set_level(logging.INFO)
    return lambda text: sum(text in line for line in caplog.messages)


def stored(engine: Engine, installed: Installed) -> list[str]:
    """Return the DAGs of what was written last, none while that is not stored."""
    with engine.connect() as conn:
        assert dag_file_views.errors(conn) == []
        rows = list(dag_views.dags(conn))
    return sorted(row.dag_id for row in rows if row.description == f"edit {installed.edits}")


def parse(manager: DagFileProcessorManager, engine: Engine, installed: Installed) -> list[str]:
    """Have an edit of the file parsed; return its DAGs."""
    installed.write()
    until(manager, lambda: bool(stored(engine, installed)))
    return stored(engine, installed)


@contextmanager
def preloading(
    engine: Engine, installed: Installed, told: Callable[[str], int], **given: object
) -> Iterator[DagFileProcessorManager]:
    """Give a manager of which the bundle has its fork server."""
    with manager_of(engine, installed.dags, None, **given) as manager:
        assert parse(manager, engine, installed) == ["own"]
        until(manager, lambda: told("action=preload ") == 1)
        yield manager


def kept() -> float:
    """Return how many preloaded parses the metric has counted as stored."""
    return {series.labels: series.value for series in PRELOADED_PARSES.series()}["kept",]


def bundle_forker_process() -> psutil.Process:
    """Return the process that has imported the packages."""
    below = psutil.Process().children(recursive=True)
    (found,) = (
        each for each in below if each.name() == NAME and (each.parent() or each).name() != NAME
    )
    return found


def test_a_file_that_imports_a_package_is_parsed_by_a_fork_of_who_has_imported_it(
    engine: Engine, installed: Installed, told: Callable[[str], int]
) -> None:
    installed.install("acme")
    before = kept()
    with preloading(engine, installed, told) as manager:
        assert parse(manager, engine, installed) == ["preloaded"]
        assert parse(manager, engine, installed) == ["preloaded"]
    assert kept() >= before + 2
    assert not told("action=preload_repeat")


def test_nothing_is_preloaded_where_the_settings_say_so(
    engine: Engine, installed: Installed, told: Callable[[str], int]
) -> None:
    installed.install("acme")
    with manager_of(engine, installed.dags, preload_imports=False) as manager:
        for _ in range(3):
            assert parse(manager, engine, installed) == ["own"]
    assert not told("action=preload")


def test_files_are_parsed_without_it_while_the_disk_is_full(
    engine: Engine,
    installed: Installed,
    told: Callable[[str], int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full() -> NoReturn:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(bundle_forkers, "FIRST_RETRY", 0.1)
    installed.install("acme")
    with manager_of(engine, installed.dags) as manager:
        with monkeypatch.context() as patched:
            patched.setattr(bundle_forker, "tempfile", SimpleNamespace(TemporaryFile=full))
            assert parse(manager, engine, installed) == ["own"]
            until(manager, lambda: told("No space left on device") >= 1)
            assert told("action=preload_lost bundle=dags") >= 1
            assert parse(manager, engine, installed) == ["own"]
        until(manager, lambda: told("action=preload ") == 1)
        assert parse(manager, engine, installed) == ["preloaded"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_files_are_parsed_while_the_fork_server_of_their_bundle_is_killed_or_stopped(
    engine: Engine,
    installed: Installed,
    told: Callable[[str], int],
    monkeypatch: pytest.MonkeyPatch,
    number: signal.Signals,
) -> None:
    monkeypatch.setattr(processor, "START_SECONDS", 0.5)
    monkeypatch.setattr(bundle_forkers, "FIRST_RETRY", 0.1)
    installed.install("acme")
    with preloading(engine, installed, told) as manager:
        bundle_forker_process().send_signal(number)
        assert parse(manager, engine, installed) == ["own"]
        until(manager, lambda: told("action=preload_lost") == 1)

        until(manager, lambda: told("action=preload ") == 2)
        assert parse(manager, engine, installed) == ["preloaded"]


WHAT_FAILS = {
    "fails": ("raise OSError('no')", "its import failed: OSError: no"),
    "exits": ("os._exit(3)", "its process ended (exit code 3)"),
    "leaves": ("sys.exit(0)", "its import failed: SystemExit: 0"),
    "hangs": ("import time; time.sleep(1000)", "it took more than 6 s"),
    "memory": ("KEPT = bytearray(2**29)", "its import failed: MemoryError: "),
    "thread": (
        "import threading as t; t.Thread(target=t.Event().wait, daemon=True).start()",
        "its import leaves threads running (",
    ),
    "process": (
        "import subprocess; KEPT = subprocess.Popen(['sleep', '1000'])",
        "its import leaves a process running",
    ),
    "file": ("KEPT = open(os.devnull)", "its import leaves 1 files or sockets open"),
    "scratch": (
        "import tempfile; KEPT = tempfile.mkdtemp()",
        "its import leaves files in the temporary folder",
    ),
    "environment": (
        "os.environ['TZ_OF_ACME'] = 'canary'",
        "its import changes os.environ (TZ_OF_ACME)",
    ),
    "less environment": ("del os.environ['HOME']", "its import changes os.environ (HOME)"),
    "patch": (
        "import json; json.dumps = lambda *args, **kwargs: '1'",
        "its import replaces json.dumps",
    ),
    "patch of a class": (
        "import threading; threading.Thread.run = lambda self: None",
        "its import replaces threading.Thread.run",
    ),
    "patch of headway": (
        "from headway.sdk.authoring.definition import DAG; DAG.test = lambda self: None",
        "its import replaces headway.sdk.authoring.definition.DAG.test",
    ),
    "path": ("sys.path.append('/usr')", "its import changes sys.path"),
}
_DIFFERENT = {"exits", "hangs", "memory", "process", "scratch"}
"""Of each kind one: a process that ends or hangs, a limit, and what an import leaves."""


@pytest.mark.parametrize(
    "what",
    [
        pytest.param(what, marks=() if what in _DIFFERENT else pytest.mark.long)
        for what in sorted(WHAT_FAILS)
    ],
)
def test_a_module_that_cannot_be_preloaded_is_left_out_and_the_others_are_not(
    engine: Engine, installed: Installed, told: Callable[[str], int], what: str
) -> None:
    does, why = WHAT_FAILS[what]
    installed.install("acme")
    installed.install("broken", f"if IS_PRELOADED:\n    {does}\n")
    given = {"dag_file_processor_timeout": 6.0, "dag_file_memory_limit_bytes": 2**29}
    (installed.dags / "b.py").write_text(
        "from headway.sdk import DAG\nimport broken\nDAG('broken')\n"
    )
    with preloading(engine, installed, told, **given) as manager:
        until(manager, lambda: told("action=preload_refuse bundle=dags module=broken") == 1)
        assert told(why) == 1
        until(manager, lambda: parse(manager, engine, installed) == ["preloaded"])


def test_a_package_that_has_changed_is_imported_anew(
    engine: Engine, installed: Installed, told: Callable[[str], int]
) -> None:
    installed.install("acme")
    with preloading(engine, installed, told) as manager:
        installed.install("acme", "HOME = os.getpid()  # is another one than before\n")
        assert parse(manager, engine, installed) == ["own"]
        assert told("acme.py has changed since it was imported") == 1

        until(manager, lambda: parse(manager, engine, installed) == ["preloaded"])


def test_a_module_of_the_bundle_comes_before_the_package_that_was_preloaded(
    engine: Engine, installed: Installed, told: Callable[[str], int]
) -> None:
    installed.install("acme")
    with preloading(engine, installed, told) as manager:
        (installed.dags / "acme.py").write_text("import os\nHOME = os.getpid()\n")
        assert parse(manager, engine, installed) == ["own"]
    assert told("has the name of a preloaded module") == 1


def test_a_module_of_the_bundle_that_is_on_the_path_for_its_import_only_comes_before_too(
    engine: Engine, installed: Installed, told: Callable[[str], int]
) -> None:
    installed.install("acme")
    (installed.dags / "lib").mkdir()
    (installed.dags / "lib" / "acme.py").write_text("import os\nHOME = os.getpid()\n")
    with preloading(engine, installed, told) as manager:
        installed.write()
        file = installed.dags / "d.py"
        before = "import sys\nsys.path.insert(0, os.path.dirname(__file__) + '/lib')\n"
        source = file.read_text().replace(
            "import acme\n", f"{before}import acme\ndel sys.path[0]\n"
        )
        file.write_text(source)
        until(manager, lambda: bool(stored(engine, installed)))
        assert stored(engine, installed) == ["own"]
    assert told("lib/acme.py has the name of a preloaded module") == 1


def test_an_error_is_stored_of_a_parse_without_preloaded_modules(
    engine: Engine, installed: Installed, told: Callable[[str], int]
) -> None:
    installed.install("acme")
    with preloading(engine, installed, told) as manager, engine.connect() as conn:
        source = "import os, acme  # a headway dag\nraise ValueError(acme.HOME == os.getpid())\n"
        (installed.dags / "d.py").write_text(source)
        until(manager, lambda: bool(errors(conn)))
        assert "ValueError: True" in errors(conn)[0]
        assert told("action=preload_repeat") == 1
        assert not told("action=preload_unfit")


def errors(conn: Connection) -> list[str]:
    """Return the errors of all files."""
    conn.rollback()
    return [row.error for row in dag_file_views.errors(conn)]


def test_what_files_import_later_is_preloaded_too(
    engine: Engine, installed: Installed, told: Callable[[str], int]
) -> None:
    for name in ("acme", "other"):
        installed.install(name)
    with preloading(engine, installed, told) as manager:
        installed.write("other", "dags/e.py", "e_")
        until(manager, lambda: told("modules=acme,other") == 1)
        installed.write("other", "dags/e.py", "e_")
        until(manager, lambda: stored(engine, installed) == ["e_preloaded"])


def test_what_a_large_name_of_the_sdk_imports_is_preloaded_where_it_is_used(
    engine: Engine, installed: Installed, told: Callable[[str], int]
) -> None:
    def write() -> None:
        installed.edits += 1
        text = LARGE_FILE.format(text=f"edit {installed.edits}")
        (installed.dags / "d.py").write_text(text)

    write()
    with manager_of(engine, installed.dags, None) as manager:
        until(manager, lambda: stored(engine, installed) == ["own"])
        until(manager, lambda: told("modules=headway.sdk.storage.path") == 1)
        write()
        until(manager, lambda: stored(engine, installed) == ["preloaded"])


def test_it_ends_when_it_has_parsed_nothing_for_long(
    engine: Engine, installed: Installed, told: Callable[[str], int]
) -> None:
    installed.install("acme")
    with preloading(engine, installed, told, preload_idle_timeout=1.0) as manager:
        process = bundle_forker_process()
        until(manager, lambda: told("action=preload_end") == 1)
        until(manager, lambda: not process.is_running())
        assert told("action=preload ") == 1
        assert parse(manager, engine, installed) == ["own"]


def test_the_process_of_one_bundle_is_used_for_no_other(
    engine: Engine, installed: Installed, told: Callable[[str], int], tmp_path: Path
) -> None:
    installed.install("acme")
    other = tmp_path / "more" / "dags"
    other.mkdir(parents=True)
    bundles = {"more": {"path": str(other)}}
    with preloading(engine, installed, told, bundles=bundles) as manager:
        installed.write("acme", "more/dags/o.py", "o_")
        until(manager, lambda: stored(engine, installed) == ["o_own"])
