"""Variables and connections that DAG files read while they are parsed, by their bundle's grant."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from sqlalchemy import Connection as Transaction
from sqlalchemy import Engine, event, text
from tests.integration.parser_machine import manager_of, until

from headway.actions.installation import secrets
from headway.db.access.logins import Login
from headway.db.core.processes import Identity
from headway.db.reads import dag_views
from headway.domain.connection import Connection
from headway.domain.variable import Secret, SecretKind, StoredVariable, to_bundle
from headway.runtime.secrets.keyring import KeyRing, new_key
from headway.testing.database.logins import entered
from headway_parser.manager import DagFileProcessorManager

KEYS = KeyRing((new_key(),))
ANN = "user:ann"
READS = "from headway.sdk import DAG, Variable\nDAG('dag_of_' + Variable.get('v'))\n"
DEFAULT = "from headway.sdk import DAG, Variable\nDAG('dag_of_' + Variable.get('v', 'nobody'))\n"
CANARY = "canary-8f1e"

FORGES = """
import os, socket
from headway.sdk import DAG, Variable, BaseHook
from headway.runtime.processes.frames import receive_frame, send_frame

def find():
    for number in range(3, 64):
        try:
            found = socket.socket(fileno=os.dup(number))
        except OSError:
            continue
        if found.family == socket.AF_UNIX and found.type == socket.SOCK_STREAM:
            yield found

def told(*frames):
    for channel in find():
        for frame in frames:
            send_frame(channel, frame)
    return channel
"""


class Installation:
    """A database with a variable, and a parser's login."""

    def __init__(self, engine: Engine, parser: Engine, me: Identity, folder: Path) -> None:
        self.engine, self.parser, self.me, self.folder = engine, parser, me, folder

    def store(self, value: str, name: str = "v", *, plain: bool = False) -> None:
        self.keep(StoredVariable(key=name, value=value, plain=plain))

    def keep(self, secret: Secret) -> None:
        with self.engine.begin() as conn:
            secrets.store(conn, secret, KEYS, ANN)

    def grant(self, grantee: str = "bundle:dags", name: str = "v", kind: str = "variable") -> None:
        with self.engine.begin() as conn:
            secrets.grant(conn, SecretKind(kind), name, [grantee], ANN)

    def revoke(self, grantee: str = "bundle:dags") -> None:
        with self.engine.begin() as conn:
            secrets.revoke(conn, SecretKind.VARIABLE, "v", [grantee], ANN)

    def write(self, source: str, name: str = "d.py", folder: str = "dags") -> None:
        (self.folder / folder / name).write_text(source)

    def dags(self) -> list[str]:
        with self.engine.connect() as conn:
            return [row.dag_id for row in dag_views.dags(conn) if row.active]

    def errors(self) -> str:
        with self.engine.connect() as conn:
            return "\n".join(conn.scalars(text("SELECT error FROM import_error ORDER BY error")))

    def manager(self, **given: object) -> AbstractContextManager[DagFileProcessorManager]:
        wanted = {"parse_time_secrets": True, "min_file_process_interval": 3600, **given}
        return manager_of(self.parser, self.folder / "dags", self.me, **wanted)


@pytest.fixture
def here(
    engine: Engine, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Installation]:
    monkeypatch.setenv("HEADWAY_SECRETS_KEYS", KEYS.keys[0].to_line())
    (tmp_path / "dags").mkdir()
    (tmp_path / "other").mkdir()
    with entered(database_url, Login.PARSER, "parser") as (parser, me):
        yield Installation(engine, parser, me, tmp_path)


def test_a_file_reads_what_its_bundle_is_granted(here: Installation) -> None:
    here.store("ann")
    here.grant()
    here.keep(Connection.from_text("warehouse", "postgres://me:secret-of-me@there:5432/sales"))
    here.grant(name="warehouse", kind="connection")
    here.write(
        f"{READS}from headway.sdk import BaseHook\n"
        "DAG('at_' + BaseHook.get_connection('warehouse').host)\n"
    )

    with here.manager() as manager:
        until(manager, lambda: here.dags() == ["at_there", "dag_of_ann"])

    with here.engine.connect() as conn:
        version = dag_views.dag(conn, "dag_of_ann")
        assert version is not None
        stored = conn.scalar(text("SELECT serialized FROM dag_version ORDER BY id LIMIT 1"))
    assert b"connection:warehouse" in bytes(stored)
    assert b"variable:v" in bytes(stored)
    assert b"secret-of-me" not in bytes(stored)


