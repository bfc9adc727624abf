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
        ("from airflow.sdk import BaseSensorOperator", Gap.SENSORS, "no sensors yet"),
        ("from airflow.sensors.base import x", Gap.SENSORS, "retries and retry_delay"),
        ("from airflow.operators.sensors import ExternalTaskSensor", Gap.SENSORS, "sensors yet"),
        ("from airflow.providers.standard.sensors.python import x", Gap.SENSORS, "sensors yet"),
        ("from airflow.triggers.base import BaseTrigger", Gap.DEFERRAL, "no deferrable operators"),
        ("from airflow.exceptions import TaskDeferred", Gap.DEFERRAL, "no triggers yet"),
        ("from airflow.sdk import Asset, DAG", Gap.ASSETS, "no assets yet"),
        ("from airflow.sdk import DAG, asset", Gap.ASSETS, "no assets yet"),
        ("from airflow.datasets import Dataset", Gap.ASSETS, "no assets yet"),
        ("from airflow import Dataset", Gap.ASSETS, "no assets yet"),
        ("from airflow.utils.session import provide_session", Gap.DATABASE, "no access"),
        ("from airflow.settings import Session", Gap.DATABASE, "no access to the database"),
        ("from airflow.models import DagBag", Gap.DATABASE, "ask the API"),
        ("from airflow.models.dagbag import DagBag", Gap.DATABASE, "ask the API"),
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
        ("from airflow.models import XCom", Gap.XCOM_BACKENDS, "ti.xcom_pull"),
        ("from airflow.plugins_manager import AirflowPlugin", Gap.PLUGINS, "no plugins"),
        ("from airflow.timetables.base import Timetable", Gap.PLUGINS, "docs/timetables.md"),
        ("from airflow.operators.subdag import SubDagOperator", Gap.SUBDAGS, "TaskGroup"),
        ("from airflow.operators.email import EmailOperator", Gap.EMAIL, "Pass email= to tasks"),
        ("from airflow.utils.email import send_email", Gap.EMAIL, "smtplib"),
        ("from airflow.sdk import RetryPolicy", Gap.RETRY_POLICIES, "retry_on="),
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


def test_there_is_a_sentence_for_each() -> None:
    assert SENTENCES.keys() == set(Gap)
    for sentence in SENTENCES.values():
        assert sentence.format(name="x", package="y", version="1").endswith(".")


def test_a_file_may_try_another_import() -> None:
    given: dict[str, object] = {}
    exec(
        "try:\n    from airflow.sensors.x import X\nexcept ImportError:\n    X = None\n"
        "try:\n    import airflow.sensors.python\nexcept ModuleNotFoundError:\n    Y = None\n",
        given,
    )

    assert given["X"] is given["Y"] is None


def test_python_asks_for_names_of_its_own() -> None:
    module = import_module("airflow.sdk")

    assert not hasattr(module, "__wrapped__")
    assert "DAG" in dir(module)
