"""Commands that change something: they ask, they make way for others, they leave all or nothing."""

from threading import Event

import psycopg2
import pytest
import typer
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError, IntegrityError
from typer.testing import CliRunner

from headway.actions import transaction
from headway.cli.input.acting import act, ask, rehearse
from headway.cli.main import app
from headway.db.core import notices
from headway.db.core.notices import Notice
from headway.domain.errors import ConflictError, DatabaseError
from headway.testing.data import seed
from headway.testing.data.forced import force
from headway.testing.database.interleaving import waiting

RUN = f"scheduled__{seed.START.isoformat()}"
EVENT = text("INSERT INTO event (actor, action) VALUES ('user:ann', 'test')")
LOCK = text("SELECT FROM dag_run WHERE id = :run FOR NO KEY UPDATE")
IMPATIENT = text("SET LOCAL deadlock_timeout = '20ms'")
PATIENT = text("SET LOCAL deadlock_timeout = '1min'")


@pytest.fixture(autouse=True)
def database(monkeypatch: pytest.MonkeyPatch, database_url: str) -> None:
    """The commands reach the database of the test."""
    monkeypatch.setattr("headway.cli.input.session.database_url", lambda: database_url)


def say(*arguments: str, answer: str | None = None) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, list(arguments), input=answer)
    return result.exit_code, result.stdout, str(result.exception or "")


def events(engine: Engine) -> int:
    with engine.connect() as conn:
        count: int = conn.execute(text("SELECT count(*) FROM event")).scalar_one()
        return count


def test_a_rehearsal_leaves_nothing_behind(engine: Engine) -> None:
    def work(conn: Connection) -> int:
        return conn.execute(EVENT).rowcount

    assert (rehearse(work), events(engine)) == (1, 0)
    assert (act(work), events(engine)) == (1, 1)


def test_work_that_fails_leaves_nothing_behind(engine: Engine) -> None:
    def work(conn: Connection) -> None:
        conn.execute(EVENT)
        raise ConflictError("no")

    with pytest.raises(ConflictError):
        act(work)
    assert events(engine) == 0


def test_a_deadlock_is_no_failure(engine: Engine) -> None:
    """F5: what had to make way is done again from its start, and is done once."""
    one, two = seed.create_runs(engine, seed.store(engine, seed.dag()), [0, 1])
    tries: list[int] = []
    ended = Event()

    def other() -> None:
        with engine.begin() as conn:
            conn.execute(PATIENT)
            conn.execute(LOCK, {"run": two})
            conn.execute(LOCK, {"run": one})
        ended.set()

    with waiting(engine, other) as begin:

        def work(conn: Connection) -> None:
            if tries:
                assert ended.wait(10)
            tries.append(len(tries))
            conn.execute(IMPATIENT)
            conn.execute(EVENT)
            conn.execute(LOCK, {"run": one})
            if len(tries) == 1:
                begin()
            conn.execute(LOCK, {"run": two})

        act(work)

    assert tries == [0, 1]
    assert events(engine) == 1


@pytest.mark.parametrize("code", ["40001", "40P01", "55P03"])
def test_work_that_always_has_to_make_way_is_given_up(engine: Engine, code: str) -> None:
    tries: list[int] = []

    def work(conn: Connection) -> None:
        tries.append(1)
        raising = f"DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '{code}', MESSAGE = 'away'; END $$"
        conn.exec_driver_sql(raising)

    with pytest.raises((DatabaseError, DBAPIError), match="away"):
        act(work)
    assert len(tries) == transaction.TRIES


def test_an_error_that_is_no_bad_luck_is_not_tried_again() -> None:
    tries: list[int] = []

    def work(conn: Connection) -> None:
        tries.append(1)
        conn.execute(text("INSERT INTO pool (name, slots) VALUES ('x', -1)"))

    with pytest.raises(IntegrityError):
        act(work)
    assert len(tries) == 1


@pytest.mark.parametrize(
    "refused",
    [
        "SET LOCAL ROLE headway_readonly; DELETE FROM dag_run",
        "SET TRANSACTION READ ONLY; DELETE FROM dag_run",
    ],
)
def test_an_account_that_may_not_is_told_which_may(refused: str) -> None:
    with pytest.raises(DatabaseError, match=r"may not do that .* headway_user"):
        act(lambda conn: conn.exec_driver_sql(refused))


