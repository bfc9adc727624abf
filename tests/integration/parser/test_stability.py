"""DAGs that differ from one parse to the next make no versions without end."""

from dataclasses import replace

import pytest
from sqlalchemy import Engine, text
from tests.integration.parses import claim, parse, store_of, take_over, versions

from headway.db.core.processes import Identity
from headway.db.reads import dag_file_views
from headway.domain.dag.spec import DagSpec
from headway.testing.data import seed
from headway_parser.publish.publish import Published
from headway_parser.publish.stability import MOST_PER_HOUR, MOST_PER_MONTH


@pytest.fixture
def me(engine: Engine) -> Identity:
    return seed.register(engine, "parser")


def spec(shape: str, *, dynamic: bool = False) -> DagSpec:
    return replace(seed.dag(seed.task(shape)), dynamic=dynamic)


def check(
    engine: Engine, me: Identity, first: DagSpec, second: DagSpec, code: bytes = b"code"
) -> Published:
    """Store a parse that is the check of one before it, of the same code."""
    claim(engine, me, "a.py")
    before = parse("a.py", first, code=code).result
    again = replace(parse("a.py", second, code=code), first=before)
    return store_of(engine, me).files([again])[again.file]


def warnings(engine: Engine) -> list[str]:
    with engine.connect() as conn:
        return [problem.error for problem in dag_file_views.warnings(conn)]


def in_force(engine: Engine) -> int:
    number = text(
        "SELECT number FROM dag JOIN dag_version AS version ON version.id = dag.version_id"
    )
    with engine.connect() as conn:
        return int(conn.execute(number).scalar_one())


def test_another_shape_of_the_same_code_is_read_twice(engine: Engine, me: Identity) -> None:
    take_over(engine, me, parse("a.py", spec("one")))
    [stored] = take_over(engine, me, parse("a.py", spec("two")))

    assert stored.unstable
    assert versions(engine) == [("etl", 1)]

    assert check(engine, me, spec("two"), spec("two")) == Published(changed=True)
    assert versions(engine) == [("etl", 1), ("etl", 2)]
    assert warnings(engine) == []


def test_one_that_differs_each_time_makes_no_version_but_a_warning(
    engine: Engine, me: Identity
) -> None:
    take_over(engine, me, parse("a.py", spec("one")))
    check(engine, me, spec("two"), spec("three"))

    assert versions(engine) == [("etl", 1)]
    [warning] = warnings(engine)
    assert warning.startswith(
        "DAG etl differs each time that its file is read: tasks[0].task_id was 'two', then 'three'."
    )

    take_over(engine, me, parse("a.py", spec("one")))
    assert warnings(engine) == []


def test_a_shape_that_comes_back_is_the_version_that_it_was(engine: Engine, me: Identity) -> None:
    take_over(engine, me, parse("a.py", spec("one"), code=b"1"))
    take_over(engine, me, parse("a.py", spec("two"), code=b"2"))
    take_over(engine, me, parse("a.py", spec("one"), code=b"1"))

    assert versions(engine) == [("etl", 1), ("etl", 2)]
    assert in_force(engine) == 1


@pytest.mark.parametrize(("dynamic", "most"), [(False, MOST_PER_HOUR), (True, 2 * MOST_PER_HOUR)])
def test_one_that_drifts_is_held_unless_it_says_that_it_is_dynamic(
    engine: Engine, me: Identity, dynamic: bool, most: int
) -> None:
    take_over(engine, me, parse("a.py", spec("start", dynamic=dynamic)))
    for number in range(2 * MOST_PER_HOUR - 1):
        shape = spec(f"shape_{number}", dynamic=dynamic)
        check(engine, me, shape, shape)

    assert len(versions(engine)) == most
    assert bool(warnings(engine)) is not dynamic


def test_one_whose_file_reads_variables_follows_these_as_often_as_they_change(
    engine: Engine, me: Identity
) -> None:
    def reading(shape: str) -> DagSpec:
        return replace(spec(shape), parse_secrets=("variable:v",))

    take_over(engine, me, parse("a.py", reading("start")))
    for number in range(2 * MOST_PER_HOUR - 1):
        check(engine, me, reading(f"shape_{number}"), reading(f"shape_{number}"))

    assert len(versions(engine)) == 2 * MOST_PER_HOUR
    assert warnings(engine) == []


