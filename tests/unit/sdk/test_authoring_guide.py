"""The guide for authors: its example works, and it leaves nothing out."""

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import headway.sdk
from headway.domain.arguments import JsonValue
from headway.domain.states import Outcome
from headway.domain.trigger_rules import TriggerRule
from headway.sdk.context import CONTEXT_NAMES
from headway.sdk.dag_options import DAG_OPTIONS
from headway.sdk.execution import Result
from headway.sdk.loading import load_dag_file
from headway.sdk.options import TASK_OPTIONS
from headway.sdk.runtime import SparkApplication
from headway.sdk.specification import to_spec

GUIDE = (Path(__file__).parents[3] / "docs" / "authoring.md").read_text()


@pytest.fixture
def restored_path() -> Iterator[None]:
    """Put `sys.path` back after a DAG file was loaded."""
    path = list(sys.path)
    yield
    sys.path[:] = path


def test_the_example_runs(
    tmp_path: Path,
    restored_path: None,
    run: Callable[..., Result],
    xcoms: dict[tuple[str, str], JsonValue],
) -> None:
    found = re.search(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    assert found is not None
    (tmp_path / "example.py").write_text(found.group(1))

    (dag,) = load_dag_file(tmp_path / "example.py", tmp_path)
    spec = to_spec(dag, "example.py")
    outcomes = [run(dag.get_task(task.task_id)).outcome for task in spec.tasks]

    assert outcomes == [Outcome.SUCCESS] * 2
    assert spec.timezone == "America/New_York"
    assert xcoms["count", "return_value"] == (
        "would count the rows of /data/flights/2013-01-01.parquet in run scheduled__2013-01-01"
    )


def test_every_name_is_in_the_guide() -> None:
    mentioned = set(re.findall(r"`([A-Za-z_]+)`", GUIDE))
    names = {
        *headway.sdk.__all__,
        *DAG_OPTIONS,
        *TASK_OPTIONS,
        *CONTEXT_NAMES,
        *SparkApplication.__dataclass_fields__,
        *(str(rule) for rule in TriggerRule),
    }

    assert names - mentioned == set()
