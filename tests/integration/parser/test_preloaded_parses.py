"""A file that is parsed below its bundle's fork server gives what it gives without."""

from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest
from tests.integration.parser_machine import CLOCK

from headway.db.parsing.files import FileKey
from headway.runtime.forker import Exit
from headway.runtime.settings import configuration
from headway.runtime.settings.parser import ParserSettings
from headway.testing.time.clock import PATIENCE
from headway_parser.assembly import parsing_of
from headway_parser.parse.answer import ParsedFile
from headway_parser.parse.fork_server import ParserHost
from headway_parser.parse.jobs import Job, ParseReason
from headway_parser.parse.processor_pool import ProcessorPool

PROVIDER = """
from airflow.hooks.base import BaseHook
from airflow.models import BaseOperator

class AcmeOperator(BaseOperator):
    def __init__(self, *, size=0, **kwargs):
        super().__init__(**kwargs)
        self.size = size
"""
LATE = """
import datetime
from airflow import DAG
from airflow.providers.acme.operators import AcmeOperator

defaults = {"owner": "ann", "no_task_takes_this": 1, "retries": 2}
with DAG("d", default_args=defaults, schedule_interval="@daily",
         start_date=datetime.datetime(2024, 1, 1), concurrency=3) as dag:
    first = AcmeOperator(task_id="first", size=3)
    first >> AcmeOperator(task_id="second", provide_context=True)
"""
EARLY = """
from airflow import DAG
from airflow.providers.acme.operators import AcmeOperator

with DAG("e", default_args={"neither_this": 1, "retries": 7}, schedule="@hourly"):
    AcmeOperator(task_id="other", task_concurrency=2)
"""
TRIES = """
import os
import pathlib
import socket

def tried(what, *arguments):
    try:
        what(*arguments)
    except OSError as error:
        return type(error).__name__
    return "done"

def attempts():
    return {{
        "socket": tried(socket.socket),
        "secret": tried(pathlib.Path({secret!r}).read_text),
        "write": tried(pathlib.Path({outside!r}).write_text, "x"),
        "mode": tried(os.chmod, os.environ["TMPDIR"], 0o777),
        "home": os.environ["HOME"],
        "nice": os.nice(0),
        "cwd": os.getcwd(),
        "environment": sorted(os.environ.items() - {{("TMPDIR", os.environ["TMPDIR"])}}),
    }}

AT_IMPORT = attempts()
"""
TELLS = """
import os
import pathlib
from headway.sdk import DAG
import tries

scratch = pathlib.Path(os.environ["TMPDIR"])
assert not list(scratch.iterdir())
(scratch / "file").write_text("x")
DAG("d", description=str((tries.AT_IMPORT, tries.attempts())),
    tags=[tries.tried((scratch.parent / "file").write_text, "x")])
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a folder of packages, on which Python's path is, and a bundle."""
    for name in ("site-packages", "dags", "home"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site-packages"))
    return tmp_path


@pytest.fixture
def pool(folder: Path) -> Iterator[ProcessorPool]:
    """What parses the files of the bundle."""
    around = ParserHost(folder / "home", (folder / "home",), configuration.environment())
    settings = configuration.read(ParserSettings, dags=folder / "dags")
    made = parsing_of(settings, around, CLOCK)
    yield made
    made.close()


def parsed(pool: ProcessorPool, job: Job) -> tuple[ParsedFile, bool]:
    """Return what a file gives, and whether it was parsed with preloaded modules."""
    pool.start(job)
    deadline = CLOCK.monotonic() + PATIENCE
    while not (done := pool.finished()):
        assert CLOCK.monotonic() < deadline
        pool.wait(0.1)
    (finished,) = done
    result = finished.result
    assert not isinstance(result, Exit)
    return result, finished.preloaded


def both(pool: ProcessorPool, folder: Path, *paths: str) -> list[tuple[ParsedFile, ParsedFile]]:
    """Return what each file gives without preloaded modules, and with them."""
    forkers = pool.bundle_forkers
    assert forkers is not None
    jobs = [
        Job(
            key=FileKey("dags", path),
            root=folder / "dags",
            reason=ParseReason.NEW,
            seen="",
            hashes={},
        )
        for path in paths
    ]
    alone = [parsed(pool, job)[0] for job in jobs]
    for job, result in zip(jobs, alone, strict=True):
        assert result.error is None
        forkers.learn(job, result, preloaded=False)
    deadline = CLOCK.monotonic() + PATIENCE
    while forkers.forker_for(jobs[-1]) is None:
        assert CLOCK.monotonic() < deadline
        pool.finished()
        CLOCK.wait(Event(), 0.02)
    preloaded = [parsed(pool, job) for job in jobs]
    assert all(is_preloaded for _, is_preloaded in preloaded)
    return list(zip(alone, [result for result, _ in preloaded], strict=True))


def test_the_dags_and_warnings_of_a_file_for_airflow_are_the_same_byte_for_byte(
    pool: ProcessorPool, folder: Path
) -> None:
    package = folder / "site-packages" / "airflow" / "providers" / "acme" / "operators"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(PROVIDER)
    (folder / "dags" / "e.py").write_text(EARLY)
    (folder / "dags" / "d.py").write_text(LATE)

    (early, late) = both(pool, folder, "e.py", "d.py")

    for alone, preloaded in (early, late):
        assert alone.notes
        assert preloaded == alone
    assert early[0].notes != late[0].notes


def test_a_package_has_no_other_rights_and_settings_where_it_is_preloaded(
    pool: ProcessorPool, folder: Path
) -> None:
    secret = folder / "home" / "database-url"
    secret.write_text("secret")
    source = TRIES.format(secret=str(secret), outside=str(folder / "dags" / "new"))
    (folder / "site-packages" / "tries.py").write_text(source)
    (folder / "dags" / "d.py").write_text(TELLS)

    ((alone, preloaded),) = both(pool, folder, "d.py")

    (spec,) = [version.spec for version in alone.versions]
    assert "'socket': 'PermissionError'" in (spec.description or "")
    assert "'secret': 'PermissionError'" in (spec.description or "")
    assert preloaded == alone
    assert not (folder / "dags" / "new").exists()
