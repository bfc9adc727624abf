"""Mapped groups of which instances are cleared, marked, explained, or of another version."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine
from tests.integration.scheduler.groups.grouped_runs import (
    FAILED,
    RUN,
    SPEC,
    claim,
    dag,
    end,
    go_on,
    inside,
    settle,
    start,
    states,
)

from headway.actions.change import Author
from headway.actions.explain.explain import ExplainRequest, explain
from headway.actions.runs.clear import clear_tasks
from headway.actions.runs.mark import Marking, mark_tasks
from headway.db.scheduling import queued_runs
from headway.decide.changes.clear import Selection
from headway.decide.explain.explanation import Explanation, Reason
from headway.domain.states import TaskState
from headway.runtime.settings.configuration import read
from headway.runtime.settings.scheduler import SchedulerSettings
from headway.testing.data import seed
from headway_scheduler.replica.replica import Replica


def clear(engine: Engine, *names: str, **options: Any) -> None:
    with engine.begin() as conn:
        clear_tasks(conn, "etl", RUN, Selection(names, **options), Author("user:ann"))


def ended(engine: Engine, replica: Replica) -> None:
    """Let the run end with a failure of the instance 1 of `a`."""
    start(engine, replica, [7, 8, 9])
    running = claim(engine)
    for name, claimed in running.items():
        end(engine, claimed, FAILED if name == "a1" else seed.SUCCESS)
    settle(replica)
    go_on(engine, replica)
    assert seed.run_states(engine) == {"failed": 1}


def test_one_instance_is_cleared_with_those_of_its_map_index(
    engine: Engine, replica: Replica, restart: Callable[[], None]
) -> None:
    ended(engine, replica)

    clear(engine, "a", map_index=1)
    restart()
    settle(replica)

    assert states(engine) == {
        "list": "success",
        "a0": "success",
        "a1": "scheduled",
        "a2": "success",
        "b0": "success",
        "b1": "none",
        "b2": "success",
        "c0": "success",
        "c1": "none",
        "c2": "success",
        "d0": "success",
        "d1": "none",
        "d2": "success",
        "last": "none",
        "report": "none",
    }
    go_on(engine, replica)
    assert set(states(engine).values()) == {"success"}


@pytest.fixture
def restart(engine: Engine) -> Callable[[], None]:
    """Start again the run that was cleared."""

    def start_again() -> None:
        with engine.begin() as conn:
            queued_runs.start(conn, [1], seed.START, seed.AGING)

    return start_again


def test_what_is_cleared_with_its_input_is_expanded_anew(
    engine: Engine, replica: Replica, restart: Callable[[], None]
) -> None:
    ended(engine, replica)

    clear(engine, "list")
    restart()
    settle(replica)

    assert states(engine) == {**dict.fromkeys(["a", "b", "c", "d", "last", "report"], "none")} | {
        "list": "scheduled"
    }


def test_a_success_by_hand_lets_the_same_map_index_go_on(
    engine: Engine, replica: Replica, restart: Callable[[], None]
) -> None:
    ended(engine, replica)

    with engine.begin() as conn:
        marking = Marking(["a"], TaskState.SUCCESS, map_index=1)
        mark_tasks(conn, "etl", RUN, marking, Author("user:ann"))
    restart()
    settle(replica)

    assert states(engine, "b", "c") == {
        "b0": "success",
        "b1": "scheduled",
        "b2": "success",
        "c0": "success",
        "c1": "none",
        "c2": "success",
    }


def explained(engine: Engine, task_id: str, map_index: int | None = None) -> Explanation:
    with engine.begin() as conn:
        wanted = ExplainRequest("etl", RUN, task_id, map_index)
        return explain(conn, wanted, read(SchedulerSettings), seed.START)


def test_an_explanation_names_the_instance_of_the_same_map_index(
    engine: Engine, replica: Replica
) -> None:
    start(engine, replica, [7, 8, 9])
    running = claim(engine)
    end(engine, running["a1"], FAILED)
    end(engine, running["a2"], seed.SUCCESS, "b")
    settle(replica)

    waiting = explained(engine, "c", 0)
    assert (waiting.reason, waiting.sentence) == (Reason.UPSTREAM, "It waits for b[0] (undecided).")
    assert [(row.task_id, row.map_index) for row in waiting.held_by] == [("b", 0)]
    assert waiting.because is not None
    assert waiting.because.subject is not None
    assert waiting.because.subject.name == "a[0]"

    never = explained(engine, "c", 1)
    assert never.reason is Reason.TRIGGER_RULE
    assert "it stands below b[1] (upstream_failed)" in never.sentence
    assert f"`headway tasks clear etl {RUN} a --map-index 1 --yes`" in never.change

    chosen = explained(engine, "b", 2)
    assert (chosen.reason, chosen.sentence) == (
        Reason.NOT_CHOSEN,
        "a[2] above it chose not to run it.",
    )


def test_before_the_group_is_expanded_an_explanation_says_so(
    engine: Engine, replica: Replica
) -> None:
    seed.start_run(engine, SPEC)
    settle(replica)

    told = explained(engine, "b", 3)
    assert (told.reason, told.sentence.split(":")[0]) == (
        Reason.NOT_EXPANDED,
        "There is no b[3] yet",
    )


def test_a_new_task_of_the_group_has_the_instances_of_the_others(
    engine: Engine, replica: Replica
) -> None:
    """A run that is given another version: what is new is decided about by index, too."""
    start(engine, replica, [7, 8])
    running = claim(engine)
    end(engine, running["a0"], FAILED)
    end(engine, running["a1"])
    settle(replica)
    seed.store(engine, dag(*SPEC.tasks, inside("new", "a")))

    with engine.begin() as conn:
        selection = Selection(["new"])
        clear_tasks(conn, "etl", RUN, selection, Author("user:ann"), "latest")
    settle(replica)

    assert states(engine, "new") == {"new0": "upstream_failed", "new1": "scheduled"}