def test_the_services_are_told_after_the_commit(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[Notice, int]] = []

    def send(_engine: Engine, sent: list[Notice]) -> None:
        told.extend((notice, events(engine)) for notice in sent)
        raise DBAPIError("NOTIFY", None, psycopg2.Error())

    monkeypatch.setattr(notices, "send", send)
    monkeypatch.setenv("HEADWAY_DATABASE_NOTIFY", "true")
    monkeypatch.setenv("HEADWAY_DATABASE_POOLER", "false")
    act(lambda conn: conn.execute(EVENT))
    monkeypatch.setenv("HEADWAY_DATABASE_NOTIFY", "false")
    act(lambda conn: conn.execute(EVENT))

    assert told == [(notices.SCHEDULER, 1), (notices.STOP, 1)]


def test_where_nobody_can_be_asked_nothing_is_done(engine: Engine) -> None:
    run = seed.start_run(engine, seed.dag())
    force(engine, run, work="success")

    for command in (
        ["runs", "clear", "etl", RUN],
        ["runs", "mark", "etl", RUN, "--as", "failed"],
        ["runs", "cancel", "etl", RUN],
        ["runs", "delete", "etl", RUN],
        ["tasks", "clear", "etl", RUN, "work"],
        ["tasks", "mark", "etl", RUN, "work", "--as", "failed"],
    ):
        status, _, error = say(*command)
        assert status == 1
        assert error.endswith("Nobody can be asked here whether that is meant: add --yes.")
    assert events(engine) == 0
    assert seed.task_states(engine) == {"work": "success"}


@pytest.mark.parametrize(("answer", "agreed"), [("y", True), ("n", False), ("", False)])
def test_the_user_is_asked(monkeypatch: pytest.MonkeyPatch, answer: str, agreed: bool) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    asked: list[str] = []

    def confirm(question: str) -> bool:
        asked.append(question)
        return answer == "y"

    monkeypatch.setattr(typer, "confirm", confirm)
    if agreed:
        ask("It would change.")
    else:
        with pytest.raises(ConflictError, match="Nothing is changed"):
            ask("It would change.")
    assert asked == ["It would change. Go on?"]


def test_the_commands_that_change_runs_and_tasks(engine: Engine) -> None:
    run = seed.start_run(engine, seed.dag(seed.task("a"), seed.task("b", "a")))
    force(engine, run, a="running", b="none")
    about = f"Run {RUN} of etl: "

    def done(*arguments: str) -> str:
        status, output, error = say(*arguments, "--yes", "--reason", "a test")
        assert (status, error) == (0, "")
        return output.strip()

    assert done("tasks", "clear", "etl", RUN, "a", "b") == (
        about + "1 task instance told to stop, then cleared; the run goes on; "
        "it has version 1, which is in force."
    )
    assert done("tasks", "mark", "etl", RUN, "a", "--as", "success") == (
        about + "1 task instance told to stop, then marked success; the run goes on."
    )
    assert done("tasks", "cancel", "etl", RUN, "b") == (
        about + "1 task instance skipped; the run goes on."
    )
    assert done("runs", "cancel", "etl", RUN) == (
        about + "1 task instance told to stop, then marked failed; "
        "the run ends as failed when that has stopped."
    )
    assert done("runs", "clear", "etl", RUN, "--only-failed") == (
        about + "nothing is to be changed, the run is running."
    )
    seed.create_runs(engine, 1, [1])
    other = f"scheduled__{(seed.START + seed.DAY).isoformat()}"
    assert done("runs", "mark", "etl", other, "--as", "success") == (
        f"Run {other} of etl: the run is success."
    )
    assert done("runs", "delete", "etl", other) == (
        f"Deleted the run {other} of etl with 0 task instances."
    )
    _, output, _ = say("events", "etl", "-o", "json")
    assert output.count('"reason": "a test"') == 6
    assert [line.split()[2] for line in say("events", "etl", RUN)[1].splitlines()[1:]] == [
        *("run.cancel", "task.cancel", "task.mark", "task.clear")
    ]
