"""What a file uses tells where it may do other things than in Airflow."""

import pytest

from headway.airflow_layer.differences import differences


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (
            "TriggerDagRunOperator(task_id='t', trigger_dag_id='d')",
            "TriggerDagRunOperator triggers DAGs of its own",
        ),
        ("t.expand(x=[1])\nti.xcom_pull('t')", "xcom_pull of one id"),
        ("B.partial(task_id='x').expand_kwargs(rows)\nti.xcom_pull('x')", "xcom_pull of one id"),
        ("DAG('d', schedule='@daily')", "catchup is False where"),
        ("@dag(schedule_interval=timedelta(1))\ndef d(): ...", "catchup is False where"),
        ("BranchDateTimeOperator(target_lower=datetime.time(9))", "BranchDateTimeOperator takes"),
        ("class Own(BaseOperator):\n    operator_extra_links = (Link(),)", "operator_extra_links"),
        ("class Link(BaseOperatorLink): ...", "operator_extra_links load"),
    ],
)
def test_a_sign_is_seen(source: str, said: str) -> None:
    [found] = differences(source.encode())

    assert found.startswith(said)


@pytest.mark.parametrize(
    "source",
    [
        "BashOperator(on_failure_callback=f)",
        "t.expand(x=[1])",
        "ti.xcom_pull('t')",
        "DAG('d', schedule='@daily', catchup=False)",
        "DAG('d', schedule=None)",
        "DAG('d')",
        "DAG('d', schedule='@daily', **options)",
        "BranchDateTimeOperator(target_lower=datetime(2024, 1, 5))",
        "x = (",
        "\0",
        "",
    ],
)
def test_nothing_is_seen(source: str) -> None:
    assert differences(source.encode()) == []
