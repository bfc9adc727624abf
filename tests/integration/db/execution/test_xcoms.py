"""XComs: written by the attempt that runs, read from the last attempt; lists of mapped tasks."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest
from sqlalchemy import Engine, text

from headway.db.core.attempt_keys import AttemptKey
from headway.db.execution import xcoms
from headway.db.scheduling import run_snapshots, tasks
from headway.domain.arguments import JsonValue
from headway.domain.dag.retry import Next
from headway.domain.states import Outcome, TaskState
from headway.testing.data import seed

AT_ONCE = Next(TaskState.UP_FOR_RETRY, timedelta(0))


@pytest.fixture
def key(engine: Engine) -> AttemptKey:
    """The one attempt that runs."""
    [key] = seed.running(engine, seed.dag())
    return key


def push(engine: Engine, key: AttemptKey, value: JsonValue, name: str = "answer") -> bool:
    with engine.begin() as conn:
        return xcoms.push(conn, key, name, value)


def pull(engine: Engine, name: str = "answer", task_id: str = "work") -> tuple[JsonValue] | None:
    with engine.connect() as conn:
        run_id = conn.execute(text("SELECT id FROM dag_run")).scalar_one()
        return xcoms.pull(conn, run_id, task_id, name)


def try_again(engine: Engine, keys: Sequence[AttemptKey]) -> AttemptKey:
    """Fail the attempts; return the next one, claimed."""
    seed.report(engine, keys, Outcome.FAILED, AT_ONCE)
    with engine.begin() as conn:
        later = seed.START + 100_000 * seed.DAY
        assert tasks.schedule_retries(conn, later, 10, seed.AGING) == 1
        tasks.queue(conn, [keys[0].task_instance_id], seed.START, seed.SCHEDULER)
    [claimed] = seed.claim(engine, seed.register(engine, "worker"))
    return claimed.key


@pytest.mark.parametrize("value", [None, 42, "text", [1, [2]], {"key": {"nested": True}}, 0.5])
def test_a_value_comes_back_as_it_was(engine: Engine, key: AttemptKey, value: JsonValue) -> None:
    assert push(engine, key, value)

    assert pull(engine) == (value,)


def test_the_last_value_under_a_name_counts(engine: Engine, key: AttemptKey) -> None:
    push(engine, key, "first")
    push(engine, key, "other", name="else")
    push(engine, key, "second")

    assert pull(engine) == ("second",)
    assert pull(engine, "nothing") is None
    assert pull(engine, task_id="nobody") is None


def test_only_the_holder_of_the_token_writes(engine: Engine, key: AttemptKey) -> None:
    assert not push(engine, replace(key, token=uuid4()), "strange")

    assert pull(engine) is None


def test_an_attempt_that_has_ended_writes_no_more(engine: Engine, key: AttemptKey) -> None:
    push(engine, key, "in time")
    seed.report(engine, [key])

    assert not push(engine, key, "late")
    assert pull(engine) == ("in time",)


def test_readers_see_the_last_attempt_alone(engine: Engine, key: AttemptKey) -> None:
    push(engine, key, "first")
    push(engine, key, "first", name="only then")

    second = try_again(engine, [key])

    assert second.attempt == 2
    assert pull(engine) is None
    assert not push(engine, key, "late")
    push(engine, second, "second")
    assert pull(engine) == ("second",)
    assert pull(engine, "only then") is None


@pytest.mark.parametrize(
    ("value", "length"),
    [([], 0), ([1, [2, 3]], 2), ({}, 0), ({"a": [1, 2]}, 1), ("text", None), (3, None)],
)
def test_a_list_or_dictionary_is_stored_with_its_length(
    engine: Engine, key: AttemptKey, value: JsonValue, length: int | None
) -> None:
    push(engine, key, [1, 2, 3, 4])
    push(engine, key, value)

    assert lengths(engine, ("work", "answer")) == [length]


@pytest.fixture
def mapped(engine: Engine) -> list[AttemptKey]:
    """The attempts of five instances of one mapped task, all running."""
    return run_mapped(engine, 5)


def run_mapped(engine: Engine, instances: int) -> list[AttemptKey]:
    worker = seed.register(engine, "worker")
    return [claimed.key for claimed in seed.run_mapped(engine, worker, instances)]


def only_run(engine: Engine) -> int:
    with engine.connect() as conn:
        return int(conn.execute(text("SELECT id FROM dag_run")).scalar_one())


def lengths(engine: Engine, *wanted: tuple[str, str]) -> list[int | None]:
    run = only_run(engine)
    names = [(run, task_id, name) for task_id, name in wanted]
    with engine.connect() as conn:
        found = run_snapshots.lengths(conn, names)
    assert found.keys() == set(names)
    return [found[name] for name in names]


def page(engine: Engine, after: int = -1) -> dict[int, JsonValue]:
    with engine.connect() as conn:
        return xcoms.pull_page(conn, only_run(engine), "m", "answer", after)


def pushed(engine: Engine) -> list[int]:
    with engine.connect() as conn:
        return xcoms.pushed(conn, only_run(engine), "m", "answer")


def test_an_instance_is_read_by_its_map_index(engine: Engine, mapped: list[AttemptKey]) -> None:
    for number, key in enumerate(mapped[:3]):
        push(engine, key, number * 10)

    with engine.connect() as conn:
        run = only_run(engine)
        found = [xcoms.pull(conn, run, "m", "answer", index) for index in (0, 2, 4, 5, -1)]
    assert found == [(0,), (20,), None, None, None]


def test_a_mapped_task_is_what_its_successful_instances_have_left(
    engine: Engine, mapped: list[AttemptKey]
) -> None:
    assert lengths(engine, ("m", "answer")) == [0]
    for number in (4, 3, 2, 0):
        push(engine, mapped[number], number)
        push(engine, mapped[number], "other", name="else")
    assert (page(engine), pushed(engine), lengths(engine, ("m", "answer"))) == ({}, [], [0])

    seed.report(engine, [mapped[4], mapped[0], mapped[1]])
    seed.report(engine, [mapped[2]], Outcome.FAILED, Next(TaskState.FAILED))
    seed.report(engine, [mapped[3]], Outcome.SKIPPED, Next(TaskState.SKIPPED))

    assert page(engine) == {0: 0, 4: 4}
    assert pushed(engine) == [0, 4]
    assert lengths(engine, ("m", "answer"), ("m", "else"), ("m", "none")) == [2, 2, 0]


def test_only_the_last_attempt_of_an_instance_counts(
    engine: Engine, mapped: list[AttemptKey]
) -> None:
    push(engine, mapped[1], "first")
    second = try_again(engine, [mapped[1]])
    seed.report(engine, [second, mapped[0]])

    assert (page(engine), pushed(engine), lengths(engine, ("m", "answer"))) == ({}, [], [0])


def test_pages_follow_each_other(
    engine: Engine, mapped: list[AttemptKey], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xcoms, "MOST_ROWS", 2)
    for number, key in enumerate(mapped):
        if number != 1:
            push(engine, key, number)
    seed.report(engine, mapped)

    assert [page(engine, after) for after in (-1, 2, 4)] == [{0: 0, 2: 2}, {3: 3, 4: 4}, {}]


def test_a_page_ends_with_the_value_that_fills_it(
    engine: Engine, mapped: list[AttemptKey], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xcoms, "MOST_BYTES", 100)
    for key, length in zip(mapped, (1000, 30, 30, 48, 1), strict=True):
        push(engine, key, "x" * (length - 2))  # with its quotes
    seed.report(engine, mapped)

    assert [list(page(engine, after)) for after in (-1, 0, 3)] == [[0], [1, 2, 3], [4]]


def test_lengths_are_found_for_many_at_once(engine: Engine) -> None:
    spec = seed.dag(seed.task("list"), seed.task("number"), seed.task("skipped"), seed.task("also"))
    keys = dict(zip(("list", "number", "skipped", "also"), seed.running(engine, spec), strict=True))
    push(engine, keys["list"], [1, 2], name="return_value")
    push(engine, keys["list"], {"a": 1}, name="other")
    push(engine, keys["number"], 3, name="return_value")
    push(engine, keys["also"], [1], name="return_value")
    skipped = [keys["skipped"], keys["also"]]
    seed.report(engine, skipped, Outcome.SKIPPED, Next(TaskState.SKIPPED))

    assert lengths(
        engine,
        ("list", "return_value"),
        ("list", "return_value"),
        ("list", "other"),
        ("list", "nothing"),
        ("number", "return_value"),
        ("skipped", "return_value"),
        ("also", "return_value"),
        ("nobody", "return_value"),
    ) == [2, 2, 1, None, None, 0, 1, None]
    with engine.connect() as conn:
        assert run_snapshots.lengths(conn, []) == {}
        assert run_snapshots.lengths(conn, [(0, "list", "return_value")]) == {
            (0, "list", "return_value"): None
        }


def test_a_reader_finds_the_last_attempt_of_its_source(engine: Engine) -> None:
    source, reader = seed.running(engine, seed.dag(seed.task("source"), seed.task("reader")))

    def found(task_id: str = "source") -> xcoms.XComSource:
        with engine.connect() as conn:
            return xcoms.source(conn, reader, only_run(engine), task_id)

    def left(winner: tuple[int, int] | None) -> tuple[JsonValue] | None:
        assert winner is not None
        with engine.connect() as conn:
            return xcoms.pull_from(conn, winner, "answer")

    push(engine, source, [1])
    first = found()
    push(engine, try_again(engine, [source]), [2])
    second = found()

    assert (first.winner, second.winner) == (
        (source.task_instance_id, 1),
        (source.task_instance_id, 2),
    )
    assert (left(first.winner), left(second.winner)) == (([1],), ([2],))
    assert first.rank == second.rank == found("nobody").rank
    assert found("nobody").winner is None
