"""Every name of the table has a counterpart."""

from importlib import import_module
from pathlib import Path

import pytest

from headway.airflow_layer.gaps import AirflowGapError, Gap
from headway.airflow_layer.names import moved
from headway.airflow_layer.names.table import MODULES
from headway.sdk.authoring.current import DagFile, collect

NAMES = [(module, name) for module, names in MODULES.items() for name in names]
SEEN = """
airflow: DAG XComArg
airflow.models: DAG Variable XComArg
airflow.models.dag: DAG
airflow.models.variable: Variable
airflow.models.baseoperator: chain
airflow.decorators: dag task
airflow.sdk: DAG dag task Variable get_current_context
airflow.operators: BashOperator
airflow.operators.bash: BashOperator
airflow.operators.bash_operator: BashOperator
airflow.operators.python: PythonOperator BranchPythonOperator ShortCircuitOperator
airflow.operators.python_operator: PythonOperator
airflow.operators.empty: EmptyOperator
airflow.operators.dummy: DummyOperator
airflow.operators.dummy_operator: DummyOperator
airflow.providers.standard.operators.bash: BashOperator
airflow.providers.standard.operators.python: PythonOperator
airflow.utils.dates: days_ago
airflow.utils.trigger_rule: TriggerRule
airflow.utils.state: TaskInstanceState State
airflow.utils.decorators: apply_defaults
airflow.configuration: conf
airflow.exceptions: AirflowException AirflowSkipException
airflow.hooks.base: BaseHook
airflow.hooks.base_hook: BaseHook
"""


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_a_name_is_given_or_its_provider_package_is_asked_for(module: str, name: str) -> None:
    try:
        with collect(DagFile("m", Path("/dags/a.py"), Path("/dags"))):
            found = getattr(import_module(module), name)
    except AirflowGapError as error:
        is_asked_for = module in moved.MODULES and error.gap is Gap.PROVIDER
        assert is_asked_for
    else:
        assert found is not None


@pytest.mark.parametrize("row", SEEN.strip().splitlines())
def test_names_of_many_files_are_given(row: str) -> None:
    module, _, names = row.partition(": ")

    assert all(getattr(import_module(module), name) for name in names.split())