def test_a_file_is_checked_once_even_if_its_dags_are_others_each_time(
    engine: Engine, me: Identity
) -> None:
    def shaped(dag_id: str, shape: str) -> DagSpec:
        return replace(spec(shape), dag_id=dag_id)

    take_over(engine, me, parse("a.py", shaped("one", "x"), shaped("two", "x")))
    claim(engine, me, "a.py")
    first = parse("a.py", shaped("one", "y"))
    again = replace(parse("a.py", shaped("two", "y")), first=first.result)
    published = store_of(engine, me).files([again])[again.file]

    assert not published.unstable
    [warning] = warnings(engine)
    assert "DAG two differs each time that its file is read: it was not there, then" in warning


def test_a_warning_holds_nothing_that_cannot_be_stored(engine: Engine, me: Identity) -> None:
    def odd(value: str) -> DagSpec:
        return replace(spec("one"), params={"p\0" + "q" * 100_000: value})

    take_over(engine, me, parse("a.py", odd("1")))
    check(engine, me, odd("2"), odd("3"))

    [warning] = warnings(engine)
    assert len(warning) < 1_000


def test_one_that_is_what_is_in_force_only_when_it_is_checked_is_told_of(
    engine: Engine, me: Identity
) -> None:
    take_over(engine, me, parse("a.py", spec("one")))
    check(engine, me, spec("two"), spec("one"))

    assert versions(engine) == [("etl", 1)]
    [warning] = warnings(engine)
    assert "tasks[0].task_id was 'two', then 'one'" in warning


def test_one_that_drifts_slowly_is_held_after_some_days(engine: Engine, me: Identity) -> None:
    """As with a date in it: each day has another shape, and a parse is as its check."""
    older = text("UPDATE dag_version SET created_at = created_at - interval '1 day'")
    take_over(engine, me, parse("a.py", spec("start")))
    for number in range(MOST_PER_MONTH + 5):
        with engine.begin() as conn:
            conn.execute(older)
        shape = spec(f"shape_{number}")
        check(engine, me, shape, shape)

    assert len(versions(engine)) == MOST_PER_MONTH
    [warning] = warnings(engine)
    assert f"has changed {MOST_PER_MONTH} times within 30 days" in warning

    check(engine, me, spec("start"), spec("start"))
    assert warnings(engine) == []
    assert in_force(engine) == 1, "a shape that is there already makes no version"


def test_code_that_comes_back_is_read_twice_if_it_has_another_shape(
    engine: Engine, me: Identity
) -> None:
    """As with a helper that is imported now and then, and a random name."""
    take_over(engine, me, parse("a.py", spec("one"), code=b"1"))
    take_over(engine, me, parse("a.py", spec("two"), code=b"2"))
    [stored] = take_over(engine, me, parse("a.py", spec("three"), code=b"1"))
    assert stored.unstable

    check(engine, me, spec("three"), spec("four"), code=b"1")
    assert versions(engine) == [("etl", 1), ("etl", 2)]
    [warning] = warnings(engine)
    assert "task_id was 'three', then 'four'" in warning
    assert in_force(engine) == 1, "or a bad deploy that is reverted would stay in force"

    check(engine, me, spec("three"), spec("three"), code=b"1")
    assert in_force(engine) == 3


def test_code_that_comes_back_and_drifts_has_its_newest_version_in_force(
    engine: Engine, me: Identity
) -> None:
    for number in range(MOST_PER_HOUR):
        shape = spec(f"shape_{number}")
        check(engine, me, shape, shape, code=b"1")
    check(engine, me, spec("shape_3"), spec("shape_3"), code=b"1")
    assert in_force(engine) == 4
    check(engine, me, spec("other"), spec("another"), code=b"1")
    assert in_force(engine) == 4, "what is of this very code stays"
    take_over(engine, me, parse("a.py", spec("one"), code=b"2"))

    published = check(engine, me, spec("other"), spec("other"), code=b"1")
    assert published.changed
    assert in_force(engine) == len(versions(engine)) - 1 == MOST_PER_HOUR
    [warning] = warnings(engine)
    assert f"has changed {MOST_PER_HOUR} times within an hour" in warning
