"""The DAG on the README's first screen is one."""

import re
from pathlib import Path

from headway.sdk.harness.loading import load_dag_file
from headway.sdk.harness.specification import to_spec

README = Path(__file__).parents[4] / "README.md"


def test_the_dag_of_the_readme_is_accepted(tmp_path: Path) -> None:
    found = re.search(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert found is not None
    file = tmp_path / "flights_of_the_readme.py"
    file.write_text(found[1])

    (dag,) = load_dag_file(file, tmp_path)
    spec = to_spec(dag, file.name)

    assert len(found[1].splitlines()) <= 10
    assert (spec.dag_id, spec.timezone) == ("flights", "America/New_York")
    (task,) = spec.tasks
    assert (task.task_id, task.operator, task.retries) == ("count", "pyspark", 2)
