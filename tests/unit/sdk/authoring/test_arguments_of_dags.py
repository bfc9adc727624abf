"""Every argument that a DAG takes changes something: what is stored, or how templates render.

The names are those that DAGs take, so that a new one without a case fails.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from headway import sdk
from headway.airflow_layer.tolerance import dags as tolerant
from headway.domain.errors import DagError
from headway.domain.interval import DataInterval
from headway.domain.states import RunType
from headway.sdk.authoring.current import DagFile
from headway.sdk.authoring.groups.group_options import GROUP_OPTIONS
from headway.sdk.authoring.options import DAG_OPTIONS
from headway.sdk.harness.execution import execute
from headway.sdk.harness.specification import to_spec
from headway.sdk.running.facts import RunFacts
from headway.sdk.running.task_runtime import LocalRuntime, XComs

START = datetime(2013, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)

Case = tuple[Mapping[str, Any], Any]
"""What else a DAG needs for an argument to count, and a value of the argument."""


def tell(context: object) -> None: ...


OF_DAGS: Mapping[str, Case] = {
    "dag_id": ({}, "other"),
    "schedule": ({}, "@daily"),
    "schedule_interval": ({}, "@daily"),
    "timetable": ({}, sdk.CronTimetable("@daily", timezone="UTC")),
    "start_date": ({}, START),
    "end_date": ({}, START),
    "timezone": ({}, "Europe/Berlin"),
    "cron_semantics": ({"schedule": "@daily"}, "trigger"),
    "catchup": ({}, True),
    "catchup_window": ({"catchup": True}, HOUR),
    "overlap": ({}, "skip"),
    "max_active_runs": ({}, 3),
    "max_active_tasks": ({}, 3),
    "max_active_tasks_per_dagrun": ({}, 3),
    "dagrun_timeout": ({}, HOUR),
    "deadline": ({}, HOUR),
    "notify": ({}, sdk.Notifier("ops")),
    "default_args": ({}, {"retries": 3}),
    "params": ({}, {"rows": 3}),
    "tags": ({}, ["a"]),
    "description": ({}, "What it does"),
    "dag_display_name": ({}, "The DAG"),
    "doc_md": ({}, "# Why"),
    "is_paused_upon_creation": ({}, True),
    "dynamic": ({}, True),
    "reparse_on_run": ({}, True),
    "min_file_process_interval": ({"dynamic": True}, 60),
    "on_success_callback": ({}, tell),
    "on_failure_callback": ({}, tell),
    "template_searchpath": ({}, "texts"),
    "user_defined_macros": ({}, {"word": "own"}),
    "user_defined_filters": ({}, {"twice": lambda text: text * 2}),
    "render_template_as_native_obj": ({}, True),
    "jinja_environment_kwargs": ({}, {"trim_blocks": True}),
}

TEXTS = (
    "{{ word }}",
    "{{ 'a' | twice }}",
    "{{ 3 }}",
    "{% if 1 %}\na{% endif %}",
    "in_a_folder.txt",
)
"""What tasks render; each shows another argument that is about templates."""


def by_decorator(kind: Callable[..., Any]) -> Callable[..., sdk.DAG]:
    def make(dag_id: str, **options: Any) -> sdk.DAG:
        def flights() -> None: ...

        made: sdk.DAG = kind(dag_id, **options)(flights)()
        return made

    return make


MAKERS: Mapping[str, Callable[..., sdk.DAG]] = {
    "DAG": sdk.DAG,
    "@dag": by_decorator(sdk.dag),
    "DAG of the layer": tolerant.DAG,
    "@dag of the layer": by_decorator(tolerant.dag),
}


def trace(make: Callable[..., sdk.DAG], options: Mapping[str, Any], folder: Path) -> object:
    """Return all that is stored of a DAG, and what its tasks make of some templates."""
    dag = make(**{"dag_id": "flights", **options})
    dag.file = DagFile("flights", folder / "flights.py", folder)
    xcoms: XComs = {}
    with dag:
        tasks = [
            sdk.PythonOperator(
                task_id=f"t{number}",
                python_callable=lambda text: text,
                op_args=[text],
                templates_exts=[".txt"],
            )
            for number, text in enumerate(TEXTS)
        ]
    results = [execute(task, facts(task.task_id), runtime(task, xcoms)) for task in tasks]
    return to_spec(dag, "flights.py"), [result.error for result in results], xcoms


def facts(task_id: str) -> RunFacts:
    return RunFacts(
        dag_id="flights",
        run_id="r",
        task_id=task_id,
        data_interval=DataInterval(START, START + HOUR),
        run_type=RunType.SCHEDULED,
        conf={},
        try_number=1,
    )


def runtime(task: sdk.BaseOperator, xcoms: XComs) -> LocalRuntime:
    return LocalRuntime(task.task_id, xcoms)


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("name", sorted(DAG_OPTIONS | {"dag_id"}))
def test_every_argument_of_a_dag_changes_something(kind: str, name: str, tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "in_a_folder.txt").write_text("the file")
    besides, value = OF_DAGS[name]

    without = trace(MAKERS[kind], besides, tmp_path)
    assert trace(MAKERS[kind], besides, tmp_path) == without
    assert trace(MAKERS[kind], {**besides, name: value}, tmp_path) != without


OF_GROUPS: Mapping[str, Case] = {
    "prefix_group_id": ({}, False),
    "parent_group": ({}, "outer"),
    "dag": ({}, "other"),
    "default_args": ({}, {"retries": 3}),
    "tooltip": ({}, "why"),
    "group_display_name": ({}, "The group"),
    "add_suffix_on_collision": ({"group_id": "outer"}, True),
}


@pytest.mark.parametrize("name", sorted(GROUP_OPTIONS))
def test_every_argument_of_a_group_changes_something(name: str) -> None:
    besides, value = OF_GROUPS[name]

    assert grouped({**besides, name: value}) != grouped(besides)


def grouped(options: Mapping[str, Any]) -> object:
    """Return what is stored of two DAGs, of which one has a group."""
    with sdk.DAG("other") as other:
        pass
    with sdk.DAG("flights") as dag:
        outer = sdk.TaskGroup("outer")
        given: dict[str, Any] = {"group_id": "g", **options}
        given |= {"parent_group": outer} if "parent_group" in given else {}
        given |= {"dag": other} if "dag" in given else {}
        try:
            with sdk.TaskGroup(**given):
                sdk.EmptyOperator(task_id="t")
        except DagError as error:
            return str(error)
    return to_spec(dag, "flights.py"), to_spec(other, "flights.py")
