"""A task may say anything on its channel; its worker answers, and lives."""

from math import inf
from pathlib import Path
from threading import Event

import pytest

from headway.domain.dag.spec import DagSpec, TaskSpec, TimetableSpec
from headway.runtime.processes.frames import Frame
from headway.runtime.settings.worker import WorkerSettings
from headway.testing.data import claims
from headway.testing.time.clock import FakeClock
from headway_worker.attempts.questions import Questions
from headway_worker.database.secret_resolver import SecretResolver
from headway_worker.database.worker_database import AttemptWork, WorkerDatabase
from headway_worker.protocol.supply import Code
from headway_worker.spark.service.spark_service import SparkService

TASK = TaskSpec(task_id="t", operator="python")
WORK = AttemptWork(
    claims.claimed(),
    DagSpec(
        dag_id="d",
        relative_path="d.py",
        timetable=TimetableSpec(name="null"),
        timezone="UTC",
        tasks=(TASK,),
    ),
    TASK,
    Code(Path("/code"), {}),
)


@pytest.mark.parametrize(
    "question",
    [
        {},
        {"ask": None},
        {"ask": "the time"},
        {"ask": ["pull_xcom"]},
        {"ask": "pull_xcom"},
        {"ask": "pull_xcom", "task_id": "t"},
        {"ask": "pull_xcom", "task_id": "t", "key": "k"},
        {"ask": "pull_xcom", "task_id": "t", "key": "k", "map_index": "first"},
        {"ask": "pull_xcom", "task_id": "t", "key": "k", "map_index": None},
        {"ask": "pull_xcom", "task_id": "t", "key": "k", "map_index": inf},
        {"ask": "pull_xcoms", "task_id": "t", "key": "k"},
        {"ask": "pull_xcoms", "task_id": "t", "key": "k", "after": -1, "of": "sales"},
        {"ask": "latest_run", "task_id": "t", "key": "k"},
        {"ask": "run_state"},
        {"ask": "run_state", "of": "sales"},
        {"ask": "trigger_run"},
        {"ask": "trigger_run", "number": 0, "wanted": {}},
        {"ask": "trigger_run", "number": 1, "wanted": {"dag_id": "d"}},
        {"ask": "latest_run", "task_id": "t", "key": "k", "of": []},
        {"ask": "pull_xcoms", "task_id": "t", "key": "k", "after": inf},
        {"ask": "pull_xcoms", "task_id": "t", "key": "k", "after": []},
        {"ask": "xcom_length", "task_id": "t"},
        {"ask": "xcom_item", "task_id": "t", "key": "k"},
        {"ask": "xcom_item", "task_id": "t", "key": "k", "index": {}},
        {"ask": "xcom_item", "task_id": "t", "key": "k", "index": inf},
        {"ask": "push_xcom", "key": "k"},
        {"ask": "name_instance"},
        {"ask": "save_handle"},
        {"ask": "save_handle", "handle": None},
        {"ask": "save_handle", "handle": "text"},
        {"ask": "save_handle", "handle": [[1, 2, 3]]},
        {"ask": "spark"},
        {"ask": "spark", "conn_id": "../c", "session": True},
        {"ask": "connection"},
        {"ask": "connection", "name": None},
        {"ask": "connection", "name": ["c"]},
        {"ask": "connection", "name": "../c"},
        {"ask": "variable", "name": ""},
        {"ask": "variable", "name": "a\0b"},
        {"ask": "variable", "name": "v" * 251},
    ],
)
def test_what_is_no_question_gets_an_error_for_an_answer(
    database: WorkerDatabase,
    resolver: SecretResolver,
    worker_settings: WorkerSettings,
    clock: FakeClock,
    question: Frame,
    tmp_path: Path,
) -> None:
    spark = SparkService(worker_settings, {}, tmp_path, resolver.connection)
    questions = Questions(database, resolver, spark, clock, stop=Event())

    answer = questions.answer(WORK, question)

    assert list(answer.frame) in (["error"], ["error", "refused"])
    assert answer.frame["error"]
    assert answer.secrets == frozenset()
