"""`airflow.operators`, and the operators of the standard and the Spark provider."""

from collections.abc import Mapping
from typing import Final

from headway.airflow_layer.names.rows import DECORATORS, LAYER, OPERATORS, SDK, modules, of

_STANDARD: Final = "airflow.providers.standard.operators"
_SPARK: Final = "airflow.providers.apache.spark.operators"

_BASH: Final = of(OPERATORS, "BashOperator")
_PYTHON: Final = {
    **of(
        OPERATORS,
        "PythonOperator BranchPythonOperator ShortCircuitOperator PythonVirtualenvOperator "
        "ExternalPythonOperator BranchPythonVirtualenvOperator BranchExternalPythonOperator",
    ),
    **of(SDK, "get_current_context"),
    **of(DECORATORS, "task"),
    **of(f"{LAYER}.counterparts.calls", "is_venv_installed"),
}
_EMPTY: Final = of(OPERATORS, "EmptyOperator DummyOperator=EmptyOperator")
_LATEST: Final = of(OPERATORS, "LatestOnlyOperator")
_BRANCH: Final = of(OPERATORS, "BaseBranchOperator")
_DATETIME: Final = of(OPERATORS, "BranchDateTimeOperator")
_WEEKDAY: Final = of(OPERATORS, "BranchDayOfWeekOperator")
_TRIGGER: Final = of(OPERATORS, "TriggerDagRunOperator")
_EMAIL: Final = of(OPERATORS, "EmailOperator")
_SUBMIT: Final = of(OPERATORS, "SparkSubmitOperator")


def _both(name: str, old: str = "") -> str:
    """Return the modules of an operator: of the provider, of Airflow 2, and of Airflow 1."""
    return f"{_STANDARD}.{name} airflow.operators.{name} airflow.operators.{old or name}"


MODULES: Final[Mapping[str, Mapping[str, str]]] = {
    **modules(_both("bash", "bash_operator"), _BASH),
    **modules(_both("python", "python_operator"), _PYTHON),
    **modules(_both("empty"), _EMPTY),
    **modules("airflow.operators.dummy airflow.operators.dummy_operator", _EMPTY),
    **modules(_both("latest_only", "latest_only_operator"), _LATEST),
    **modules(_both("branch", "branch_operator"), _BRANCH),
    **modules(_both("datetime"), _DATETIME),
    **modules(_both("weekday"), _WEEKDAY),
    **modules(_both("trigger_dagrun", "dagrun_operator"), _TRIGGER),
    **modules(
        "airflow.operators.email airflow.operators.email_operator "
        "airflow.providers.smtp.operators.smtp",
        _EMAIL,
    ),
    "airflow.operators": {**_BASH, **_PYTHON, **_EMPTY, **_TRIGGER, **_EMAIL},
    f"{_SPARK}.spark_submit": _SUBMIT,
    "airflow.contrib.operators.spark_submit_operator": _SUBMIT,
}
