"""The `headway` command against running services: what it prints, how it ends."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headway import __version__
from headway.testing.services.stack import Stack, running_stack
from headway.testing.services.stack_run import StackRun

pytestmark = [pytest.mark.services, pytest.mark.long]

DAGS = Path(__file__).parents[1] / "dags" / "commands"
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with running_stack(tmp_path_factory.mktemp("commands"), DAGS) as stack:
        says(stack, "pools", "set", "special", "2", "--description", "For one task")
        yield stack


def says(stack: Stack, *arguments: str) -> str:
    """Run a command that must succeed; return what it prints."""
    done = stack.headway(*arguments)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def data(stack: Stack, *arguments: str) -> Any:
    return json.loads(says(stack, *arguments, "--output", "json"))


def moments(row: dict[str, Any], *names: str) -> list[bool]:
    return [bool(MOMENT.fullmatch(str(row[name]))) for name in names]


@pytest.fixture(scope="module")
def run(stack: Stack) -> StackRun:
    """A run of two tasks, the first of which needs two attempts."""
    text = says(stack, "dags", "trigger", "daily", "--run-id", "one", "--conf", '{"colour": "red"}')
    assert text == "Created the run one of daily.\n"
    return StackRun(stack, "daily", "one").wait()


def test_dags_list(stack: Stack, run: StackRun) -> None:
    rows = {row["dag_id"]: row for row in data(stack, "dags", "list")}

    assert rows.keys() == {"daily", "by_hand"}
    daily = rows["daily"]
    assert (daily["version"], daily["tasks"], daily["paused"], daily["active"]) == (
        1,
        2,
        False,
        True,
    )
    assert (daily["tags"], daily["relative_path"]) == (["demo"], "commanded.py")
    table = says(stack, "dags", "list").splitlines()
    assert table[0].split()[:3] == ["dag", "id", "version"]
    assert [line.split()[:4] for line in table[1:3]] == [
        ["by_hand", "1", "1", "no"],
        ["daily", "1", "2", "no"],
    ]


def test_dags_show(stack: Stack) -> None:
    (row,) = data(stack, "dags", "show", "daily")

    assert [(task["task_id"], task["upstream"], task["pool"]) for task in row["tasks"]] == [
        ("work", [], "default_pool"),
        ("rest", ["work"], "special"),
    ]
    text = says(stack, "dags", "show", "daily")
    assert "schedule: 30 6 * * * (America/New_York), catchup none" in text
    assert "For the command line" in text


def test_runs_list_and_show(stack: Stack, run: StackRun) -> None:
    rows = {row["run_id"]: row for row in data(stack, "runs", "list", "daily")}
    row = rows["one"]
    names = ("interval_start", "interval_end", "run_after", "started_at", "ended_at")

    assert (row["state"], row["run_type"], row["conf"]) == ("success", "manual", {"colour": "red"})
    assert moments(row, *names) == [True] * 5
    (shown,) = data(stack, "runs", "show", "daily", "one")
    assert {name: shown[name] for name in row} == row
    assert [(task["task_id"], task["state"]) for task in shown["tasks"]] == [
        ("work", "success"),
        ("rest", "success"),
    ]
    table = says(stack, "runs", "show", "daily", "one")
    assert re.search(r"work +-1 +success +2 ", table)


def test_runs_list_by_state(stack: Stack) -> None:
    stack.run("by_hand", {"fail": True})
    stack.run("by_hand")

    failed = data(stack, "runs", "list", "by_hand", "--state", "failed")
    newest = data(stack, "runs", "list", "by_hand", "--limit", "1")
    assert [row["state"] for row in failed] == ["failed"]
    assert [row["state"] for row in newest] == ["success"]


def test_tasks_list(stack: Stack, run: StackRun) -> None:
    work, rest = data(stack, "tasks", "list", "daily", "one")

    assert (work["task_id"], work["state"], work["attempt"], work["failures"]) == (
        "work",
        "success",
        2,
        1,
    )
    assert [
        (attempt["attempt"], attempt["phase"], attempt["outcome"], attempt["error"])
        for attempt in work["attempts"]
    ] == [(1, "ended", "failed", "RuntimeError: not yet"), (2, "ended", "success", None)]
    for attempt in work["attempts"] + rest["attempts"]:
        assert moments(attempt, "queued_at", "started_at", "ended_at") == [True] * 3
        assert attempt["queued_at"] <= attempt["started_at"] <= attempt["ended_at"]
        assert attempt["worker"]
    assert (rest["pool"], rest["queue"], rest["attempt"]) == ("special", "default", 1)


def test_tasks_logs(stack: Stack, run: StackRun) -> None:
    last = says(stack, "tasks", "logs", "daily", "one", "work")
    first = says(stack, "tasks", "logs", "daily", "one", "work", "--attempt", "1")

    assert "attempt 2 says hello" in last
    assert "attempt 1" not in last
    assert "attempt 1 says hello" in first
    assert "[headway] failed: RuntimeError: not yet" in first
    assert all(MOMENT.match(line) for line in first.splitlines())


def test_dags_pause_and_unpause(stack: Stack) -> None:
    assert says(stack, "dags", "pause", "by_hand") == "The DAG by_hand is paused.\n"
    assert says(stack, "dags", "pause", "by_hand") == "The DAG by_hand is paused already.\n"
    run = stack.trigger("by_hand")
    (row,) = data(stack, "dags", "show", "by_hand")
    assert (row["paused"], run.state) == (True, "queued")

    assert says(stack, "dags", "unpause", "by_hand") == "The DAG by_hand is not paused.\n"
    assert run.wait().state == "success"


def test_dags_test_runs_without_services(stack: Stack, tmp_path: Path) -> None:
    alone = {**stack.environment, "HEADWAY_HOME": str(tmp_path)}
    file = str(DAGS / "commanded.py")
    elsewhere = Stack(tmp_path, stack.dags, alone, stack.engine, stack.service)

    good = elsewhere.headway("dags", "test", file, "by_hand", "2013-01-01")
    bad = elsewhere.headway("dags", "test", file, "by_hand", "--conf", '{"fail": true}')

    assert good.returncode == 0
    assert "[fails_if_told] success" in good.stdout
    assert bad.returncode == 1
    assert "[fails_if_told] failed: AssertionError: as it was told" in bad.stdout


def test_pools(stack: Stack) -> None:
    rows = {row["name"]: row for row in data(stack, "pools", "list")}
    assert rows["special"] == {
        "name": "special",
        "slots": 2,
        "description": "For one task",
        "include_deferred": False,
        "deferred": 0,
        "queued": 0,
        "running": 0,
        "scheduled": 0,
        "free": 2,
    }
    assert "default_pool" in rows

    assert says(stack, "pools", "set", "short_lived", "1") == "The pool short_lived has 1 slot.\n"
    assert "short_lived" in says(stack, "pools", "list")
    assert says(stack, "pools", "delete", "short_lived") == "The pool short_lived is deleted.\n"
    assert "short_lived" not in says(stack, "pools", "list")


def test_backfill_create_and_show(stack: Stack) -> None:
    text = says(stack, "backfill", "create", "daily", "--from", "2013-01-01", "--to", "2013-01-03")
    lines = text.splitlines()
    number = lines[0].split()[1]

    assert lines[0] == f"Backfill {number} of daily: 3 runs with version 1."
    assert lines[-1] == (
        "[backfill progress: 100.0%] | total dagruns: 3 | total tasks: 6 | finished: 6 | "
        "succeeded: 6 | skipped: 0 | failed: 0"
    )
    (row,) = data(stack, "backfill", "show", number)
    assert (row["dag_id"], row["state"], row["runs"], row["succeeded"]) == (
        "daily",
        "success",
        3,
        3,
    )
    assert (row["from_date"], row["to_date"]) == ("2013-01-01T05:00:00Z", "2013-01-03T05:00:00Z")
    assert re.search(rf"{number} +daily +success ", says(stack, "backfill", "list"))
    starts = [
        row["interval_start"]
        for row in data(stack, "runs", "list", "daily")
        if row["run_type"] == "backfill"
    ]
    assert starts == ["2013-01-03T11:30:00Z", "2013-01-02T11:30:00Z", "2013-01-01T11:30:00Z"]


def test_a_backfill_with_a_failed_run_says_so(stack: Stack) -> None:
    done = stack.headway(
        *("backfill", "create", "daily", "--from", "2013-02-01", "--to", "2013-02-01T23:00"),
        *("--conf", '{"fail": true}'),
    )

    assert done.returncode == 1
    assert "failed: 2" in done.stdout


def test_version(stack: Stack) -> None:
    assert says(stack, "version") == f"{__version__}\n"


MISSING = (
    *("There is no DAG '", "There is no pool", "There is no backfill"),
    *("DAG daily has no run 'nope'", "No attempt of", "Task 'work' has no attempt"),
)
"""How messages begin that end with status 4."""


@pytest.mark.parametrize(
    ("command", "error"),
    [
        ("dags show dayly", "There is no DAG 'dayly'. Did you mean daily?"),
        ("dags trigger nope", "There is no DAG 'nope'. `headway dags list` shows them all."),
        ("dags pause nope", "There is no DAG 'nope'. `headway dags list` shows them all."),
        ("dags unpause nope", "There is no DAG 'nope'. `headway dags list` shows them all."),
        ("runs list nope", "There is no DAG 'nope'. `headway dags list` shows them all."),
        (
            "runs show daily nope",
            "DAG daily has no run 'nope'. `headway runs list daily` shows its runs.",
        ),
        (
            "tasks list daily nope",
            "DAG daily has no run 'nope'. `headway runs list daily` shows its runs.",
        ),
        (
            "tasks logs daily one nope",
            (
                "No attempt of task 'nope' has started in that run. `headway tasks list daily one` "
                "shows how its tasks stand."
            ),
        ),
        (
            "tasks logs daily one work --attempt 9",
            "Task 'work' has no attempt 9 that has started; it has 1, 2.",
        ),
        (
            "pools delete nope",
            "There is no pool 'nope'. `headway pools list` shows them all.",
        ),
        (
            "pools delete default_pool",
            "The pool default_pool cannot be deleted; set its slots instead.",
        ),
        (
            "dags trigger daily --run-id one",
            "DAG daily has a run 'one' already; choose another run id.",
        ),
        (
            "dags trigger daily --run-id a/b",
            "The run id 'a/b' must have 1 to 250 printable characters, and no slash.",
        ),
        ("dags trigger daily --conf [1]", "The conf must be a JSON object, like '{\"key\": 1}'."),
        (
            "backfill create nope --from 2013-01-01 --to 2013-01-02",
            "There is no DAG 'nope'. `headway dags list` shows them all.",
        ),
        (
            "backfill create daily --from yesterday --to 2013-01-02",
            "'yesterday' is no date; write one like 2013-01-31 or 2013-01-31T06:00:00+00:00.",
        ),
        (
            "backfill create daily --from 2013-01-03 --to 2013-01-02",
            "A backfill cannot end (2013-01-02) before it begins (2013-01-03).",
        ),
        ("backfill show 99", "There is no backfill 99. `headway backfill list` shows them all."),
        (
            "dags test nowhere.py daily",
            f"There is no DAG file {Path.cwd() / 'nowhere.py'}.",
        ),
    ],
)
def test_what_is_not_there_or_refused_is_one_line_and_its_exit_status(
    stack: Stack, run: StackRun, command: str, error: str
) -> None:
    done = stack.headway(*command.split())

    assert done.returncode == (4 if error.startswith(MISSING) else 5)
    assert done.stderr == f"Error: {error}\n"
    assert done.stdout == ""


def test_no_services_is_one_clear_message(stack: Stack, tmp_path: Path) -> None:
    alone = {**stack.environment, "HEADWAY_HOME": str(tmp_path)}
    done = Stack(tmp_path, stack.dags, alone, stack.engine, stack.service).headway("dags", "list")

    assert (done.returncode, done.stdout) == (6, "")
    assert done.stderr == (
        "Error: No database is known. Set HEADWAY_DATABASE_URL to "
        "postgresql://user:password@host:port/name, or start `headway standalone`, which brings "
        f"its own (looked for in {tmp_path}).\n"
    )
