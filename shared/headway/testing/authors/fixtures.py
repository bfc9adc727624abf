"""The fixtures that tests have with `--headway`."""

from collections.abc import Callable
from typing import Any

import pytest

from headway.sdk.authoring.definition import DAG
from headway.testing.authors import trials
from headway.testing.authors.collecting import dags_folder
from headway.testing.authors.dag_files import load_dags
from headway.testing.authors.local_spark import OF_PROCESS
from headway.testing.authors.results import DagResult, TaskResult


@pytest.fixture(scope="session")
def headway_dag_bag(pytestconfig: pytest.Config) -> dict[str, DAG]:
    """Load all DAGs of the folder of DAG files; return them by their ids."""
    return load_dags(dags_folder(pytestconfig))


@pytest.fixture
def run_task() -> Callable[..., TaskResult]:
    """Return what runs one task: `headway.testing.run_task`."""
    return trials.run_task


@pytest.fixture
def run_dag() -> Callable[..., DagResult]:
    """Return what runs a DAG: `headway.testing.run_dag`."""
    return trials.run_dag


@pytest.fixture(scope="session")
def spark() -> Any:
    """Open the Spark session of this machine that all tests and their tasks share."""
    return OF_PROCESS.shared_session()


def pytest_unconfigure() -> None:
    """End Spark, if a test has started it."""
    OF_PROCESS.close()
