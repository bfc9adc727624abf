"""The pytest plugin: with `--headway`, fixtures for tests of DAGs and a test of each DAG file.

Without the option it imports nothing and changes nothing.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_addoption(parser: "pytest.Parser") -> None:
    """Add the options."""
    group = parser.getgroup("headway", "DAGs of Headway")
    group.addoption(
        "--headway",
        action="store_true",
        help="Test that each DAG file loads, and have the fixtures headway_dag_bag, run_task, "
        "run_dag and spark.",
    )
    group.addoption(
        "--headway-dags",
        metavar="FOLDER",
        default="dags",
        help="The folder of the DAG files (dags).",
    )


def pytest_configure(config: "pytest.Config") -> None:
    """Begin, if the option is given."""
    if config.getoption("--headway"):
        from headway.testing.authors import collecting, fixtures

        config.pluginmanager.register(fixtures, "headway-fixtures")
        config.pluginmanager.register(collecting.DagFileTests(config), "headway-dag-files")
