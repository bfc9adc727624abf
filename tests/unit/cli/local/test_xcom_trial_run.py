"""`headway dags test` gives tasks and callbacks the values that others have left."""

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from headway.cli.local.dag_test import run_dag

NOW = datetime(2024, 1, 2, 12, tzinfo=UTC)

CLASSES = """
from dataclasses import dataclass

@dataclass(frozen=True)
class Flight:
    number: int
"""

DAG_FILE = """
from dataclasses import dataclass
from datetime import date

from headway.sdk import DAG, task
from trial_classes import Flight

@dataclass
class Plan:
    flights: tuple

def tell(context):
    print("called", context["ti"].xcom_pull("plan"))

with DAG("trial"):
    @task(multiple_outputs=True)
    def plan():
        return {"plan": Plan((Flight(1), Flight(2))), "days": {date(2024, 1, 1): 3}}
    @task
    def flights(found):
        return found.flights
    @task
    def number(flight, day):
        return (flight.number, day)
    @task(on_success_callback=tell)
    def show(found, text):
        print("shown", found, text)
    planned = plan()
    numbers = number.expand(flight=flights(planned["plan"]), day=planned["days"])
    show(numbers, f"of {planned['plan']}")
"""


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    path, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if name.startswith(("trial_classes", "headway_dag_file")):
            del sys.modules[name]


def test_values_keep_their_types(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "trial_classes.py").write_text(CLASSES)
    (tmp_path / "trial.py").write_text(DAG_FILE)

    status = run_dag(tmp_path / "trial.py", "trial", None, {}, NOW)

    plan = "Plan(flights=(Flight(number=1), Flight(number=2)))"
    day = "(datetime.date(2024, 1, 1), 3)"
    lines = capsys.readouterr().out.splitlines()
    assert status == 0, lines
    assert f"shown [(1, {day}), (2, {day})] of {plan}" in lines
    assert f"called {{'plan': {plan}, 'days': {{datetime.date(2024, 1, 1): 3}}}}" in lines
