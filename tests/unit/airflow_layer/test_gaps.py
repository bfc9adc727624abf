"""A name without a counterpart says what it is, and what to do."""

from importlib import import_module

import pytest

from headway.airflow_layer.gaps import SENTENCES, AirflowGapError, Gap


def missing(statement: str) -> AirflowGapError:
    with pytest.raises(AirflowGapError) as raised:
        exec(statement, {})
    return raised.value


@pytest.mark.parametrize(
    ("statement", "gap", "said"),
    [
        ("from airflow.sensors.base import x", Gap.SENSORS, "retries and retry_delay"),
        ("from airflow.providers.standard.sensors.python import x", Gap.SENSORS, "sensors yet"),
        ("from airflow.triggers.base import BaseTrigger", Gap.DEFERRAL, "no deferrable operators"),
        ("from airflow.exceptions import TaskDeferred", Gap.DEFERRAL, "no triggers yet"),
        ("from airflow.sdk import Asset, DAG", Gap.ASSETS, "no assets yet"),
        ("from airflow.sdk import DAG, asset", Gap.ASSETS, "no assets yet"),
        ("from airflow.datasets import Dataset", Gap.ASSETS, "no assets yet"),
        ("from airflow import Dataset", Gap.ASSETS, "no assets yet"),
        ("from airflow.jobs.backfill_job import BackfillJob", Gap.DATABASE, "no access"),
        ("from airflow.settings import Session\nSession()", Gap.DATABASE, "to the database"),
        ("from airflow.models import DagBag\nDagBag()", Gap.DATABASE, "ask the API"),
        ("from airflow.models import DagBag\nclass Own(DagBag): ...", Gap.DATABASE, "ask the API"),
        ("from airflow.models.xcom import BaseXCom", Gap.XCOM_BACKENDS, "ti.xcom_pull"),
        (
            "from airflow.decorators import task\ntask.docker",
            Gap.CONTAINERS,
            "Give the task a queue",
        ),
        (
            "from airflow.task.priority_strategy import PriorityWeightStrategy",
            Gap.PRIORITY,
            "no weight rules of one's own",
        ),
        ("from airflow.models import XCom\nXCom.get_one()", Gap.XCOM_BACKENDS, "ti.xcom_pull"),
        ("from airflow.plugins_manager import AirflowPlugin", Gap.PLUGINS, "no plugins"),
        ("from airflow.timetables.base import Timetable", Gap.PLUGINS, "docs/timetables.md"),
        ("from airflow.operators.subdag import SubDagOperator", Gap.SUBDAGS, "TaskGroup"),
        ("from airflow.utils.email import send_mime_email", Gap.EMAIL, "by EmailOperator or"),
        (
            "from airflow.providers.smtp.notifications.smtp import SmtpNotifier",
            Gap.PROVIDER,
            "headway providers install apache-airflow-providers-smtp.",
        ),
        (
            "from airflow.example_dags.plugins.workday import AfterWorkdayTimetable",
            Gap.PLUGINS,
            "docs/timetables.md",
        ),
        (
            "from airflow.providers.apache.livy.hooks.livy import LivyHook",
            Gap.PROVIDER,
            "headway providers install apache-airflow-providers-apache-livy.",
        ),
        (
            "import airflow.providers.slack",
            Gap.PROVIDER,
            "headway providers install apache-airflow-providers-slack.",
        ),
        (
            "from airflow.sdk import nonsense",
            Gap.OTHER,
            "airflow.sdk.nonsense: Headway has nothing",
        ),
        ("import airflow.nonsense.more", Gap.OTHER, "airflow.nonsense: Headway has nothing"),
        ("from airflow.decorators import task\ntask.sensor", Gap.SENSORS, "no sensors yet"),
    ],
)
def test_it_says_what_it_is(statement: str, gap: Gap, said: str) -> None:
    error = missing(statement)

    assert error.gap is gap
    assert said in str(error)


@pytest.mark.parametrize(
    "statement",
    [
        "from airflow.sensors.external_task import ExternalTaskSensor as Sensor",
        "from airflow.sensors.external_task_sensor import ExternalTaskMarker as Sensor",
        "from airflow.operators.sensors import ExternalTaskSensor as Sensor",
        "from airflow.contrib.sensors.file_sensor import FileSensor as Sensor",
        "from airflow.providers.standard.sensors.python import PythonSensor as Sensor",
        "from airflow.sensors.base_sensor_operator import BaseSensorOperator as Base\n"  # noqa: ISC004
        "class Sensor(Base): ...",
        "from airflow.sdk import BaseSensorOperator, PokeReturnValue\n"  # noqa: ISC004
        "class Sensor(BaseSensorOperator):\n"
        "    def poke(self, context): return PokeReturnValue(True)",
    ],
)
def test_a_sensor_is_imported_and_refused_when_it_is_made(statement: str) -> None:
    given: dict[str, object] = {"__name__": "a_dag_file"}
    exec(statement, given)

    for call in ("Sensor(task_id='s')", "Sensor.partial(task_id='s')"):
        with pytest.raises(AirflowGapError, match="Headway has no sensors yet") as raised:
            exec(call, given)
        assert raised.value.gap is Gap.SENSORS


def test_there_is_a_sentence_for_each() -> None:
    assert SENTENCES.keys() == set(Gap)
    for sentence in SENTENCES.values():
        assert sentence.format(name="x", package="y", version="1").endswith(".")


def test_a_file_may_try_another_import() -> None:
    given: dict[str, object] = {}
    exec(
        "try:\n    from airflow.sensors.x import X\nexcept ImportError:\n    X = None\n"
        "try:\n    import airflow.assets.base\nexcept ModuleNotFoundError:\n    Y = None\n",
        given,
    )

    assert given["X"] is given["Y"] is None


def test_python_asks_for_names_of_its_own() -> None:
    module = import_module("airflow.sdk")

    assert not hasattr(module, "__wrapped__")
    assert "DAG" in dir(module)
