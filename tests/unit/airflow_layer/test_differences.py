"""What a file uses tells where it may do other things than in Airflow."""

import pytest

from headway.airflow_layer.differences import differences


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("t.expand(x=[1])", "xcom_pull of one id"),
        ("BashOperator.partial(task_id='x').expand_kwargs(rows)", "xcom_pull of one id"),
        (
            "TriggerDagRunOperator(task_id='t', trigger_dag_id='d')",
            "TriggerDagRunOperator triggers DAGs of its own",
        ),
    ],
)
def test_a_sign_is_seen(source: str, said: str) -> None:
    [found] = differences(source.encode())

    assert found.startswith(said)


@pytest.mark.parametrize("source", ["BashOperator(on_failure_callback=f)", "x = (", "\0", ""])
def test_nothing_is_seen(source: str) -> None:
    assert differences(source.encode()) == []
