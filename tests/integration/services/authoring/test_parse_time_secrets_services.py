"""A DAG file that reads at its top level, through the real services, as things change."""

from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex

import pytest

from headway.testing.services.stack import Stack, running_stack

pytestmark = [pytest.mark.services, pytest.mark.long]

CANARY = f"canary-{token_hex(4)}"
SOURCE = """
from headway.sdk import DAG, BaseHook, Variable, task

WORD = Variable.get("word")
TASKS = Variable.get("tasks", deserialize_json=True)
PASSWORD = BaseHook.get_connection("provided").password
print("parsed with", WORD, PASSWORD)

with DAG("early"):

    @task(retries=0)
    def tell():
        print("told", WORD, PASSWORD)

    for name in TASKS:
        tell.override(task_id=name)()
"""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    home, dags = tmp_path_factory.mktemp("early"), tmp_path_factory.mktemp("dags")
    given = {
        "HEADWAY_PARSER_PARSE_TIME_SECRETS": "true",
        "HEADWAY_CONN_PROVIDED": f"http://me:{CANARY}@host",
    }
    with running_stack(home, dags, given) as stack:
        yield stack


def do(stack: Stack, command: str) -> str:
    done = stack.headway(*command.split())
    assert done.returncode == 0, done.stderr
    return done.stdout


def store(stack: Stack, folder: Path, name: str, value: str) -> None:
    (folder / "given").write_text(value)
    do(stack, f"variables set {name} --from {folder / 'given'}")


def test_a_file_reads_what_its_bundle_is_granted_and_its_tasks_do(
    stack: Stack, tmp_path: Path
) -> None:
    store(stack, tmp_path, "word", f"{CANARY}-word")
    store(stack, tmp_path, "tasks", '["one", "two"]')
    (stack.dags / "early.py").write_text(SOURCE)
    assert "variables grant word --bundle dags" in stack.wait_for_import_error("early.py")

    do(stack, "variables grant word --bundle dags")
    do(stack, "variables grant tasks --bundle dags")
    do(stack, "connections grant provided --bundle dags")
    stack.wait_for_version("early")
    stack.wait_for_no_import_error("early.py")
    run = stack.run("early")

    assert run.states() == {"one": "success", "two": "success"}
    assert "told *** ***" in run.log("one")
    assert "parsed with *** ***" in run.log("two")
    assert CANARY not in run.log("one") + run.log("two") + stack.service_logs()
    assert "word" in do(stack, "variables list")
    shown = do(stack, "dags show early")
    assert "connection:provided, variable:tasks, variable:word" in shown

    store(stack, tmp_path, "tasks", '["one"]')
    stack.wait_for_version("early", 2)
    assert stack.run("early").states() == {"one": "success"}
    rerun = stack.headway("runs", "clear", "early", run.run_id, "--version", "own", "--yes")
    assert rerun.returncode == 0, rerun.stderr
    run.wait()
    assert run.states() == {"one": "success", "two": "failed"}
    assert "It reads the connection provided, the variable tasks" in str(
        run.attempts("two")[-1].error
    )

    do(stack, "variables revoke word --bundle dags")
    assert "may not read the variable 'word'" in stack.wait_for_import_error("early.py")
    assert stack.dag("early").version == 2
    refused = stack.run("early")
    assert "`headway variables grant word --bundle NAME`" in str(refused.attempt("one").error)
