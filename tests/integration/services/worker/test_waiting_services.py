"""A retry waits while its task's session may still live on a server that does not answer."""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from headway.testing.services.stack import Stack, running_stack
from headway.testing.services.stack_run import StackRun
from headway.testing.time.clock import until

pytestmark = [pytest.mark.services, pytest.mark.long]
pytest.importorskip("pyspark")

DAGS = Path(__file__).parents[1] / "dags" / "waiting"


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Stack]:
    given = {"HEADWAY_CONN_NOWHERE": "sc://localhost:1"}
    with running_stack(tmp_path / "home", DAGS, given) as stack:
        stack.grant("nowhere")
        yield stack


def log_of_the_second(run: StackRun) -> str:
    """Return what the second attempt has logged, nothing while it has not begun."""
    with suppress(FileNotFoundError):
        return run.log("counts", 2)
    return ""


def test_a_retry_waits_for_a_silent_server_until_it_is_told_to_stop(stack: Stack) -> None:
    run = stack.trigger("far")
    until(lambda: "may still run in Spark" in log_of_the_second(run), "what it waits for")

    marked = stack.headway(
        "tasks", "mark", run.dag_id, run.run_id, "counts", "--as", "failed", "--yes"
    )
    assert marked.returncode == 0, marked.stderr
    run.wait()

    attempts = sorted(run.attempts("counts"), key=lambda it: it.attempt)
    assert [attempt.outcome for attempt in attempts] == ["failed", "cancelled"]
    assert log_of_the_second(run).count("may still run in Spark") == 1
    assert json.dumps(attempts[0].handle).count("sc://localhost:1") == 1
