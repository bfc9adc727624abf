"""DAGs, and what is wrong with their files."""

from dataclasses import replace

from sqlalchemy import Engine, text

from headway.db.reads import dag_file_views, dag_views
from headway.db.reads.dag_file_views import DagFileView
from headway.db.reads.dag_views import DagExtent
from headway.domain.states import RunState
from headway.testing.data import seed

ERROR = text("INSERT INTO import_error (bundle, relative_path, error) VALUES ('main', :path, :it)")
WARNING = text("""
    INSERT INTO dag_file (bundle, relative_path, warning, parsed_at)
    VALUES ('main', :path, :it, now())
""")


def test_a_dag_has_the_number_of_its_version_its_tasks_and_its_running_runs(engine: Engine) -> None:
    seed.store(engine, seed.dag())
    seed.start_run(engine, seed.dag(seed.task("a"), seed.task("b", "a")))

    with engine.connect() as conn:
        found = dag_views.dag(conn, "etl")
        extent = dag_views.extent(conn, "etl")

    assert found is not None
    assert (found.version, found.tasks, found.running, found.tags) == (2, 2, 1, [])
    assert (found.active, found.paused, found.schedule_error) == (True, False, None)
    assert extent == DagExtent(runs=1, instances=2, versions=2)


def test_a_dag_that_no_file_defines_is_found_by_name_and_listed_on_request(engine: Engine) -> None:
    seed.store(engine, seed.dag())
    seed.store(engine, seed.dag(dag_id="gone"))
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag SET active = false WHERE dag_id = 'gone'"))
        listed = [dag.dag_id for dag in dag_views.dags(conn)]
        all_of_them = [dag.dag_id for dag in dag_views.dags(conn, inactive=True)]
        gone, absent = dag_views.dag(conn, "gone"), dag_views.dag(conn, "none")

    assert (listed, all_of_them) == (["etl"], ["etl", "gone"])
    assert gone is not None
    assert not gone.active
    assert absent is None


def test_a_schedule_that_is_asked_again_later_has_no_next_run(engine: Engine) -> None:
    seed.store(engine, seed.dag())
    with engine.begin() as conn:
        conn.execute(
            text("UPDATE dag SET next_run_after = now(), next_interval_start = NULL"),
        )
        found = dag_views.dag(conn, "etl")

    assert found is not None
    assert found.next_run_after is None


def test_the_version_in_force_is_the_one_that_the_dag_names(engine: Engine) -> None:
    seed.store(engine, seed.dag())
    number = seed.store(engine, replace(seed.dag(), description="other"), paused=True)

    with engine.connect() as conn:
        found, absent = dag_views.in_force(conn, "etl"), dag_views.in_force(conn, "none")

    assert found is not None
    assert (found.version_id, found.number, found.active, found.paused) == (number, 2, True, False)
    assert absent is None


def test_each_dag_is_listed_with_the_problems_of_its_file(engine: Engine) -> None:
    for dag_id in ("broken", "etl", "well"):
        seed.store(engine, seed.dag(dag_id=dag_id))
    with engine.begin() as conn:
        conn.execute(ERROR, {"path": "broken.py", "it": "no"})
        conn.execute(ERROR, {"path": "empty.py", "it": "not at all"})
        conn.execute(WARNING, {"path": "broken.py", "it": "hm"})
        conn.execute(WARNING, {"path": "etl.py", "it": "ahem"})
        conn.execute(text("UPDATE dag SET active = false WHERE dag_id = 'etl'"))
        found = dag_file_views.dag_list(conn)
        with_inactive = dag_file_views.dag_list(conn, inactive=True)

    broken = DagFileView("main", "broken.py", "no", "hm")
    warned = DagFileView("main", "etl.py", None, "ahem")
    empty = DagFileView("main", "empty.py", "not at all", None)
    well = DagFileView("main", "well.py", None, None)
    assert [(dag.dag and dag.dag.dag_id, dag.file) for dag in found.entries] == [
        ("broken", broken),
        ("well", well),
        (None, empty),
        (None, warned),
    ]
    assert [(dag.dag and dag.dag.dag_id, dag.file) for dag in with_inactive.entries] == [
        ("broken", broken),
        ("etl", warned),
        ("well", well),
        (None, empty),
    ]
    assert [dag.dag_id for dag in found.dags] == ["broken", "well"]
    assert [problem.relative_path for problem in found.errors] == ["broken.py", "empty.py"]
    assert [problem.relative_path for problem in found.warnings] == ["broken.py", "etl.py"]


def test_a_run_that_has_ended_does_not_count_as_running(engine: Engine) -> None:
    seed.start_run(engine, seed.dag())
    with engine.begin() as conn:
        conn.execute(
            text("UPDATE dag_run SET state = :state, ended_at = now()"),
            {"state": RunState.SUCCESS},
        )
        found = dag_views.dag(conn, "etl")

    assert found is not None
    assert found.running == 0
