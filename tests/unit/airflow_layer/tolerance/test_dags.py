"""DAG and @dag take what Airflow's took, and say what has no effect."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from headway import sdk
from headway.airflow_layer import notes
from headway.airflow_layer.differences import DELTA, INTERVAL
from headway.airflow_layer.tolerance.dags import DAG, dag
from headway.domain.dag.cron_semantics import CronSemantics
from headway.domain.errors import DagError
from headway.sdk.authoring.current import DagFile, collect
from headway.sdk.harness.specification import to_spec


def made(*args: Any, **given: Any) -> sdk.DAG:
    with DAG("d", *args, **given) as found:
        sdk.EmptyOperator(task_id="t")
    to_spec(found, "d.py")
    return found


def test_old_arguments_have_their_new_names() -> None:
    assert made(concurrency=3).spec.max_active_tasks == 3
    assert notes.notes() == [
        "The argument concurrency of a DAG is called max_active_tasks now; write that."
    ]


def test_a_new_name_wins() -> None:
    assert made(max_active_tasks=5, concurrency=3).spec.max_active_tasks == 5


@pytest.mark.parametrize("name", ["default_view", "orientation", "access_control", "owner_links"])
def test_what_has_no_effect_is_dropped_with_one_note(name: str) -> None:
    made(**{name: "x"})
    made(**{name: "y"})

    [note] = notes.notes()
    assert note.startswith(f"The argument {name} of a DAG has no effect: ")


@pytest.mark.parametrize(
    "given",
    [
        {"sla_miss_callback": None},
        {"fail_fast": False},
        {"tags": None},
        {"default_view": "grid"},
        {"render_template_as_native_obj": False},
        {"user_defined_macros": None},
        {"max_consecutive_failed_dag_runs": 0},
        {"default_args": None},
        {"catchup": None},
    ],
)
def test_what_says_nothing_is_dropped_without_a_note(given: dict[str, Any]) -> None:
    made(**given)

    assert notes.notes() == []


@pytest.mark.parametrize("given", [{"fail_fast": True}, {"nonsense": 1}])
def test_what_would_change_a_run_is_refused_as_ever(given: dict[str, Any]) -> None:
    with pytest.raises(DagError, match=r"fail_fast|nonsense"):
        made(**given)


def test_the_description_and_the_schedule_may_come_without_names() -> None:
    found = made("what it does", "@hourly")

    assert found.spec.description == "what it does"
    assert found.spec.timetable.arguments["cron"] == "0 * * * *"


def test_arguments_without_a_name_are_never_lost() -> None:
    def etl() -> None: ...

    for make in (made, lambda *args: dag("d", *args)(etl)()):
        with pytest.raises(DagError, match="takes dag_id, description, schedule so; write"):
            make("what it does", "@hourly", datetime(2024, 1, 5, tzinfo=UTC))


@pytest.mark.parametrize(
    ("schedule", "asks"),
    [
        ("@daily", True),
        ("0 5 * * *", True),
        (timedelta(hours=1), False),
        (None, False),
        ("@once", False),
        ("@continuous", False),
        (sdk.DataTimetable("0 5 * * *"), False),
    ],
)
def test_a_schedule_by_time_asks_what_ds_means(schedule: object, asks: bool) -> None:
    made(schedule=schedule)

    assert (INTERVAL in notes.notes()) is asks


@pytest.mark.parametrize("chosen", ["interval", "trigger"])
def test_who_chooses_is_not_asked(chosen: str) -> None:
    made(schedule="@daily", cron_semantics=chosen)
    with collect(DagFile("m", Path("/m.py"), Path("/"), [], None, CronSemantics(chosen))):
        made(schedule="@daily")

    assert notes.notes() == []


def test_a_timedelta_is_told_of_by_itself() -> None:
    made(schedule=timedelta(hours=1))

    assert notes.notes() == [DELTA]


def test_default_args_lose_what_no_task_takes() -> None:
    found = made(
        default_args={
            "owner": "ann",
            "retries": 2,
            "provide_context": True,
            "max_active_runs": 1,
            "schedule_interval": "@daily",
            "wait_for_downstream": False,
            "conn": "db",
        }
    )

    assert set(found.default_args) == {"owner", "retries", "conn"}
    about = [note.split()[0] for note in notes.notes()]
    assert about == ["The", "max_active_runs", "schedule_interval", "No"]
    assert "takes conn, which is in default_args" in notes.notes()[-1]


def test_default_args_that_would_change_a_run_are_refused() -> None:
    with pytest.raises(DagError, match="there is no run_as_user"):
        made(default_args={"run_as_user": "ann"})


def test_dates_may_be_text() -> None:
    found = made(default_args={"start_date": "2024-01-05"}, end_date="2024-02-01T00:00:00Z")

    assert found.spec.start_date == datetime(2024, 1, 5, tzinfo=UTC)
    assert found.spec.end_date == datetime(2024, 2, 1, tzinfo=UTC)


def test_the_decorator_takes_the_same() -> None:
    def etl() -> None:
        """Load."""
        sdk.EmptyOperator(task_id="t")

    made = dag(concurrency=2, schedule=None)(etl)()

    assert isinstance(made, DAG)
    assert (made.dag_id, made.spec.max_active_tasks, made.spec.doc_md) == ("etl", 2, "Load.")
    assert dag(etl)().dag_id == "etl"
    assert dag("named")(etl)().dag_id == "named"


class Section:
    """Settings of a file, which have keys and are no Mapping."""

    def keys(self) -> list[str]:
        return ["retries"]

    def __getitem__(self, name: str) -> int:
        return 3


def test_what_has_keys_is_taken_for_a_dictionary() -> None:
    found = made(default_args=Section(), user_defined_macros=Section())

    assert found.default_args == {"retries": 3}
    assert found.user_defined_macros == {"retries": 3}
