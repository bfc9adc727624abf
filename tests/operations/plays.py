"""The operations of docs/operations.md, each carried out while DAGs run."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from sqlalchemy import text
from sqlalchemy.engine import URL, make_url
from tests.operations.estate import (
    KEYS,
    KINDS,
    Estate,
    begun_twice,
    estate,
    run_headway,
    service,
)
from tests.operations.servers import Server, archive, server

from headway.db.access import migrate
from headway.db.access.logins import Login
from headway.testing.database import logins
from headway.testing.time.clock import until

ROOT: Final = Path(__file__).parents[2]
_LOGINS: Final = dict(zip(KINDS, (Login.PARSER, Login.SCHEDULER, Login.WORKER), strict=True))
_LOST: Final = text("SELECT count(*) FROM task_attempt WHERE outcome = 'lost'")
_ENDED: Final = """
    SELECT coalesce(json_agg(json_build_array(
             run.dag_id, run.run_id, task.task_id, CAST(task.map_index AS text))), '[]')
      FROM task_instance AS task JOIN dag_run AS run ON run.id = task.dag_run_id
     WHERE task.state = 'success'
"""
_READ: Final = text(
    "SELECT count(*) FROM task_instance WHERE dag_id = 'reads' AND state = 'success'"
)
_READS: Final = """
from datetime import timedelta

import pendulum
from place import END, START
from recorder import name, recorded

from headway.sdk import DAG, Variable, task

START, END = (pendulum.from_timestamp(it, tz="UTC") for it in (START, END))
with DAG("reads", schedule=timedelta(seconds=2), start_date=START, end_date=END, catchup=True):

    @task
    def region(**context):
        with recorded(name(context)):
            assert Variable.get("region") == "eu-central"

    region()
"""


@dataclass(slots=True)
class Played:
    """What came of a play."""

    figures: dict[str, str] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)

    def judge(self, its: Estate) -> None:
        """Wait until all has ended; note what is wrong, and how much has run."""
        history = its.come_to_rest()
        self.figures["attempts lost"] = str(its.scalar(_LOST))
        self.figures["attempts"] = str(its.begun())
        self.violations += its.judge(history)


def fail_over(root: Path) -> Played:
    """Kill the primary and promote its standby at once: services find it by their address."""
    played = Played()
    with ExitStack() as ending:
        primary = ending.enter_context(_new_server(root / "primary"))
        standby = ending.enter_context(server(root / "standby"))
        primary.copy_to(standby, "--write-recovery-conf")
        standby.start()
        primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
        primary.sql("SELECT pg_reload_conf()")
        urls = {kind: _of_both(url, standby) for kind, url in _addresses(primary).items()}
        its = ending.enter_context(estate(root, _of_both(primary.url, standby), urls))
        its.rest(5)
        killed, before = time.monotonic(), its.begun()
        primary.kill()
        standby.promote()
        played.figures["promoted after"] = f"{time.monotonic() - killed:.1f} s"
        its.until(lambda: its.begun() > before, "a task after the fail-over")
        played.figures["a task begun after"] = f"{time.monotonic() - killed:.1f} s"
        played.judge(its)
    return played


def upgrade(root: Path, revision: str = "HEAD~1") -> Played:
    """Replace the services of an earlier commit by this commit's, while tasks run."""
    played = Played()
    with ExitStack() as ending:
        python = ending.enter_context(_earlier(root / "earlier", revision))
        postgres = ending.enter_context(server(root / "postgres"))
        postgres.initialise()
        given = {**os.environ, "HEADWAY_DATABASE_URL": postgres.url, "HEADWAY_HOME": str(root)}
        old_migration = [python, "-m", "headway.cli", "db", "migrate"]
        subprocess.run(old_migration, env=given, check=True, stdout=subprocess.DEVNULL)
        urls = _addresses(postgres)
        its = ending.enter_context(estate(root, postgres.url, urls, python))
        old = list(its.fleet.services)
        changed = migrate.head() != postgres.sql("SELECT version_num FROM alembic_version").strip()
        played.figures["a migration"] = "yes" if changed else "no"
        if changed:  # the page says so: parsers and workers end first
            for each in [one for one in old if one.kind != "scheduler"]:
                its.retire(each)
            migrate.upgrade(postgres.url)
        for each in old:
            new = service(root, f"{each.name}-new", each.kind, urls[each.kind])
            if each in its.fleet.services:
                its.replace(each, new)
            else:
                new.start()
                its.fleet.services.append(new)
        its.until_busy()
        played.judge(its)
        if lost := its.scalar(_LOST):
            played.violations.append(f"{lost} attempts were lost")
    return played


def dump_and_restore(root: Path) -> Played:
    """Dump a live database, go on, lose the server, and restore the dump on another one."""
    played = Played()
    with ExitStack() as ending:
        old = ending.enter_context(_new_server(root / "old"))
        its = ending.enter_context(estate(root, old.url, _addresses(old)))
        its.rest(5)
        old.dump(root / "dump")
        dumped = _successes(root, ending, its)
        its.rest(3)
        its.fleet.stop(60.0)
        old.kill()
        new = ending.enter_context(server(root / "new"))
        new.initialise()
        new.restore(root / "dump")
        migrate.upgrade(new.url)
        _go_on_at(its, new)
        history = its.come_to_rest()
        played.figures["successes in the dump"] = str(len(dumped))
        played.violations += [*its.violations, *its.fleet.unexpected, *begun_twice(history, dumped)]
        played.violations += [
            f"{run.run_id} {run.state}" for run in history.runs if run.state != "success"
        ]
    return played


