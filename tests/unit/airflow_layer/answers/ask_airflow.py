"""Ask a real Airflow what the DAG files of `cases` do, and write its answers.

    python -m tests.unit.airflow_layer.answers.ask_airflow /path/to/bin/airflow [CASE ...]

Without the name of a case all are asked.  Airflow needs the standard provider.
"""

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from tests.unit.airflow_layer.answers.case import Case
from tests.unit.airflow_layer.answers.cases import CASES, DATE, files

ANSWERS: Final = Path(__file__).parent / "answers.json"
STATES: Final = "SELECT task_id, map_index, state FROM task_instance WHERE dag_id = ?"
RUN: Final = "SELECT state FROM dag_run WHERE dag_id = ?"
LONG: Final = 300


class AskedAirflow:
    """An installation of Airflow with a home, a database and a folder of DAG files of its own."""

    def __init__(self, airflow: Path, home: Path) -> None:
        self.airflow, self.home = airflow, home
        self.said = home / "said"
        dags = home / "dags"
        dags.mkdir()
        for name, text in files().items():
            (dags / name).write_text(text)
        self.environment = {
            "PATH": f"{airflow.parent}:{os.environ['PATH']}",
            "HOME": str(home),
            "AIRFLOW_HOME": str(home),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
            "SAID": str(self.said),
        }
        self.call("db", "migrate")

    def call(self, *arguments: str, check: bool = True) -> str:
        """Run a command of Airflow; return what it prints."""
        command = [str(self.airflow), *arguments]
        return subprocess.run(
            command, env=self.environment, check=check, timeout=LONG, capture_output=True, text=True
        ).stdout

    def answer(self, case: Case) -> dict[str, Any]:
        """Run the DAGs of a case; return how runs and tasks ended, and what was said."""
        self.said.write_text("")
        conf = ["--conf", json.dumps(case.conf)] if case.conf else []
        for dag_id in case.dag_ids:
            self.call("dags", "test", dag_id, DATE, *conf, check=False)
        said = [json.loads(line) for line in self.said.read_text().splitlines()]
        runs = {dag_id: self._run(dag_id) for dag_id in case.dag_ids}
        return {"runs": runs, "said": dict(sorted(said))}

    def _run(self, dag_id: str) -> dict[str, Any]:
        with sqlite3.connect(self.home / "airflow.db") as database:
            [(state,)] = database.execute(RUN, (dag_id,)).fetchall()
            rows = database.execute(STATES, (dag_id,)).fetchall()
        tasks = {task if index < 0 else f"{task}[{index}]": state for task, index, state in rows}
        return {"state": state, "tasks": dict(sorted(tasks.items()))}


def main() -> None:
    """Write the answers beside this file."""
    if len(sys.argv) == 1 or not Path(sys.argv[1]).is_file():
        sys.exit("Give the path of the executable of a real Airflow.")
    airflow, names = Path(sys.argv[1]).absolute(), sys.argv[2:] or list(CASES)
    known = json.loads(ANSWERS.read_text())["answers"] if sys.argv[2:] else {}
    with TemporaryDirectory(prefix="ask-airflow-") as home:
        asked = AskedAirflow(airflow, Path(home))
        version = asked.call("version").split()[-1]
        answers = known | {name: asked.answer(CASES[name]) for name in names}
    ANSWERS.write_text(json.dumps({"airflow": version, "answers": answers}, indent=1) + "\n")


if __name__ == "__main__":
    main()