def test_a_changed_variable_has_its_file_parsed_again(here: Installation) -> None:
    here.store("before")
    here.grant()
    here.write(READS)

    with here.manager() as manager:
        until(manager, lambda: here.dags() == ["dag_of_before"])
        here.store("after")
        until(manager, lambda: here.dags() == ["dag_of_after"])


def test_one_that_changes_while_the_result_is_stored_is_read_again(here: Installation) -> None:
    here.store("before")
    here.grant()
    here.write(READS)

    @event.listens_for(here.parser, "commit")
    def change(conn: Transaction) -> None:
        if conn.scalar(text("SELECT count(*) FROM dag WHERE dag_id = 'dag_of_before'")):
            event.remove(here.parser, "commit", change)
            here.store("after")

    with here.manager() as manager:
        until(manager, lambda: here.dags() == ["dag_of_after"])


def test_what_has_not_changed_is_not_read_again(here: Installation) -> None:
    here.store("ann")
    here.grant()
    here.write(READS)
    parsed_at = text("SELECT parsed_at FROM dag_file")
    with here.manager() as manager:
        until(manager, lambda: here.dags() == ["dag_of_ann"])
        with here.engine.connect() as conn:
            before = conn.scalar(parsed_at)
        for _ in range(30):
            manager.scan_requested.set()
            manager._rested_at = 0.0
            manager.step()
        with here.engine.connect() as conn:
            assert conn.scalar(parsed_at) == before


def test_without_the_grant_any_more_the_last_version_stays(here: Installation) -> None:
    here.store("ann")
    here.grant()
    here.write(READS)

    with here.manager() as manager:
        until(manager, lambda: here.dags() == ["dag_of_ann"])
        here.revoke()
        until(manager, lambda: "grant v --bundle dags" in here.errors())
        assert here.dags() == ["dag_of_ann"]
        here.grant()
        until(manager, lambda: not here.errors())


def test_a_default_counts_until_there_is_such_a_variable(here: Installation) -> None:
    here.write(DEFAULT)

    with here.manager() as manager:
        until(manager, lambda: here.dags() == ["dag_of_nobody"])
        here.store("ann")  # which the bundle may not read: its default must not hide that
        until(manager, lambda: "may not read the variable 'v'" in here.errors())
        assert here.dags() == ["dag_of_nobody"]
        here.grant()
        until(manager, lambda: here.dags() == ["dag_of_ann"])


def test_a_file_whose_variable_is_absent_is_parsed_again_when_it_comes(here: Installation) -> None:
    here.grant()
    here.write(READS)

    with here.manager() as manager:
        until(manager, lambda: "There is no variable 'v'; have a user run" in here.errors())
        here.store("ann")
        until(manager, lambda: here.dags() == ["dag_of_ann"])


def test_names_that_are_granted_one_after_the_other_are_read_one_after_the_other(
    here: Installation,
) -> None:
    """Each parse gets further; none of them repeats the one before."""
    names = ["a", "b", "c", "d", "e", "f"]
    here.write(f"from headway.sdk import DAG, Variable\nDAG(''.join(map(Variable.get, {names})))\n")
    for name in names:
        here.store(name, name)

    with here.manager() as manager:
        for name in names:
            until(manager, lambda name=name: f"grant {name} --bundle" in here.errors())  # type: ignore[misc]
            here.grant(name=name)
        until(manager, lambda: here.dags() == ["abcdef"])


@pytest.mark.parametrize("source", [READS, DEFAULT], ids=["required", "with a default"])
def test_the_setting_allows_it(here: Installation, source: str) -> None:
    here.store("ann")
    here.grant()
    here.write(source)

    with here.manager(parse_time_secrets=False) as manager:
        until(manager, lambda: "parse_time_secrets = true" in here.errors())
        assert "`headway variables grant v --bundle dags`" in here.errors()
        assert here.dags() == []
    with here.manager() as manager:
        until(manager, lambda: here.dags() == ["dag_of_ann"])