def point_in_time(root: Path) -> Played:
    """Copy a live server, keep its log, make a mistake, and go back to the moment before it."""
    played = Played()
    with ExitStack() as ending:
        kept = root / "archive"
        command = archive(kept)
        old = ending.enter_context(
            _new_server(root / "old", archive_mode="on", archive_command=command)
        )
        its = ending.enter_context(estate(root, old.url, _addresses(old)))
        new = ending.enter_context(server(root / "new"))
        old.copy_to(new, "--checkpoint=fast")
        its.rest(8)
        its.fleet.stop(60.0)
        moment = old.sql("SELECT now()").strip()
        old.sql("TRUNCATE dag_run CASCADE; SELECT pg_switch_wal()")
        old.stop()
        new.settings |= {
            "restore_command": f"cp {kept}/%f %p",
            "recovery_target_time": moment,
            "recovery_target_action": "promote",
        }
        (new.data / "recovery.signal").touch()
        new.start()
        until(lambda: new.sql("SELECT pg_is_in_recovery()").strip() == "f", "the recovery")
        _go_on_at(its, new)
        played.judge(its)
    return played


def change_passwords(root: Path) -> Played:
    """Give every role a new password, then restart the services one by one."""
    played = Played()
    with ExitStack() as ending:
        postgres = ending.enter_context(_new_server(root / "postgres"))
        old = _addresses(postgres)
        its = ending.enter_context(estate(root, postgres.url, old))
        new = {kind: f"new-{kind}" for kind in KINDS}
        migrate.upgrade(postgres.url, {_LOGINS[kind]: word for kind, word in new.items()})
        its.until_busy()  # connections that are open stay
        for each in list(its.fleet.services):
            url = make_url(old[each.kind]).set(password=new[each.kind])
            address = url.render_as_string(hide_password=False)
            its.replace(each, service(root, f"{each.name}-new", each.kind, address))
        its.until_busy()
        played.judge(its)
        if lost := its.scalar(_LOST):
            played.violations.append(f"{lost} attempts were lost")
    return played


def change_key(root: Path) -> Played:
    """Give the variables in the database another key, while a DAG reads one all the time."""
    played = Played()
    with ExitStack() as ending:
        postgres = ending.enter_context(_new_server(root / "postgres"))
        its = ending.enter_context(estate(root, postgres.url, _addresses(postgres)))
        keys = root / KEYS
        old = keys.read_text()
        run_headway(its, "variables", "set", "region", "--from", "-", given="eu-central")
        run_headway(its, "variables", "grant", "region", "reads")
        (root / "dags" / "reads.py").write_text(_READS)
        its.until(lambda: its.scalar(_READ) > 0, "a task that reads the variable")
        new = run_headway(its, "secrets", "new-key", "--id", "second")
        for content in (old + new, new + old):
            keys.write_text(content)
            its.until_busy()
        run_headway(its, "secrets", "rotate")
        assert "second" in run_headway(its, "variables", "list")
        keys.write_text(new)
        read = its.scalar(_READ)
        its.until(lambda: its.scalar(_READ) > read, "a task that reads it by the new key")
        played.judge(its)
    return played


PLAYS: Final[Mapping[str, Callable[[Path], Played]]] = {
    "fail-over": fail_over,
    "upgrade": upgrade,
    "dump": dump_and_restore,
    "point-in-time": point_in_time,
    "passwords": change_passwords,
    "key": change_key,
}


@contextmanager
def _new_server(data: Path, **settings: str) -> Iterator[Server]:
    """Give a server with the tables of this release."""
    with server(data, **settings) as made:
        made.initialise()
        migrate.upgrade(made.url)
        yield made


def _addresses(of: Server) -> dict[str, str]:
    return {kind: logins.address(of.url, login) for kind, login in _LOGINS.items()}


def _of_both(url: str, other: Server) -> str:
    its = make_url(url)
    query = {
        "host": (f"{its.host}:{its.port}", f"{its.host}:{other.port}"),
        "target_session_attrs": "read-write",
    }
    address = URL.create(
        its.drivername, its.username, its.password, database=its.database, query=query
    )
    return address.render_as_string(hide_password=False)


def _go_on_at(its: Estate, new: Server) -> None:
    """Start services anew, on another server."""
    its.url = new.url
    urls = _addresses(new)
    its.fleet.services = [
        service(its.root, f"{old.name}-again", old.kind, urls[old.kind])
        for old in its.fleet.services
    ]
    its.fleet.start()
    its.until_busy()


def _successes(root: Path, ending: ExitStack, its: Estate) -> list[tuple[str, ...]]:
    """Return the tasks that have ended with success in the dump, as a server of its own has it."""
    read = ending.enter_context(server(root / "read"))
    read.initialise()
    read.restore(root / "dump")
    found = [tuple(row) for row in json.loads(read.sql(_ENDED))]
    read.stop()
    return found


@contextmanager
def _earlier(folder: Path, revision: str) -> Iterator[str]:
    """Give a Python with the library and the services of an earlier commit."""
    checkout = folder / "checkout"
    _git("worktree", "add", "--force", "--detach", str(checkout), revision)
    try:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
        [packages] = (folder / "venv" / "lib").glob("python3*/site-packages")
        paths = [checkout / "shared", *sorted((checkout / "services").iterdir())]
        lines = [*map(str, paths), sysconfig.get_path("purelib")]
        (packages / "earlier.pth").write_text("\n".join(lines))
        yield str(folder / "venv" / "bin" / "python")
    finally:
        shutil.rmtree(checkout, ignore_errors=True)
        _git("worktree", "prune")


def _git(*arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True)
