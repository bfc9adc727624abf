"""What is written about task instances goes no further than the table of moves, come what may."""

import pytest
from sqlalchemy import Engine, text

from headway.db.changes import run_changes
from headway.db.core import events
from headway.db.core.events import Event
from headway.decide.changes.intervene import Intervention
from headway.domain.states import Role, TaskState
from headway.testing.data import seed
from headway.testing.data.forced import force

BY = ("user:ann", "test", None)

NONE, SUCCESS, FAILED, SKIPPED = (
    TaskState.NONE,
    TaskState.SUCCESS,
    TaskState.FAILED,
    TaskState.SKIPPED,
)

STANDS = text("""
    SELECT task.state, it.phase, it.stop_to, task.map_index
      FROM task_instance AS task
      LEFT JOIN task_attempt AS it ON it.task_instance_id = task.id
""")


@pytest.mark.parametrize("role", [Role.USER, Role.SCHEDULER])
@pytest.mark.parametrize(
    ("state", "what"),
    [
        ("success", Intervention({SKIPPED: [1]})),
        ("failed", Intervention({SKIPPED: [1]})),
        ("upstream_failed", Intervention({SKIPPED: [1]})),
        ("running", Intervention({NONE: [1]}, withdrawn=[1])),
        ("restarting", Intervention(withdrawn=[1])),
        ("queued", Intervention(stops={FAILED: [1]})),
        ("success", Intervention(stops={NONE: [1]}, withdrawn=[1])),
        ("success success", Intervention(placeholders=[1])),
    ],
)
def test_what_was_decided_about_another_state_is_not_written(
    engine: Engine, state: str, what: Intervention, role: Role
) -> None:
    """Under the locks that everybody takes this never comes to pass: it is the second wall."""
    run = seed.start_run(engine, seed.dag())
    force(engine, run, work=state)

    def stands() -> list[tuple[object, ...]]:
        with engine.connect() as conn:
            return [tuple(row) for row in conn.execute(STANDS)]

    before = stands()
    with engine.begin() as conn:
        events.add(conn, Event(actor="user:ann", action="test"))
        run_changes.write(conn, what, role, BY)

    assert stands() == before


def test_users_alone_mark_what_has_ended(engine: Engine) -> None:
    run = seed.start_run(engine, seed.dag())
    force(engine, run, work="success")
    with engine.begin() as conn:
        run_changes.write(conn, Intervention({FAILED: [1]}), Role.SCHEDULER, BY)

    assert seed.task_states(engine) == {"work": "success"}
