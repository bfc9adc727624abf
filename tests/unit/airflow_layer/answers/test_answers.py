"""Headway gives the answers of a real Airflow, but for what differs on purpose.

`answers.json` was written by `ask_airflow`, never by hand.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest
from tests.unit.airflow_layer.answers.cases import CASES, DATE, files

from headway.airflow_layer.counterparts.version import VERSION
from headway.cli.local.dag_test import run_dag
from headway.testing.data.airflow_names import without_airflow

RECORDED: Final = json.loads((Path(__file__).parent / "answers.json").read_text())
GUIDE: Final = Path(__file__).parents[4] / "docs" / "from-airflow.md"
NOW: Final = datetime(2024, 3, 1, tzinfo=UTC)
TOLD: Final = re.compile(r"^\[(\S+)\] (success|skipped|failed|upstream_failed)\b", re.MULTILINE)
ENDED: Final = re.compile(r"^(\w+): (success|failed) in ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Difference:
    """What Headway answers on purpose in the place of Airflow's answer; the guide tells of it."""

    ours: dict[str, Any]
    told: str


DIFFERS: Final = {
    "hooks": Difference({"said": {"post": 7}}, "`post_execute`"),
    "mapped": Difference({"said": {"pulled": [7]}}, "`xcom_pull` of a mapped task"),
    "callbacks": Difference(
        {"said": {"exception": "ValueError: as it should"}}, '`context["exception"]`'
    ),
    "xcoms": Difference(
        {
            "runs": {
                "xcoms": {"tasks": {"push_bytes": "success", "pull_bytes": "success"}},
            },
            "said": {"bytes": ["bytes", True], "int_keys": ["dict", True]},
        },
        "An XCom of bytes",
    ),
    "macros": Difference({"said": {"run_type": "manual"}}, "`{{ dag_run.run_type }}`"),
    "pulls": Difference({"said": {"default": "none"}}, "`xcom_pull(…, default=…)`"),
    "names": Difference(
        {
            "said": {
                "dag.task_count": True,
                "dag_run.clear_number": False,
                "dag_run.external_trigger": True,
                "dag_run.queued_at": True,
                "dag_run.triggering_user_name": False,
                "task.email": False,
                "task.email_on_failure": False,
                "task.email_on_retry": False,
                "task.executor_config": False,
                "task.render_template_fields": False,
                "task.run_as_user": False,
                "ti.duration": True,
                "ti.get_dagrun": True,
                "ti.is_mapped": False,
                "ti.key": True,
                "ti.log": True,
                "ti.operator": True,
                "ti.pool": True,
                "ti.render_templates": False,
            }
        },
        "`triggering_user_name`",
    ),
    "mapped_group_choices": Difference(
        {
            "runs": {
                "mapped_group_choices": {
                    "tasks": {
                        "pick.even[0]": "skipped",
                        "pick.odd[1]": "skipped",
                        "stop.work[0]": "skipped",
                        "stop.close[0]": "skipped",
                        "strict": "skipped",
                    }
                }
            }
        },
        "A branch or a short circuit in a mapped group",
    ),
    "task_dates": Difference(
        {
            "runs": {
                "task_dates": {"tasks": {"late": "skipped", "over": "skipped"}},
                "task_dates_below": {
                    "state": "success",
                    "tasks": {"late": "skipped", "below": "skipped", "done": "success"},
                },
            }
        },
        "`start_date`, `end_date` of a task",
    ),
}


@pytest.fixture(autouse=True)
def _airflow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("HEADWAY_PARSER_CRON_SEMANTICS", "trigger")
    monkeypatch.setenv("SAID", str(tmp_path / "said"))
    (tmp_path / "said").touch()
    with without_airflow():
        yield


def answer(name: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Run the DAGs of a case as `headway dags test` does, and say what came of it."""
    for file, text in files().items():
        (folder / file).write_text(text)
    runs = {}
    for dag_id in CASES[name].dag_ids:
        run_dag(folder / f"{name}.py", dag_id, DATE, CASES[name].conf, NOW)
        told = capfd.readouterr().out
        runs[dag_id] = {
            "state": dict(ENDED.findall(told))[dag_id],
            "tasks": dict(sorted(TOLD.findall(told))),
        }
    said = [json.loads(line) for line in (folder / "said").read_text().splitlines()]
    return {"runs": runs, "said": dict(sorted(said))}


def merged(recorded: Any, ours: Any) -> Any:
    """Return the recorded answer with what is ours in its place."""
    if not isinstance(recorded, dict) or not isinstance(ours, dict):
        return ours
    both = {name: merged(recorded.get(name), value) for name, value in ours.items()}
    return dict(sorted({**recorded, **both}.items()))


@pytest.mark.parametrize("name", CASES)
def test_headway_answers_as_airflow(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    expected = merged(RECORDED["answers"][name], DIFFERS[name].ours if name in DIFFERS else {})

    assert answer(name, tmp_path, capfd) == expected


@pytest.mark.parametrize("name", DIFFERS)
def test_what_differs_on_purpose_differs_and_the_guide_says_so(name: str) -> None:
    recorded = RECORDED["answers"][name]

    assert merged(recorded, DIFFERS[name].ours) != recorded
    assert DIFFERS[name].told in GUIDE.read_text()


def test_by_interval_a_run_is_about_the_day_that_begins_at_its_date(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By `trigger`, as in the other tests, it is about a moment, as in Airflow."""
    monkeypatch.delenv("HEADWAY_PARSER_CRON_SEMANTICS")

    said = answer("interval", tmp_path, capfd)["said"]

    assert said["interval"] == ["2024-01-05T00:00:00+00:00", "2024-01-06T00:00:00+00:00"]
    assert said["ds"] == RECORDED["answers"]["interval"]["said"]["ds"]


def test_the_answers_are_those_of_the_release_whose_names_the_layer_gives() -> None:
    assert RECORDED["airflow"] == VERSION
    assert RECORDED["answers"].keys() == CASES.keys()