@pytest.mark.parametrize("grantee", ["bundle:other", "dag_of_ann", "*", "dags"])
def test_a_grant_to_others_lets_a_file_read_nothing(here: Installation, grantee: str) -> None:
    here.store("ann")
    here.grant(grantee)
    here.write(READS)
    other = {"other": {"path": str(here.folder / "other")}}

    with here.manager(bundles=other) as manager:
        until(manager, lambda: "grant v --bundle dags" in here.errors())
        assert here.dags() == []


ANOTHER_BUNDLE = """
told({'ask': 'variable', 'name': 'v', 'bundle': 'other', 'dag_id': 'other'})
raise Exception(receive_frame(next(find())))
"""
ALL_AT_ONCE = """
told(*[{'ask': 'variable', 'name': 'v'}] * 50)
receive_frame(next(find()))
"""
SOMETHING_ELSE = """
told({'ask': 'pull_xcom', 'name': 'v'})
receive_frame(next(find()))
"""
AFTERWARDS = """
told({'dags': [], 'files': {}}, {'ask': 'variable', 'name': 'v'})
receive_frame(next(find()))
"""
AFTERWARDS_WITHOUT_END = """
told({'dags': [], 'files': {}})
while True:
    told({'x': 1})
"""
WITHOUT_END = """
while True:
    told({'ask': 'variable', 'name': 'w'})
    receive_frame(next(find()))
"""


@pytest.mark.parametrize(
    ("forged", "error"),
    [
        (ANOTHER_BUNDLE, "`headway variables grant v --bundle dags` lets it"),
        (ALL_AT_ONCE, "before it had its last answer"),
        (SOMETHING_ELSE, "neither a connection nor a variable"),
        (AFTERWARDS, "after the file was read"),
        (AFTERWARDS_WITHOUT_END, "after the file was read"),
        (WITHOUT_END, "more than 500 connections and variables"),
    ],
)
def test_forged_questions_get_nothing(here: Installation, forged: str, error: str) -> None:
    here.store(CANARY)
    here.grant("bundle:other")
    here.write(FORGES + forged)
    other = {"other": {"path": str(here.folder / "other")}}

    with here.manager(bundles=other) as manager:
        until(manager, lambda: error in here.errors())
    assert CANARY not in here.errors()


def test_dags_name_only_what_was_read(here: Installation) -> None:
    """By these names tasks may read when they load the file."""
    here.write(
        "from headway.sdk import DAG\nfrom headway.sdk.running.file_secrets import FileSecrets\n"
        "FileSecrets.names = ('variable:v',)\nDAG('claims')\n"
    )

    for allowed in (True, False):
        with here.manager(parse_time_secrets=allowed) as manager:
            until(manager, lambda: "that the file has not read" in here.errors())


def test_no_error_and_no_log_shows_what_was_read(
    here: Installation, caplog: pytest.LogCaptureFixture
) -> None:
    here.store(CANARY + "0123456789" * 20)  # the end of the error is within one of them
    here.grant()
    here.write(f"{READS}raise ValueError('x' * 19_000 + Variable.get('v') * 20)\n")
    here.write(f"{READS}print(Variable.get('v'), flush=True)\nimport os\nos._exit(1)\n", "e.py")

    with here.manager() as manager:
        until(manager, lambda: "xxx***" in here.errors() and "It printed:" in here.errors())
    assert "canary" not in here.errors()
    assert "It printed:\n***" in here.errors()
    assert "canary" not in caplog.text


DIFFERS = """
import time
from headway.sdk import DAG, Variable
DAG('d', description=f"{time.time_ns()} {Variable.get('v')}", tags=[Variable.get('v')])
"""


@pytest.mark.regression
@pytest.mark.parametrize(
    "secret",
    [CANARY, CANARY + "0123456789" * 20, f'it\'s "{CANARY}"\n\\and more of {CANARY}'],
    ids=["short", "cut in a warning", "written otherwise by repr"],
)
def test_no_warning_and_no_log_of_a_dag_that_differs_shows_what_was_read(
    here: Installation, caplog: pytest.LogCaptureFixture, secret: str
) -> None:
    """Two parses of the same code differ first in what was read: that of either is masked."""
    here.store("before")
    here.grant()
    here.write(DIFFERS)
    warnings = text("SELECT warning FROM dag_file WHERE warning IS NOT NULL")

    with here.manager() as manager:
        until(manager, lambda: here.dags() == ["d"])
        here.store(secret)  # by which the file is read again, and once more as a check
        with here.engine.connect() as conn:
            until(manager, lambda: conn.scalar(warnings) is not None)
            said = str(conn.scalar(warnings))
    assert "description was" in said
    assert "***" in said
    assert "canary" not in said
    assert "action=warn file=dags/d.py" in caplog.text
    assert "canary" not in caplog.text


UNSTORABLE = """
from headway.sdk import DAG, Variable
DAG('d', description=Variable.get('v'))
"""
REFUSES = """
CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'no % today', NEW.description;
END
$$
"""


def test_no_error_and_no_log_of_a_dag_that_cannot_be_stored_shows_what_was_read(
    here: Installation, caplog: pytest.LogCaptureFixture
) -> None:
    here.store(CANARY)
    here.grant()
    here.write(UNSTORABLE)
    with here.engine.begin() as conn:
        conn.execute(text(REFUSES))
        conn.execute(
            text("CREATE TRIGGER t BEFORE INSERT ON dag FOR EACH ROW EXECUTE FUNCTION f()")
        )

    with here.manager() as manager:
        until(manager, lambda: "refuses what the file defines: no *** today" in here.errors())
    assert "action=refuse file=d.py" in caplog.text
    assert CANARY not in here.errors() + caplog.text


def test_no_error_of_two_files_with_one_dag_shows_what_was_read(
    here: Installation, caplog: pytest.LogCaptureFixture
) -> None:
    here.store(CANARY)
    here.grant()
    here.write(READS)

    with here.manager() as manager:
        until(manager, lambda: here.dags() == [f"dag_of_{CANARY}"])
        here.write(READS, "e.py")
        until(manager, lambda: "The DAG id 'dag_of_***' in e.py is taken" in here.errors())
    assert CANARY not in here.errors() + caplog.text


def test_a_slow_database_fails_the_file_by_its_limit_and_holds_up_no_other(
    here: Installation,
) -> None:
    here.store("ann")
    here.grant()
    here.write(READS)
    with here.engine.begin() as conn:
        conn.execute(text("LOCK TABLE secret_grant"))
        with here.manager(dag_file_processor_timeout=1) as manager:
            until(manager, lambda: "while it waited for the variable 'v'" in here.errors())
            here.write("from headway.sdk import DAG\nDAG('quick')\n", "e.py")
            until(manager, lambda: here.dags() == ["quick"])
            conn.rollback()
    here.write(f"{READS}# once more\n")
    with here.manager() as manager:
        until(manager, lambda: here.dags() == ["dag_of_ann", "quick"])


def test_what_the_parser_was_provided_with_needs_the_grant_as_well(
    here: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWAY_VAR_V", "provided")
    here.write(READS)

    with here.manager() as manager:
        until(manager, lambda: "grant v --bundle dags" in here.errors())
        here.grant()
        until(manager, lambda: here.dags() == ["dag_of_provided"])


def test_a_bundle_may_have_the_setting_alone(here: Installation) -> None:
    here.store("ann")
    here.grant()
    here.grant(to_bundle("other"))
    here.write(READS)
    here.write(READS.replace("dag_of_", "other_of_"), folder="other")
    other = {"other": {"path": str(here.folder / "other"), "parse_time_secrets": True}}

    with here.manager(bundles=other, parse_time_secrets=False) as manager:
        until(manager, lambda: here.dags() == ["other_of_ann"])
        until(manager, lambda: "settings of bundle 'dags'" in here.errors())
